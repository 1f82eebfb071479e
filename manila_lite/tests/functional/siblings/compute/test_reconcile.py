# SPDX-License-Identifier: Apache-2.0
"""Reconciliation of the host with the database, an unavailable share service, and notifications."""

import json

from manila_lite.siblings.compute.db import models
from manila_lite.siblings.compute.drivers.interface import Server
from manila_lite.tests.functional.base import eventually
from manila_lite.tests.functional.siblings.compute.base import Compute, ComputeTest
from manila_lite.tests.functional.siblings.relay import Relay

_NOTICES = """
[oslo_messaging_notifications]
driver = log
[notifications]
include_share_mapping = true
"""


class ReconcileTest(ComputeTest):
    def running(self, **more):
        """Return a share and a running server with the share attached."""
        share, server = self.shared(), self.me.off(**more)
        self.me.attach(server, share)
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        self.me.attached(server, share, 'active')
        return share, server

    def change(self, change):
        """Change the driver's records without the agent, and let the agent reconcile."""
        path = self.compute.folder / 'records.json'
        records = self.compute.records()
        change(records)
        path.write_text(json.dumps(records))
        self.compute.agent.reconcile()

    def test_server_whose_guest_ended_is_stopped(self):
        share, server = self.running()
        self.change(lambda records: records['servers'][server].update(power='off', shares={}))
        self.me.wait(server, 'SHUTOFF')
        self.me.attached(server, share, 'inactive')
        self.assertFalse(self.mounted(share))
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(share))

    def test_guests_are_started_with_the_host(self):
        share, server = self.running()
        self.compute.conf.set_override('resume_guests', True, 'compute')
        self.addCleanup(self.compute.conf.clear_override, 'resume_guests', 'compute')
        self.compute.stop()
        records = self.compute.records()
        records['servers'][server].update(power='off', shares={})
        records['mounts'].clear()
        (self.compute.folder / 'records.json').write_text(json.dumps(records))
        self.compute.start()
        eventually(lambda: self.compute.records()['servers'][server]['power'] == 'running', 'it is off')
        self.me.wait(server, 'ACTIVE')
        self.me.attached(server, share, 'active')
        self.assertTrue(self.mounted(share))

    def test_broken_device_fails_its_attachment(self):
        share, server = self.running(name='broken')
        self.change(lambda records: records['servers'][server].update(shares={}))
        self.assertEqual('error', self.me.ok('GET', f'/servers/{server}/shares/{share}')['share']['status'])
        actions = [
            one['action']
            for one in self.me.ok('GET', f'/servers/{server}/os-instance-actions')['instanceActions']
        ]
        self.assertIn('share_broken', actions)
        self.me.act(server, 'reboot', {'type': 'HARD'})
        self.me.wait(server, 'ACTIVE')
        self.me.attached(server, share, 'active')

    def events(self, server):
        """Return the actions of the server's events."""
        return [
            one['action']
            for one in self.me.ok('GET', f'/servers/{server}/os-instance-actions')['instanceActions']
        ]

    def lose_rule(self, share):
        """Delete the access rule of the share in spite of its locks."""
        [rule] = self.shares.rules(share)
        self.shares.deny(share, rule.id)
        eventually(lambda: not self.shares.rules(share), 'the rule is still there')
        return rule.id

    def test_lost_access_rule_in_use_is_made_again(self):
        share, server = self.running()
        lost = self.lose_rule(share)
        self.compute.agent.reconcile()
        eventually(
            lambda: [rule.state for rule in self.shares.rules(share)] == ['active'], 'it is not made again'
        )
        [rule] = self.shares.rules(share)
        self.assertEqual(('10.0.0.1', 'rw', True), (rule.to, rule.level, rule.id != lost))
        self.assertIn('share_rule_restored', self.events(server))
        self.compute.agent.reconcile()
        self.assertEqual(1, self.events(server).count('share_rule_restored'))
        self.assertIsNone(self.me.attached(server, share, 'active')['fault'])
        self.me.act(server, 'os-stop')
        self.me.wait(server, 'SHUTOFF')
        self.me.ok('DELETE', f'/servers/{server}/shares/{share}')
        self.me.attached(server, share, 'gone')
        self.assertEqual({}, self.rules(share))

    def test_access_rule_that_cannot_be_made_again_is_the_fault(self):
        share, server = self.running()
        self.lose_rule(share)
        self.user.action(
            share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1', 'access_level': 'ro'}
        )
        self.compute.agent.reconcile()
        self.assertIn('with the level ro; rw is needed', self.me.attached(server, share, 'active')['fault'])

    def test_lost_mount_is_made_again(self):
        share, server = self.running()
        self.change(lambda records: records['mounts'].clear())
        self.assertTrue(self.mounted(share))
        self.assertIn('share_mounted', self.events(server))
        self.assertIsNone(self.me.attached(server, share, 'active')['fault'])

    def test_silent_mount_is_the_fault_until_it_answers(self):
        share, server = self.running()
        self.knob('mount_health silent')
        self.compute.agent.reconcile()
        self.assertIn('does not answer', self.me.attached(server, share, 'active')['fault'])
        self.compute.knob()
        self.compute.agent.reconcile()
        self.assertIsNone(self.me.attached(server, share, 'active')['fault'])

    def test_dead_mount_is_made_again_and_the_guest_needs_a_reboot(self):
        share, other, server = self.shared(), self.shared(), self.me.off()
        for one, tag in ((share, 'a'), (other, 'b')):
            self.me.attach(server, one, tag=tag)
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        before = len(self.compute.calls())
        self.knob('mount_health dead')
        self.compute.agent.reconcile()
        self.compute.knob()
        for one in (share, other):
            self.assertIn('hard reboot', self.me.attached(server, one, 'error')['fault'])
            self.assertIn(f'share_mount {one}', self.compute.calls()[before:])
        self.me.act(server, 'reboot', {'type': 'HARD'})
        self.me.wait(server, 'ACTIVE')
        self.assertIsNone(self.me.attached(server, share, 'active')['fault'])

    def test_check_of_one_mount_that_fails_does_not_stop_the_others(self):
        self.running()
        other, _ = self.running()
        lost = self.lose_rule(other)
        self.knob('share_mount fail')
        self.change(lambda records: records['mounts'].clear())
        eventually(
            lambda: {rule.state for rule in self.shares.rules(other)} == {'active'}, 'it is not made again'
        )
        self.assertNotIn(lost, [rule.id for rule in self.shares.rules(other)])

    def test_unknown_guests_and_mounts_are_removed(self):
        off = self.me.off()

        def change(records):
            records['servers']['nobody'] = {'power': 'running', 'shares': {}, 'console': ''}
            records['servers'][off]['power'] = 'running'
            records['mounts']['left'] = 'there:/over'

        self.change(change)
        records = self.compute.records()
        self.assertNotIn('nobody', records['servers'])
        self.assertEqual('off', records['servers'][off]['power'])
        self.assertNotIn('left', records['mounts'])

    def test_unneeded_rule_is_removed(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        with self.compute.services.db.writer() as conn:
            conn.execute(
                models.share_attachments.delete().where(models.share_attachments.c.server_id == server)
            )
        self.compute.agent.reconcile()
        eventually(lambda: self.compute.agent.reconcile() or not self.rules(share), 'the rule is still there')

    def test_transient_statuses_without_an_operation_are_resolved(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        stuck = self.me.off()
        with self.compute.services.db.writer() as conn:
            conn.exec_driver_sql(
                f"UPDATE share_attachments SET status = 'detaching' WHERE server_id = '{server}'"
            )
            conn.exec_driver_sql(f"UPDATE servers SET status = 'starting' WHERE id = '{stuck}'")
        self.compute.agent.reconcile()
        self.me.attached(server, share, 'gone')
        self.me.wait(stuck, 'ERROR')
        self.assertEqual({}, self.rules(share))

    def test_detaching_in_error_switches_off_first(self):
        share, server = self.running()
        self.knob('power_off fail')
        self.me.act(server, 'os-stop')
        self.me.wait(server, 'ERROR')
        self.assertTrue(self.mounted(share))
        self.compute.knob()
        self.me.ok('DELETE', f'/servers/{server}/shares/{share}')
        self.me.attached(server, share, 'gone')
        self.assertEqual('off', self.compute.records()['servers'][server]['power'])
        self.assertEqual((False, {}), (self.mounted(share), self.rules(share)))

    def test_driver_calls_can_be_repeated(self):
        driver = self.compute.agent.host.driver
        server = Server('twice', 'p', 'n', 64, 1)
        for call in (driver.spawn, driver.power_off, driver.destroy, driver.destroy):
            call(server)
        self.assertNotIn('twice', self.compute.records()['servers'])


class AwayTest(ComputeTest):
    """The share service is reached through a relay that can fail."""

    def setUp(self):
        super().setUp()
        self.relay = self.useFixture(Relay(int(self.url.rpartition(':')[2])))
        self.compute = self.useFixture(
            Compute(
                f'http://127.0.0.1:{self.relay.port}',
                'attach_timeout = 5\n[operations]\nmax_attempts = 4',
                '',
            )
        )
        self.me = self.on_compute(self.project)

    def away(self, yes):
        self.relay.away = 1 << 30 if yes else 0
        self.relay.hang_up()

    def test_nothing_is_stored_while_the_share_service_is_away(self):
        share, server = self.shared(), self.me.off()
        self.away(True)
        self.assertEqual(
            (503, 'share_service_unavailable'),
            self.me.refused('POST', f'/servers/{server}/shares', {'share': {'share_id': share}}),
        )
        self.assertEqual([], self.me.ok('GET', f'/servers/{server}/shares')['shares'])

    def test_start_gives_up_and_detach_does_not(self):
        share, server = self.shared(), self.me.off()
        self.me.attach(server, share)
        self.away(True)
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ERROR')
        self.me.attached(server, share, 'error')
        self.me.ok('DELETE', f'/servers/{server}/shares/{share}')
        eventually(lambda: self.fault(server), 'nobody says why it takes so long')
        self.me.attached(server, share, 'detaching')
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(share))
        self.away(False)
        self.me.attached(server, share, 'gone')
        self.assertEqual({}, self.rules(share))

    def fault(self, server):
        with self.compute.services.db.reader() as conn:
            return (
                conn.execute(
                    models.share_attachments.select().where(models.share_attachments.c.server_id == server)
                )
                .one()
                .fault
            )


class NoticesTest(ComputeTest):
    COMPUTE = _NOTICES

    def test_attach_and_detach_send_notifications(self):
        heard = []
        self.patch_notifications(heard)
        share, other, server = self.shared(), self.shared(), self.me.off()
        self.me.attach(server, share, tag='t')
        self.user.action(
            other, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1', 'access_level': 'ro'}
        )
        self.me.attach(server, other, until='error')
        self.me.ok('DELETE', f'/servers/{server}/shares/{share}')
        self.me.attached(server, share, 'gone')
        eventually(lambda: len(heard) == 6, f'heard only {heard}')
        self.assertEqual(
            [
                ('share_attach.start', share),
                ('share_attach.end', share),
                ('share_attach.start', other),
                ('share_attach.error', other),
                ('share_detach.start', share),
                ('share_detach.end', share),
            ],
            [
                (one.event_type.removeprefix('instance.'), one.payload['nova_object.data']['share_id'])
                for one in heard
            ],
        )
        self.assertEqual({'compute:here'}, {one.publisher for one in heard})
        first, failed = heard[0].payload, heard[3].payload['nova_object.data']
        self.assertEqual(
            ('InstanceActionSharePayload', server),
            (first['nova_object.name'], first['nova_object.data']['uuid']),
        )
        self.assertEqual('t', first['nova_object.data']['shares'][0]['nova_object.data']['tag'])
        self.assertIn('of another user', failed['fault']['nova_object.data']['exception_message'])

    def patch_notifications(self, heard):
        """Collect notifications in the list, instead of sending them."""
        notifications = self.compute.services.bus.notifications
        notifications.put = heard.append
        self.addCleanup(delattr, notifications, 'put')
