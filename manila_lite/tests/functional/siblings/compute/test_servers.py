# SPDX-License-Identifier: Apache-2.0
"""Servers without shares: the minimum for using the service alone, and its refusals."""

from manila_lite.db.queries import services
from manila_lite.siblings.compute.db import store
from manila_lite.tests.functional.siblings.compute.base import ComputeTest


class DiscoveryTest(ComputeTest):
    def test_versions_are_shown_without_a_login(self):
        for path, key in (
            ('/', 'versions'),
            ('/v2.1', 'version'),
            ('/v2.1/', 'version'),
            ('/v2/', 'version'),
        ):
            answer = self.compute.app.get(path)
            version = answer.json[key]
            version = version[0] if key == 'versions' else version
            self.assertEqual(
                ('CURRENT', '2.1', '2.97'), (version['status'], version['min_version'], version['version'])
            )
        self.assertEqual(405, self.compute.app.post('/v2.1', expect_errors=True).status_int)

    def test_answers_say_their_version(self):
        for sent, want in (
            ({}, '2.1'),
            ({'OpenStack-API-Version': 'compute 2.97'}, '2.97'),
            ({'X-OpenStack-Nova-API-Version': '2.50'}, '2.50'),
            ({'OpenStack-API-Version': 'volume 3.1, compute latest'}, '2.97'),
        ):
            _, _, headers = self.on_compute(version=None).call('GET', '/servers', headers=sent)
            self.assertEqual(
                (f'compute {want}', want),
                (headers['OpenStack-API-Version'], headers['X-OpenStack-Nova-API-Version']),
            )
            self.assertIn('OpenStack-API-Version', headers['Vary'])

    def test_project_in_the_path_and_other_prefix(self):
        server = self.me.server()
        for below in (f'/v2.1/{self.project}', '/v2', '/v2.1'):
            document = self.me.ok('GET', f'/servers/{server}', below=below)['server']
            self.assertEqual(server, document['id'])


class LifeTest(ComputeTest):
    def test_show_and_list(self):
        server = self.me.server(name='alice', metadata={'a': 'b'}, imageRef='disk.img', vcpus=2)
        self.me.server(name='bob')
        shown = self.me.ok('GET', f'/servers/{server}')['server']
        self.assertEqual(
            ('alice', 'ACTIVE', 'active', 1, {'a': 'b'}, 'disk.img', 2, self.project),
            (
                shown['name'],
                shown['status'],
                shown['OS-EXT-STS:vm_state'],
                shown['OS-EXT-STS:power_state'],
                shown['metadata'],
                shown['image']['id'],
                shown['flavor']['vcpus'],
                shown['tenant_id'],
            ),
        )
        self.assertNotIn('OS-EXT-SRV-ATTR:host', shown)
        admin = self.on_compute(self.project, 'admin')
        self.assertEqual('here', admin.ok('GET', f'/servers/{server}')['server']['OS-EXT-SRV-ATTR:host'])

        def names(query, caller=self.me):
            return sorted(one['name'] for one in caller.ok('GET', f'/servers/detail{query}')['servers'])

        self.assertEqual(['alice', 'bob'], names(''))
        self.assertEqual(['alice'], names('?name=lic'))
        self.assertEqual([], names('?name=%25'))
        self.assertEqual([], names('?status=SHUTOFF'))
        self.assertEqual(['alice', 'bob'], names('?status=active&deleted=False'))
        page = self.me.ok('GET', '/servers?limit=1')
        self.assertEqual(['bob'], [one['name'] for one in page['servers']])
        self.assertIn('servers_links', page)
        self.assertEqual(['alice'], names(f'?marker={page["servers"][0]["id"]}'))
        self.assertLess(1, len(names('?all_tenants=1', admin)))
        self.assertEqual((403, 'forbidden'), self.me.refused('GET', '/servers?all_tenants=1'))

    def test_stop_start_reboot_console_delete(self):
        server = self.me.server(name='talkative')
        self.assertIn(
            'booting with 64 MiB', self.me.act(server, 'os-getConsoleOutput', {'length': None})['output']
        )
        self.me.act(server, 'reboot', {'type': 'HARD'})
        self.me.wait(server, 'ACTIVE')
        self.me.act(server, 'reboot', {'type': 'soft'})
        self.me.wait(server, 'ACTIVE')
        self.assertEqual(
            'talkative: rebooting\n', self.me.act(server, 'os-getConsoleOutput', {'length': 1})['output']
        )
        self.me.act(server, 'os-stop')
        self.me.wait(server, 'SHUTOFF')
        self.assertEqual(
            (409, 'wrong_state'), self.me.refused('POST', f'/servers/{server}/action', {'os-stop': None})
        )
        self.me.act(server, 'os-start', {})
        self.me.wait(server, 'ACTIVE')
        self.assertEqual(
            (409, 'wrong_state'), self.me.refused('POST', f'/servers/{server}/action', {'os-start': None})
        )
        actions = [
            one['action']
            for one in self.me.ok('GET', f'/servers/{server}/os-instance-actions')['instanceActions']
        ]
        self.assertEqual(['start', 'stop', 'reboot', 'hard_reboot', 'create'], actions)
        self.assertEqual(204, self.me.call('DELETE', f'/servers/{server}')[0])
        self.me.wait(server, 'gone')
        self.assertNotIn(server, self.compute.records()['servers'])

    def test_blocked_actions_work_without_shares(self):
        server = self.me.server(imageRef='disk')
        self.me.act(server, 'suspend')
        self.me.wait(server, 'SUSPENDED')
        self.assertEqual('saved', self.compute.records()['servers'][server]['power'])
        self.me.act(server, 'resume')
        self.me.wait(server, 'ACTIVE')
        self.assertEqual(server, self.me.act(server, 'rebuild', {'imageRef': 'other'})['server']['id'])
        self.assertEqual('other', self.me.wait(server, 'ACTIVE')['image']['id'])
        self.me.act(server, 'resize', {'memory': 128})
        self.assertEqual(128, self.me.wait(server, 'ACTIVE')['flavor']['ram'])
        self.assertEqual('mine', self.me.act(server, 'createImage', {'name': 'mine'})['image_id'])
        self.me.wait(server, 'ACTIVE')
        self.assertIn(f'{self.project}/mine', self.compute.records()['images'])
        self.assertEqual('running', self.compute.records()['servers'][server]['power'])
        admin = self.on_compute(self.project, 'admin,member')
        for action in ('shelve', 'os-migrateLive', 'evacuate', 'migrate'):
            self.assertEqual(
                (501, 'not_offered'), admin.refused('POST', f'/servers/{server}/action', {action: None})
            )

    def test_failed_resize_changes_nothing(self):
        server = self.me.off()
        self.knob('resize final')
        self.me.act(server, 'resize', {'memory': 128})
        self.assertEqual(64, self.me.wait(server, 'ERROR')['flavor']['ram'])

    def test_server_that_cannot_be_built_is_an_error_and_can_be_deleted(self):
        self.knob('spawn final')
        server = self.me.server(until=None)
        self.assertIn('spawn was told to fail', self.me.wait(server, 'ERROR')['fault']['message'])
        self.me.ok('DELETE', f'/servers/{server}')
        self.me.wait(server, 'gone')

    def test_deleting_gives_up_the_operation_under_way(self):
        server = self.me.server()
        self.knob('power_off fail')
        self.me.act(server, 'os-stop')
        self.me.ok('DELETE', f'/servers/{server}')
        self.me.wait(server, 'gone')


class RefusalTest(ComputeTest):
    def test_bad_server_bodies_are_refused(self):
        for more in (
            {'kernel': '../vmlinuz'},
            {'kernel': '/boot/vmlinuz'},
            {'kernel': None},
            {'kernel': 'a\n'},
            {'memory': 0},
            {'memory': 1 << 29},
            {'memory': '64'},
            {'vcpus': 0},
            {'vcpus': 99},
            {'name': ''},
            {'name': ' \n'},
            {'name': 'x' * 256},
            {'cmdline': 'a\nb'},
            {'metadata': {'a': 1}},
            {'colour': 'red'},
            {'initrd': 'i', 'kernel': ''},
            {'user_data': 'ä'},
        ):
            body = {'server': {'name': 'one', 'kernel': 'vmlinuz', **more}}
            self.assertEqual(400, self.me.refused('POST', '/servers', body)[0], more)
        self.assertEqual(400, self.me.refused('POST', '/servers', {'server': {'name': 'one'}})[0])
        body = {'server': {'name': 'one', 'imageRef': 'd', 'initrd': 'i'}}
        self.assertEqual(400, self.me.refused('POST', '/servers', body)[0])

    def test_bad_actions_are_refused(self):
        server = self.me.server()
        path = f'/servers/{server}/action'
        self.assertEqual((404, 'no_such_action'), self.me.refused('POST', path, {'fly': None}))
        for body in (
            {},
            {'reboot': {}},
            {'reboot': {'type': 'odd'}},
            {'resize': {}},
            {'resize': {'memory': 1 << 29}},
            {'createImage': {'name': '../x'}},
            {'createImage': {'name': 'x.qcow2'}},
            {'os-getConsoleOutput': {'length': 'x'}},
            {'rebuild': {'imageRef': 'a/b'}},
        ):
            self.assertEqual(400, self.me.refused('POST', path, body)[0], body)
        self.assertEqual((409, 'no_disk'), self.me.refused('POST', path, {'rebuild': {}}))

    def test_others_do_not_see_it_and_readers_do_not_act(self):
        server = self.me.server()
        other, reader = self.on_compute('other'), self.on_compute(self.project, 'reader')
        for action in ('os-start', 'os-stop', 'suspend', 'os-getConsoleOutput'):
            self.assertEqual(
                (404, 'server_not_found'), other.refused('POST', f'/servers/{server}/action', {action: None})
            )
            self.assertEqual(
                (403, 'forbidden'), reader.refused('POST', f'/servers/{server}/action', {action: None})
            )
        self.assertEqual((404, 'server_not_found'), other.refused('DELETE', f'/servers/{server}'))
        self.assertEqual(
            (403, 'forbidden'), reader.refused('POST', '/servers', {'server': {'name': 'n', 'kernel': 'k'}})
        )
        self.assertEqual((404, 'no_such_path'), self.me.refused('GET', '/volumes'))

    def test_servers_over_the_limit_are_refused(self):
        self.compute.conf.set_override('max_servers', 1, 'compute')
        self.addCleanup(self.compute.conf.clear_override, 'max_servers', 'compute')
        self.me.server()
        self.assertEqual(
            (413, 'over_quota'), self.me.refused('POST', '/servers', {'server': {'name': 'n', 'kernel': 'k'}})
        )


class PlacementTest(ComputeTest):
    """Hosts that only report, beside the one with an agent."""

    def report(self, host, **more):
        """Report a living host that can do everything, except for what is said otherwise."""
        with self.compute.services.db.writer() as conn:
            services.heartbeat(conn, host, store.BINARY, 'nova')
            store.save_host_report(
                conn,
                host,
                **{
                    'virtiofs': True,
                    'shared_memory': True,
                    'protocols': ['NFS'],
                    'networks': [],
                    'images': ['disk'],
                    'address': '10.0.0.9',
                    **more,
                },
            )

    def placed(self, **more):
        """Create a server; return the name of its host."""
        body = {'name': 'one', 'memory': 64, 'imageRef': 'disk', **more}
        server = self.me.ok('POST', '/servers', {'server': body})['server']['id']
        return self.on_compute(self.project, 'admin').ok('GET', f'/servers/{server}')['server'][
            'OS-EXT-SRV-ATTR:host'
        ]

    def test_host_is_chosen_by_what_the_server_needs(self):
        self.report('a-no-virtiofs', virtiofs=False)
        self.report('b-no-image', images=[])
        self.report('c-able')
        self.assertEqual({'c-able'}, {self.placed() for _ in range(3)})
        self.assertEqual('a-no-virtiofs', self.placed(shared_memory=False), 'it needs no virtiofs')
        self.report('c-able', shared_memory=False)
        self.assertEqual('a-no-virtiofs', self.placed(), 'none is able to do all, and the image comes first')
