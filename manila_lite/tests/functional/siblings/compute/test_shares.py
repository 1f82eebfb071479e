# SPDX-License-Identifier: Apache-2.0
"""Shares of servers: the four calls as Nova 2.97 answers them, and their effect on access rules and mounts."""

import fixtures
from oslo_utils import uuidutils

from manila_lite.tests.functional.base import eventually
from manila_lite.tests.functional.siblings.compute.base import ComputeTest


class LifeTest(ComputeTest):
    def test_attach_start_stop_detach(self):
        share, server = self.shared(), self.me.off()
        path = self.user.ok('GET', f'/shares/{share}/export_locations')['export_locations'][0]['path']
        status, made, _ = self.me.call(
            'POST', f'/servers/{server}/shares', {'share': {'share_id': share, 'tag': 'mytag'}}
        )
        self.assertEqual(
            (201, {'share_id': share, 'status': 'attaching', 'tag': 'mytag', 'fault': None}),
            (status, made['share']),
        )
        self.me.attached(server, share, 'inactive')
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(share))
        self.assertFalse(self.mounted(share))

        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        self.assertEqual('active', self.me.attached(server, share, 'active')['status'])
        records = self.compute.records()
        self.assertIn(path, records['mounts'].values())
        self.assertEqual(['mytag'], list(records['servers'][server]['shares']))
        admin = self.on_compute(self.project, 'admin').ok('GET', f'/servers/{server}/shares/{share}')['share']
        self.assertEqual(path, admin['export_location'])
        self.assertEqual({'share_id', 'status', 'tag', 'fault', 'uuid', 'export_location'}, set(admin))

        self.me.act(server, 'os-stop')
        self.me.wait(server, 'SHUTOFF')
        self.me.attached(server, share, 'inactive')
        self.assertFalse(self.mounted(share))

        status, document, headers = self.me.call('DELETE', f'/servers/{server}/shares/{share}')
        self.assertEqual((200, None, '0'), (status, document, headers['Content-Length']))
        self.me.attached(server, share, 'gone')
        self.assertEqual({}, self.rules(share))
        self.assertEqual(0, len(self.shares.locks(resource_action='show', **{'lock_reason~': server})))

    def test_default_tag_and_list(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        self.assertEqual(
            {'shares': [{'share_id': share, 'status': 'inactive', 'tag': share, 'fault': None}]},
            self.me.ok('GET', f'/servers/{server}/shares'),
        )
        self.assertEqual(
            {'shares': [{'share_id': share, 'status': 'inactive', 'tag': share, 'fault': None}]},
            self.on_compute(self.project, 'admin').ok('GET', f'/servers/{server}/shares'),
        )

    def test_two_servers_on_one_share_need_one_rule_and_one_mount(self):
        share = self.shared()
        first, second = self.me.off(), self.me.off()
        for server in (first, second):
            self.me.attach(server, share)
            self.me.act(server, 'os-start')
            self.me.wait(server, 'ACTIVE')
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(share))
        self.me.act(first, 'os-stop')
        self.me.wait(first, 'SHUTOFF')
        self.assertTrue(self.mounted(share))
        self.me.ok('DELETE', f'/servers/{first}/shares/{share}')
        self.me.attached(first, share, 'gone')
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(share))
        self.me.attached(second, share, 'active')
        self.me.ok('DELETE', f'/servers/{second}')
        self.me.wait(second, 'gone')
        self.assertEqual(({}, False), (self.rules(share), self.mounted(share)))

    def test_share_service_is_told_of_the_request_and_its_user(self):
        share, server = self.shared(), self.me.off()
        log = self.useFixture(fixtures.FakeLogger('manila_lite.api.http.request_log'))
        _, _, headers = self.me.call('POST', f'/servers/{server}/shares', {'share': {'share_id': share}})
        request = headers['x-openstack-request-id']
        self.me.attached(server, share, 'inactive')
        for line in (f'POST /v2/shares/{share}/action', f'GET /v2/shares/{share} '):
            self.assertEqual(
                [True],
                list(
                    {
                        f'for: {request}' in one
                        for one in log.output.splitlines()
                        if line in one and 'for:' in one
                    }
                ),
                log.output,
            )
        [rule] = self.shares.rules(share)
        user = self.me.token.partition(':')[0]
        self.assertEqual(
            {f'mlite-compute server {server} (user {user}, request {request}) on here'},
            {lock.reason for lock in self.shares.locks(resource_id=rule.id)},
        )

    def test_locks_name_the_server_that_has_the_share_now(self):
        share, first, second = self.shared(), self.me.off(), self.me.off()
        for server in (first, second):
            self.me.attach(server, share)
        [rule] = self.shares.rules(share)
        self.assertEqual({first}, self.named(rule.id, first, second))
        self.me.ok('DELETE', f'/servers/{first}/shares/{share}')
        self.me.attached(first, share, 'gone')
        self.assertEqual({second}, self.named(rule.id, first, second))
        self.me.ok('DELETE', f'/servers/{second}/shares/{share}')
        self.me.attached(second, share, 'gone')
        self.assertEqual({}, self.rules(share))

    def named(self, access_id, *servers):
        """Return those of the servers that the locks of a rule name."""
        reasons = [lock.reason for lock in self.shares.locks(resource_id=access_id)]
        return {server for server in servers for reason in reasons if server in reason}

    def test_foreign_rule_is_used_and_not_deleted(self):
        share, server = self.shared(), self.me.off()
        self.user.action(
            share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1', 'access_level': 'rw'}
        )
        self.me.attach(server, share)
        self.me.ok('DELETE', f'/servers/{server}/shares/{share}')
        self.me.attached(server, share, 'gone')
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(share))

    def test_foreign_rule_that_is_too_weak_is_an_error(self):
        share, server = self.shared(), self.me.off()
        self.user.action(
            share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1', 'access_level': 'ro'}
        )
        self.me.attach(server, share, until='error')
        fault = self.me.attached(server, share, 'error')['fault']
        self.assertIn(
            'There is an access rule for 10.0.0.1 of another user with the level ro; rw is needed.', fault
        )
        self.assertEqual(
            [fault], [one['fault'] for one in self.me.ok('GET', f'/servers/{server}/shares')['shares']]
        )
        events = self.me.ok('GET', f'/servers/{server}/os-instance-actions')['instanceActions']
        self.assertIn(
            f'Share {share}: {fault}', [one['message'] for one in events if one['action'] == 'share_failed']
        )
        self.me.ok('DELETE', f'/servers/{server}/shares/{share}')
        self.me.attached(server, share, 'gone')
        self.assertEqual({'10.0.0.1': 'ro'}, self.rules(share))

    def test_mount_that_fails_fails_the_start_and_is_tried_again(self):
        share, other, server = self.shared(), self.shared(), self.me.off()
        self.me.attach(server, share, tag='a')
        self.me.attach(server, other, tag='b')
        self.knob('share_mount final')
        self.me.act(server, 'os-start')
        self.assertIn('share_mount was told to fail', self.me.wait(server, 'ERROR')['fault']['message'])
        self.me.attached(server, share, 'error')
        self.me.attached(server, other, 'inactive')
        self.assertEqual((409, 'share_attachment_exists'), self.again(server, share))
        self.compute.knob()
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        for one in (share, other):
            self.me.attached(server, one, 'active')

    def again(self, server, share):
        """Stop a server in error, and try to attach the share again; return the refusal."""
        self.me.act(server, 'os-stop')
        self.me.wait(server, 'SHUTOFF')
        self.me.attached(server, share, 'error')
        return self.me.refused('POST', f'/servers/{server}/shares', {'share': {'share_id': share}})

    def test_guest_that_does_not_start_leaves_nothing_mounted(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        self.knob('power_on fail')
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ERROR')
        self.me.attached(server, share, 'inactive')
        self.assertFalse(self.mounted(share))
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(share))

    def test_share_that_moved_is_mounted_from_where_it_is(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        with self.service.services.db.writer() as conn:
            conn.exec_driver_sql(
                "UPDATE export_locations SET path = 'elsewhere:/new' WHERE share_instance_id IN "
                f"(SELECT id FROM share_instances WHERE share_id = '{share}')"
            )
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        self.assertIn('elsewhere:/new', self.compute.records()['mounts'].values())
        actions = self.me.ok('GET', f'/servers/{server}/os-instance-actions')['instanceActions']
        self.assertIn('share_moved', [one['action'] for one in actions])

    def test_hard_reboot_mounts_anew_and_soft_does_not(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        before = len(self.compute.calls())
        self.me.act(server, 'reboot', {'type': 'SOFT'})
        self.me.wait(server, 'ACTIVE')
        self.me.act(server, 'reboot', {'type': 'HARD'})
        self.me.wait(server, 'ACTIVE')
        self.me.attached(server, share, 'active')
        mine = [line.split()[0] for line in self.compute.calls()[before:] if server in line or share in line]
        self.assertEqual(['reboot', 'power_off', 'share_mount', 'power_on'], mine)

    def test_detach_unmounts_before_it_denies(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        self.knob('share_umount fail')
        self.me.ok('DELETE', f'/servers/{server}/shares/{share}')
        self.me.attached(server, share, 'detaching')
        eventually(lambda: self.compute.calls().count(f'share_umount {share}') >= 3, 'it is not tried again')
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(share))
        self.assertEqual((409, 'wrong_state'), self.me.refused('DELETE', f'/servers/{server}/shares/{share}'))
        self.assertEqual(
            (409, 'wrong_state'), self.me.refused('POST', f'/servers/{server}/action', {'os-start': None})
        )
        self.compute.knob()
        self.me.attached(server, share, 'gone')
        self.assertEqual({}, self.rules(share))

    def test_deleted_server_takes_its_shares_along(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        self.assertEqual(204, self.me.call('DELETE', f'/servers/{server}')[0])
        self.me.wait(server, 'gone')
        self.assertEqual({}, self.rules(share))
        self.assertFalse(self.mounted(share))
        self.assertNotIn(server, self.compute.records()['servers'])

    def test_share_that_is_gone_is_named_once_and_can_be_detached(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        with self.service.services.db.writer() as conn:
            conn.exec_driver_sql(f"DELETE FROM resource_locks WHERE share_id = '{share}'")
        self.user.ok('DELETE', f'/shares/{share}')
        self.user.wait(f'/shares/{share}', 'share', 'gone')
        self.me.act(server, 'os-start')
        self.assertEqual(f'Share {share} is gone.', self.me.wait(server, 'ERROR')['fault']['message'])
        self.me.ok('DELETE', f'/servers/{server}/shares/{share}')
        self.me.attached(server, share, 'gone')


class RefusalTest(ComputeTest):
    def refuse(self, server, share, *, caller=None, **more):
        return (caller or self.me).refused(
            'POST', f'/servers/{server}/shares', {'share': {'share_id': share, **more}}
        )

    def test_attach_is_refused_by_state_of_server_share_or_host(self):
        share, off, on = self.shared(), self.me.off(), self.me.server()
        self.assertEqual((409, 'wrong_state'), self.refuse(on, share))
        self.assertEqual((404, 'share_not_found'), self.refuse(off, uuidutils.generate_uuid()))
        stranger = self.caller('stranger').share()['id']
        self.assertEqual((404, 'share_not_found'), self.refuse(off, stranger))
        self.assertEqual((404, 'server_not_found'), self.refuse(uuidutils.generate_uuid(), share))
        self.me.attach(off, share, tag='t')
        self.assertEqual((409, 'share_attachment_exists'), self.refuse(off, share, tag='u'))
        self.assertEqual((409, 'share_tag_in_use'), self.refuse(off, self.shared(), tag='t'))
        self.assertEqual(
            (404, 'share_attachment_not_found'),
            self.me.refused('DELETE', f'/servers/{off}/shares/{stranger}'),
        )
        self.assertEqual(
            (404, 'share_attachment_not_found'), self.me.refused('GET', f'/servers/{off}/shares/{stranger}')
        )
        self.assertEqual((409, 'wrong_state'), self.me.refused('DELETE', f'/servers/{on}/shares/{share}'))
        unready = self.shared()
        self.admin.call('POST', f'/shares/{unready}/action', {'reset_status': {'status': 'error'}})
        self.assertEqual((409, 'share_not_available'), self.refuse(off, unready))
        self.assertEqual(
            (409, 'share_protocol_not_supported'), self.refuse(off, self.shared(share_proto='CIFS'))
        )
        plain = self.me.off(shared_memory=False)
        self.assertEqual((409, 'no_shared_memory'), self.refuse(plain, share))

    def said(self, server, share, **more):
        """Return the sentence and the next step of a refused attachment."""
        _, document, _ = self.me.call(
            'POST', f'/servers/{server}/shares', {'share': {'share_id': share, **more}}
        )
        [fault] = document.values()
        return fault['message'], fault['next']

    def test_refusals_name_the_field_and_the_limit(self):
        share, off = self.shared(), self.me.off()
        self.assertEqual(
            'tag: has 255 bytes; a virtiofs device takes tags of at most 36.',
            self.said(off, share, tag='x' * 255)[0],
        )
        self.assertEqual(
            'tag: must have letters, digits and dashes only, and at least one.',
            self.said(off, share, tag="it's {'a'}")[0],
        )
        self.assertEqual('share: must not have the field foo.', self.said(off, share, foo=1)[0])
        self.assertEqual('share_id: must be a UUID.', self.said(off, "'x'")[0])
        self.me.attach(off, share, tag='t')
        self.assertEqual(
            (f'Share {share} is already attached to server {off}.', 'Use the existing attachment.'),
            self.said(off, share, tag='t'),
        )
        self.assertEqual(
            (f'tag: t is used by another share of server {off}.', 'Choose another tag.'),
            self.said(off, self.shared(), tag='t'),
        )

    def test_attach_is_refused_to_other_projects_and_readers(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        other, reader = self.on_compute('other'), self.on_compute(self.project, 'reader')
        for path in (f'/servers/{server}', f'/servers/{server}/shares', f'/servers/{server}/shares/{share}'):
            self.assertEqual((404, 'server_not_found'), other.refused('GET', path))
            self.assertEqual(200, reader.call('GET', path)[0])
        self.assertEqual(
            (404, 'server_not_found'), other.refused('DELETE', f'/servers/{server}/shares/{share}')
        )
        self.assertEqual((404, 'server_not_found'), self.refuse(server, share, caller=other))
        self.assertEqual((403, 'forbidden'), self.refuse(server, share, caller=reader))
        self.assertEqual((403, 'forbidden'), reader.refused('DELETE', f'/servers/{server}/shares/{share}'))
        self.assertEqual([], other.ok('GET', '/servers/detail?name=one')['servers'])

    def test_hostile_input_is_refused(self):
        share, server = self.shared(), self.me.off()
        path = f'/servers/{server}/shares'
        for tag in ('', 'x' * 37, 'a b', 'a\n', 'ä', 'a/b', 5, None, ['a']):
            self.assertEqual(400, self.refuse(server, share, tag=tag)[0], tag)
        for body in (
            b'{',
            b'[]',
            b'{"share": 1}',
            {'share': {}},
            {'share': {'share_id': share, 'more': 1}},
            {'shares': {}},
            {'share': {'share_id': share}, 'more': 1},
            {'share': {'share_id': 'x'}},
            {'share': {'share_id': None}},
            {'share': {'share_id': share + '\n'}},
            {'share': {'share_id': share.replace('-', '') + '\n'}},
            {'share': {'share_id': f'../{share}'}},
        ):
            self.assertEqual(400, self.me.refused('POST', path, body)[0], body)
        self.assertEqual(400, self.me.refused('GET', f'{path}?limit=1')[0])
        self.assertEqual(400, self.me.refused('GET', f'{path}/{share}?a')[0])
        self.assertEqual((413, 'body_too_large'), self.me.refused('POST', path, b' ' * 20000))
        self.assertEqual([], self.me.ok('GET', path)['shares'])

    def test_attachments_are_not_served_in_older_versions(self):
        share, server = self.shared(), self.me.off()
        for version in (None, '2.1', '2.96'):
            old = self.on_compute(self.project, version=version)
            self.assertEqual((404, 'no_such_path'), old.refused('GET', f'/servers/{server}/shares'))
            self.assertEqual((404, 'no_such_path'), self.refuse(server, share, caller=old))
        self.assertEqual(
            (406, 'microversion_out_of_range'), self.me.refused('GET', '/servers', version='2.98')
        )
        self.assertEqual(400, self.me.refused('GET', '/servers', version='2.x')[0])

    def test_attachments_over_the_limit_are_refused(self):
        self.compute.conf.set_override('max_attachments', 1, 'compute')
        self.addCleanup(self.compute.conf.clear_override, 'max_attachments', 'compute')
        server = self.me.off()
        self.me.attach(server, self.shared())
        self.assertEqual((409, 'too_many_attachments'), self.refuse(server, self.shared()))

    def test_blocked_actions_are_refused_while_shares_are_attached(self):
        share, server = self.shared(), self.me.off(imageRef='disk')
        self.me.attach(server, share)
        path = f'/servers/{server}/action'
        admin = self.on_compute(self.project, 'admin,member')
        both = (
            ('rebuild', {}),
            ('resize', {'memory': 128}),
            ('createImage', {'name': 'i'}),
            ('shelve', None),
            ('os-migrateLive', {'host': None}),
            ('evacuate', {}),
            ('migrate', None),
        )
        for action, body in both:
            self.assertEqual((409, 'server_has_shares'), admin.refused('POST', path, {action: body}), action)
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        for action, body in (*both, ('suspend', None)):
            self.assertEqual((409, 'server_has_shares'), admin.refused('POST', path, {action: body}), action)
