# SPDX-License-Identifier: Apache-2.0
"""Recovery from a crash, a kill and a reboot, with real processes."""

import dataclasses
import re
import signal
import subprocess
import sys

import fixtures

from manila_lite import values
from manila_lite.host import mounts
from manila_lite.tests import process
from manila_lite.tests.functional.linux import base
from manila_lite.tests.linux_teardown import tear_down


class Recovery(base.ShareTest):
    """Clients find the same data and rules after a restart of the share manager, of the NFS server, or of the machine."""

    def ensure(self):
        target = values.EnsureTarget(self.made, (values.AccessRule('r', 'ip', *self.rule),))
        gone = values.EnsureTarget(values.Share('never-was', 'n', 'p', 1, 'NFS', 'pool'))
        results = self.driver.ensure_shares([target, gone])
        self.assertIsNone(results[self.made.id].error)
        self.assertIn('not in the pool', results['never-was'].error)
        return results[self.made.id]

    def test_new_share_manager_adopts_the_running_server(self):
        self.works('one', self.made, 'write', 'f', 'hello')
        server = self.driver.parts.protocol_servers.of('NFS').server._server.process()
        type(self).driver = self.make()
        self.driver.setup()
        self.ensure()
        self.assertEqual(server, self.driver.parts.protocol_servers.of('NFS').server._server.process())
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))

    def test_killed_server_is_restarted_with_its_rules(self):
        self.works('one', self.made, 'write', 'f', 'hello')
        base.kill(self.driver.parts.protocol_servers.of('NFS').server._server)
        type(self).driver = self.make()
        self.driver.setup()
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
        self.refused('NOENT', 'two', self.made, 'list')

    def test_hung_server_is_restarted(self):
        self.works('one', self.made, 'write', 'f', 'hello')
        deaf = self.driver.parts.protocol_servers.of('NFS').server._server.process()
        deaf.suspend()
        type(self).driver = self.make()
        self.useFixture(
            fixtures.MonkeyPatch('manila_lite.drivers.file_servers.file_server._LONGEST_START', 0)
        )
        with fixtures.MonkeyPatch('manila_lite.drivers.file_servers.ganesha_dbus._SECONDS', 2):
            self.driver.setup()
        self.assertNotEqual(deaf, self.driver.parts.protocol_servers.of('NFS').server._server.process())
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))

    def test_shares_are_served_again_after_a_reboot(self):
        self.works('one', self.made, 'write', 'f', 'hello')
        tear_down(self.driver)
        self.assertFalse(mounts.is_mounted(self.driver.parts.pool.root))
        self.assertIsNone(mounts.loop_of(self.state / 'pool.img'))
        type(self).driver = self.make()
        self.driver.setup()
        locations = self.ensure().export_locations
        paths = [
            f'{address}:/shares/{self.made.id}'
            for address in (self.fabric.v4('nas'), f'[{self.fabric.v6("nas")}]')
        ]
        self.assertEqual(paths, [location.path for location in locations])
        self.assertEqual([True, False], [location.preferred for location in locations])
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
        self.refused('NOENT', 'two', self.made, 'list')

    def test_rules_survive_losing_the_export_files(self):
        for file in (self.state / 'state' / 'exports.d').glob('*'):
            file.unlink()
        tear_down(self.driver)
        type(self).driver = self.make()
        self.driver.setup()
        self.refused('NOENT', 'one', self.made, 'list')
        self.ensure()
        self.works('one', self.made, 'list')

    def test_mount_point_name_survives_a_revert_and_lost_export_files(self):
        """Check that the mount point name survives a revert, and the loss of the export files."""
        named = dataclasses.replace(
            self.made, id=f'named-{self.made.id}', mount_point_name=f'team_{self.made.id}'
        )
        locations = self.driver.create_share(named)
        self.addCleanup(lambda: self.driver.delete_share(named))
        self.assertTrue(locations[0].path.endswith(f':/shares/{named.mount_point_name}'), locations)
        self.grant(named, self.rule)
        self.works('one', named, 'write', 'f', 'hello')
        self.refused('NOENT', 'one', dataclasses.replace(named, mount_point_name=None), 'list')
        self.driver.revert_to_snapshot(self.snapshot(named))
        self.works('one', named, 'write', 'g', 'hello')
        for file in (self.state / 'state' / 'exports.d').glob('*'):
            file.unlink()
        tear_down(self.driver)
        type(self).driver = self.make()
        self.driver.setup()
        rules = (values.AccessRule('r', 'ip', *self.rule),)
        ensured = self.driver.ensure_shares([values.EnsureTarget(named, rules)])[named.id]
        self.assertEqual(tuple(locations), ensured.export_locations)
        self.assertEqual('hello', self.works('one', named, 'read', 'g'))
        self.assertEqual(
            (), self.driver.ensure_shares([values.EnsureTarget(named, rules)])[named.id].repaired
        )

    def test_revert_interrupted_between_renames_succeeds_when_repeated(self):
        self.works('one', self.made, 'write', 'f', 'before')
        snapshot = self.snapshot(self.made)
        pool = self.driver.parts.pool
        tear_down(self.driver)
        self.driver.parts.pool.open()
        pool.share(self.made.id).rename(pool._old(self.made.id))
        type(self).driver = self.make()
        self.driver.setup()
        self.driver.revert_to_snapshot(snapshot)
        self.assertEqual('before', self.works('one', self.made, 'read', 'f'))
        self.assertFalse(pool._old(self.made.id).exists())

    def test_deleted_share_leaves_no_files(self):
        share = values.Share(f'short-{self.made.id}', 's', 'p', 1, 'NFS', 'pool')
        self.driver.create_share(share)
        self.driver.delete_share(share)
        self.driver.delete_share(share)
        left = list((self.state / 'state').rglob(f'*{share.id}*'))
        self.assertEqual([], left)

    def restart(self, extra=''):
        """Start a new share manager, optionally with further options."""
        conf = self.state / 'conf'
        before = conf.read_text()
        conf.write_text(before + extra)
        try:
            type(self).driver = self.make()
            self.driver.setup()
        finally:
            conf.write_text(before)

    def test_killed_daemon_is_restarted_by_report_and_by_grant(self):
        self.works('one', self.made, 'write', 'f', 'hello')
        for daemon in (
            self.driver.parts.protocol_servers.of('NFS').server._server,
            self.driver.parts.protocol_servers.of('NFS').server._bus,
        ):
            base.kill(daemon)
            self.driver.report()
            self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
            base.kill(daemon)
            self.assertEqual([None], self.grant(self.made, self.rule))
            self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
        self.refused('NOENT', 'two', self.made, 'list')

    def test_daemons_without_a_pid_record_are_replaced(self):
        nfs = self.driver.parts.protocol_servers.of('NFS').server
        daemons = nfs._server, nfs._bus
        before = [daemon.process() for daemon in daemons]
        for daemon in daemons:
            daemon.record.unlink()
        self.restart()
        self.assertTrue(self.driver.parts.protocol_servers.of('NFS').server.running)
        self.assertEqual([], [one for one in before if not process.has_ended(one)])
        self.works('one', self.made, 'write', 'f', 'hello')

    def test_recorded_pid_of_another_program_is_not_killed(self):
        stranger = subprocess.Popen(['cat'], stdin=subprocess.PIPE)
        self.addCleanup(stranger.stdin.close)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        daemon = self.driver.parts.protocol_servers.of('NFS').server._server
        base.kill(daemon)
        daemon.record.write_text(re.sub(r'"pid": \d+', f'"pid": {stranger.pid}', daemon.record.read_text()))
        self.restart()
        self.assertIsNone(stranger.poll())
        self.works('one', self.made, 'list')

    def test_nfs_server_survives_the_death_of_the_share_manager(self):
        client = self.session('one', self.made)
        client.call('write', 'f', 'hello')
        script = (
            'import sys, pathlib; from manila_lite.drivers import load; from oslo_config import cfg\n'
            'conf = cfg.ConfigOpts(); conf([], default_config_files=[sys.argv[1] + "/conf"])\n'
            'load.make("linux", "linux", "h@linux", conf, pathlib.Path(sys.argv[1], "state")).setup()\n'
            'print("up", flush=True); sys.stdin.read()'
        )
        tear_down(self.driver)
        manager = subprocess.Popen(
            [sys.executable, '-c', script, str(self.state)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.assertEqual('up\n', manager.stdout.readline())
        manager.send_signal(signal.SIGKILL)
        manager.communicate()
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
        server = type(self).driver.parts.protocol_servers.of('NFS').server._server.process()
        self.restart()
        self.assertEqual(server, self.driver.parts.protocol_servers.of('NFS').server._server.process())

    def test_changed_options_of_the_server_take_effect(self):
        before = self.driver.parts.protocol_servers.of('NFS').server._server.process()
        self.restart('linux_nfs_port = 12049\n')
        self.assertNotEqual(before, self.driver.parts.protocol_servers.of('NFS').server._server.process())
        self.refused('', 'one', self.made, 'list')
        self.restart()
        self.works('one', self.made, 'list')

    def test_export_numbers_survive_a_crash_and_a_lost_export_file(self):
        others = [self.share() for _ in range(3)]
        self.driver.delete_share(others[0])
        before = dict(self.driver.parts.protocol_servers.of('NFS').server.exports._numbers)
        base.kill(self.driver.parts.protocol_servers.of('NFS').server._server)
        self.restart()
        self.assertEqual(before, self.driver.parts.protocol_servers.of('NFS').server.exports._numbers)
        (self.state / 'state' / 'exports.d' / f'{self.made.id}.conf').unlink()
        self.restart()
        self.grant(self.made, self.rule)
        self.assertEqual(before, self.driver.parts.protocol_servers.of('NFS').server.exports._numbers)

    def test_other_shares_are_served_beside_a_torn_export_file(self):
        torn = self.share()
        self.works('one', self.made, 'write', 'f', 'hello')
        tear_down(self.driver)
        file = self.state / 'state' / 'exports.d' / f'{torn.id}.conf'
        file.write_text(file.read_text()[:-30])
        file.with_name('empty.conf').touch()
        self.restart()
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
        self.assertIsNone(self.driver.ensure_shares([values.EnsureTarget(torn)])[torn.id].error)

    def test_server_restarted_during_a_revert_serves_no_empty_directory(self):
        self.works('one', self.made, 'write', 'f', 'before')
        snapshot = self.snapshot(self.made)
        swap = self.driver.parts.pool.swap

        def die(resource_id):
            base.kill(self.driver.parts.protocol_servers.of('NFS').server._server)
            self.driver.report()
            self.refused('NOENT', 'one', self.made, 'list')
            swap(resource_id)

        self.patch(self.driver.parts.pool, 'swap', die)
        self.driver.revert_to_snapshot(snapshot)
        self.assertEqual('before', self.works('one', self.made, 'read', 'f'))
        self.refused('NOENT', 'two', self.made, 'list')

    def test_rules_set_between_a_failed_revert_and_its_retry_apply(self):
        self.works('one', self.made, 'write', 'f', 'before')
        snapshot = self.snapshot(self.made)
        pool = self.driver.parts.pool
        pool.prepare_revert(self.made.id, snapshot.id, 1)
        self.driver.parts.protocol_servers.of('NFS').server.withdraw(self.made.id)
        mounts.unmount(self.driver.parts.protocol_servers.of('NFS').mount_point(self.made.id))
        pool.share(self.made.id).rename(pool._old(self.made.id))
        self.assertEqual([None], self.grant(self.made, (self.fabric.v4('two'), 'ro')))
        self.driver.revert_to_snapshot(snapshot)
        self.assertEqual('before', self.works('two', self.made, 'read', 'f'))
        self.refused('NOENT', 'one', self.made, 'list')
