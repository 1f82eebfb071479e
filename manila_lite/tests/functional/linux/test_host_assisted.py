# SPDX-License-Identifier: Apache-2.0
"""A share moves between linux backends that know nothing of each other: the host of the destination copies its files."""

import os
import re
from pathlib import Path

from manila_lite.tests import process, smb_client
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.linux import base, cifs_base, filled, moving_writer, test_share_migration

_BACKEND = """[NAME]
driver = linux
linux_pool_path = {state}/POOL
linux_pool_size_gb = 4
linux_graceless = true
linux_netns = SPACE
linux_export_ips = ADDRESS
migration_driver_continue_update_interval = 0.2
MORE"""
#: The kernel here has no NFS client, so the host copies in the directories that it serves. See ``test_kernel_backups.py``.
_LOCAL = """[DEFAULT]
data_node_access_ips = 10.99.0.99
data_node_local_exports = 10.99.0.1:/shares={state}/lib/alpha/pool/shares, 10.99.0.2:/shares={state}/lib/beta/pool/shares, \
10.99.0.1:/shares={state}/lib/alpha/pool/snapshots
"""
NOTHING = {'writable': False, 'nondisruptive': False, 'preserve_snapshots': False, 'preserve_metadata': False}
READY = 'data_copying_completed'


class HostAssisted(filled.Filled, test_share_migration.Moves):
    """Helpers to move a share of ``alpha`` to ``beta``."""

    BACKEND = _BACKEND + _LOCAL
    BACKENDS = (('alpha', 'beta', 'alpha.img'), ('beta', 'alpha', 'beta.img'))
    # These tests are about drivers that migrate.
    test_a_share_moves_with_its_data_and_rules = (
        test_cancelled_migration_leaves_nothing_at_the_destination
    ) = None

    def config(self, *lines):
        """Add lines to the configuration, and start the service again."""
        self.lite.kill()
        with self.lite.config.open('a') as config:
            config.write('\n'.join(('', *lines, '')))
        self.lite.start()

    def again(self):
        """Kill the service and start it again."""
        self.lite.kill()
        self.lite.start()

    def granted(self):
        """Return a share of ``alpha`` which the host "one" may write to."""
        share = self.make('alpha', share_type='any')
        self.act(share, 'allow_access', {'access_type': 'ip', 'access_to': self.fabric.v4('one')})
        self.rules_are_active(share)
        return share

    def rules_are_active(self, share):
        self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')

    def place(self, backend, share):
        """Return the directory of the share's files at the backend."""
        [instance] = [row['id'] for row in self.instances(share) if row['host'] == f'test@{backend}#pool']
        return self.state / f'lib/{backend}/pool/shares/{instance}'

    def instances(self, share):
        return self.lite.ok('GET', f'/shares/{share}/instances')['share_instances']

    def start(self, share, **more):
        status, document = self.act(share, 'migration_start', {**NOTHING, 'host': 'test@beta', **more})
        self.assertEqual(202, status, document)

    def task_is(self, share, *states):
        return self.lite.wait(f'/shares/{share}', 'share', states, field='task_state')

    def complete(self, share):
        self.assertEqual(202, self.act(share, 'migration_complete')[0])

    def progress(self, share):
        return self.act(share, 'migration_get_progress')[1]

    def messages(self, share):
        return ' '.join(
            row['user_message'] for row in self.lite.ok('GET', f'/messages?resource_id={share}')['messages']
        )

    def has_moved(self, share):
        """Check that the share is at ``beta``, and nothing of it or of its migration elsewhere."""
        self.task_is(share, 'migration_success')
        self.rules_are_active(share)
        process.until(lambda: not self.held('alpha'), 'nothing is left at the source', self.lite.tail)
        [instance] = process.until(
            lambda: len(found := self.instances(share)) == 1 and found,
            'the source has no row',
            self.lite.tail,
        )
        self.assertEqual(
            ({instance['id']}, 'test@beta#pool', False),
            (self.held('beta'), instance['host'], instance['cast_rules_to_readonly']),
        )
        self.nothing_is_mounted()

    def has_stayed(self, share, state):
        """Check that the share is as it was, and can be written to."""
        shown = self.task_is(share, state)
        self.assertEqual(('available', 'test@alpha#pool'), (shown['status'], shown['host']))
        self.rules_are_active(share)
        process.until(lambda: not self.held('beta'), 'nothing is left at the destination', self.lite.tail)
        self.nothing_is_mounted()
        process.until(
            lambda: self.nfs(share, 'write', 'after', 'the migration')[0],
            'a client can write',
            self.lite.tail,
        )

    def nothing_is_mounted(self):
        self.assertNotIn(f'{self.state}/lib/beta/moves', Path('/proc/mounts').read_text())
        self.assertEqual([], list((self.state / 'lib/beta/moves').glob('*')))


class Moved(HostAssisted):
    def test_a_share_moves_with_all_kinds_of_files_and_its_rules(self):
        share = self.granted()
        self.works(share, 'write', 'f', 'hello')
        copy = self.fill(self.place('alpha', share))
        self.start(share, force_host_assisted_migration=True)
        self.task_is(share, READY)
        told = self.progress(share)
        self.assertEqual((100, 1, 1), (told['total_progress'], told['phase'], told['details']['passes']))
        self.assertEqual(told['details']['files_total'], told['details']['files_done'])
        self.assertGreater(told['bytes_total'], 3_000_000)
        self.assertEqual('hello', self.works(share, 'read', 'f'))
        self.assertFalse(self.nfs(share, 'write', 'f', 'too late')[0])
        self.complete(share)
        self.has_moved(share)
        self.assert_as(copy, self.place('beta', share))
        self.assertEqual('hello', self.works(share, 'read', 'f'))
        self.works(share, 'write', 'f', 'at home again')

    def test_without_a_driver_that_can_the_host_copies_unless_more_is_wanted(self):
        share = self.granted()
        self.assertIn('linux_peers has no entry', self.refused(share, 'test@beta', preserve_snapshots=True))
        for wants in NOTHING:
            status, document = self.act(
                share,
                'migration_start',
                {**NOTHING, 'host': 'test@beta', wants: True, 'force_host_assisted_migration': True},
            )
            self.assertEqual(
                (400, True), (status, f'cannot be combined with {wants}' in str(document)), document
            )
        self.start(share)
        self.task_is(share, READY)
        self.complete(share)
        self.has_moved(share)

    def test_acknowledged_writes_of_a_client_survive(self):
        self.config('[beta]', 'migration_keep_writable = true')
        share = self.granted()
        (self.place('alpha', share) / 'big').write_bytes(os.urandom(20 << 20))
        found = self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations'][0]['path']
        address, _, export = found.partition(':')
        writer = moving_writer.Writer(address, export, self.fabric.name('one'), pause=0.01)
        self.addCleanup(writer.end)
        writer.goes_on()
        self.start(share)
        writer.goes_on()
        self.task_is(share, READY)
        writer.goes_on(50)
        self.complete(share)
        self.task_is(share, 'migration_success')
        writer.end()
        place = self.place('beta', share)
        there = {path.name: path.read_text() for path in place.iterdir() if path.name != 'big'}
        self.assertGreater(len(writer.acknowledged), 60)
        self.assertEqual(
            {}, {name: there.get(name) for name in writer.acknowledged if there.get(name) != name}
        )
        self.has_moved(share)

    def test_changes_of_all_kinds_between_the_passes_arrive(self):
        self.config('[beta]', 'migration_keep_writable = true', '[DEFAULT]', 'check_hash = true')
        share = self.granted()
        place = self.place('alpha', share)
        self.fill(place)
        self.start(share)
        self.task_is(share, READY)
        (place / 'linked').unlink()
        (place / 'linked').write_text('a file of its own')
        (place / 'sub' / 'random').rename(place / 'moved')
        (place / 'pointer').unlink()
        (place / 'pointer').mkdir()
        copy = self.state / 'changed'
        base.command('cp', '-a', str(place), str(copy))
        self.complete(share)
        self.has_moved(share)
        base.command('diff', '-r', '--no-dereference', str(copy), str(self.place('beta', share)))
        self.assertEqual('a file of its own', (self.place('beta', share) / 'linked').read_text())


class Snapshots(HostAssisted):
    """Snapshots go along."""

    def taken(self, share):
        snapshot = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        return snapshot

    def mountable(self, backend='alpha'):
        """Return a share whose snapshots can be mounted, and two of them."""
        share = self.make(backend)
        self.act(share, 'allow_access', {'access_type': 'ip', 'access_to': self.fabric.v4('one')})
        self.rules_are_active(share)
        self.works(share, 'write', 'f', 'first')
        self.works(share, 'write', 'gone', 'gone')
        first = self.taken(share)
        (self.place(backend, share) / 'gone').unlink()
        self.works(share, 'write', 'f', 'second one')
        second = self.taken(share)
        self.works(share, 'write', 'f', 'at the end of all')
        return share, first, second

    def contents(self, backend, snapshot):
        place = self.state / f'lib/{backend}/pool/snapshots/{snapshot}'
        return {path.name: path.read_text() for path in place.iterdir()}

    def test_snapshots_go_along_with_their_content(self):
        share, first, second = self.mountable()
        self.start(share, preserve_snapshots=True)
        self.task_is(share, READY)
        self.assertEqual({'f': 'first', 'gone': 'gone'}, self.contents('beta', first))
        self.assertEqual({'f': 'second one'}, self.contents('beta', second))
        self.complete(share)
        self.task_is(share, 'migration_success')
        self.rules_are_active(share)
        process.until(lambda: not self.held('alpha'), 'nothing is left at the source', self.lite.tail)
        self.assertEqual('at the end of all', self.works(share, 'read', 'f'))
        for snapshot in (first, second):
            shown = self.lite.ok('GET', f'/snapshots/{snapshot}')['snapshot']
            self.assertEqual(
                ('available', f'/snapshots/{snapshot}'), (shown['status'], shown['provider_location'])
            )
        self.assertEqual(202, self.act(share, 'revert', {'snapshot_id': second})[0])
        self.lite.wait(f'/shares/{share}', 'share', 'available')
        self.assertEqual('second one', self.works(share, 'read', 'f'))

    def test_cancelled_migration_leaves_the_snapshots_where_they_are(self):
        share, first, second = self.mountable()
        self.start(share, preserve_snapshots=True)
        self.task_is(share, READY)
        self.assertEqual(202, self.act(share, 'migration_cancel')[0])
        self.has_stayed(share, 'migration_cancelled')
        self.assertEqual({'f': 'first', 'gone': 'gone'}, self.contents('alpha', first))
        self.assertEqual({'f': 'second one'}, self.contents('alpha', second))
        self.assertEqual(
            {'available'},
            {
                row['status']
                for row in self.lite.ok('GET', f'/snapshots/detail?share_id={share}')['snapshots']
            },
        )


class Slow(HostAssisted):
    """A copy that takes seconds, with something done to it meanwhile."""

    BACKEND = HostAssisted.BACKEND + 'data_copy_bandwidth_limit = 2\n'

    def copying(self, **more):
        """Return a share of which a part is copied, and its files."""
        share = self.granted()
        (self.place('alpha', share) / 'small').write_text('small')
        (self.place('alpha', share) / 'big').write_bytes(os.urandom(16 << 20))
        self.start(share, **more)
        self.task_is(share, 'data_copying_in_progress')
        process.until(lambda: self.progress(share)['total_progress'] > 0, 'it copies', self.lite.tail)
        return share

    def test_cancelled_migration_leaves_the_source_writable(self):
        share = self.copying()
        told = self.progress(share)
        self.assertGreater(told['bytes_total'], told['bytes_done'])
        self.assertIsNotNone(told['seconds_left'])
        [shown] = self.lite.ok('GET', f'/operations?resource_id={share}&kind=share.migrate')['operations']
        self.assertEqual('copy', shown['phase'])
        figures = shown['progress']
        self.assertEqual(
            [int] * 4,
            [type(figures[name]) for name in ('percent', 'bytes_done', 'bytes_total', 'seconds_left')],
        )
        self.assertEqual(202, self.act(share, 'migration_cancel')[0])
        self.has_stayed(share, 'migration_cancelled')

    def test_migration_cancelled_by_force_leaves_the_source_writable(self):
        share = self.copying()
        self.assertEqual(202, self.act(share, 'reset_task_state', {'task_state': 'migration_cancelled'})[0])
        self.has_stayed(share, 'migration_cancelled')

    def in_the_last_pass(self):
        """Return a share whose last changes are being copied."""
        self.config('[beta]', 'migration_keep_writable = true')
        share = self.copying()
        self.task_is(share, READY)
        (self.place('alpha', share) / 'more').write_bytes(os.urandom(16 << 20))
        self.complete(share)
        self.task_is(share, 'data_copying_completing')
        return share

    def test_migration_cancelled_during_its_last_pass_leaves_the_source_writable(self):
        share = self.in_the_last_pass()
        self.assertEqual(202, self.act(share, 'migration_cancel')[0])
        self.has_stayed(share, 'migration_cancelled')

    def test_killed_service_goes_on_with_the_copy(self):
        share = self.copying()
        self.again()
        self.task_is(share, READY)
        self.again()
        self.complete(share)
        self.again()
        self.has_moved(share)
        self.assertEqual(
            (16 << 20, 'small'),
            (
                (self.place('beta', share) / 'big').stat().st_size,
                (self.place('beta', share) / 'small').read_text(),
            ),
        )

    def test_service_killed_in_the_last_pass_goes_on(self):
        share = self.in_the_last_pass()
        process.until(
            lambda: list((self.state / 'lib/beta/pool/shares').glob('*/.more.*')), 'it copies', self.lite.tail
        )
        self.again()
        self.has_moved(share)
        self.assertEqual(16 << 20, (self.place('beta', share) / 'more').stat().st_size)

    def test_service_killed_during_the_cancellation_ends_it(self):
        share = self.copying()
        self.act(share, 'migration_cancel')
        self.again()
        self.has_stayed(share, 'migration_cancelled')

    def test_full_destination_is_told_and_the_source_stays(self):
        share = self.copying()
        filler = self.state / 'lib/beta/pool/filler'
        filled.fill_up(filler)
        self.addCleanup(filler.unlink)
        self.has_stayed(share, 'migration_error')
        self.assertIn('the destination is full. Not copied: big (', self.messages(share))

    def test_files_that_cannot_be_copied_are_told_and_the_source_stays(self):
        share = self.copying()
        self.task_is(share, READY)
        target = next((self.state / 'lib/beta/pool/shares').iterdir())
        base.command('chattr', '+i', str(target / 'small'))
        self.addCleanup(self.thaw, target / 'small')
        (self.place('alpha', share) / 'small').write_text('changed at the source')
        self.complete(share)
        self.task_is(share, 'migration_error')
        self.assertIn('Not copied: small (Operation not permitted)', self.messages(share))
        self.thaw(target / 'small')
        self.has_stayed(share, 'migration_error')

    def thaw(self, path):
        if path.exists():
            base.command('chattr', '-i', str(path))


@cifs_base.needs_samba
class Cifs(HostAssisted):
    """CIFS shares."""

    BACKEND = _BACKEND.replace('MORE', 'linux_cifs_users = {state}/users\n') + _LOCAL.replace(
        ':/shares', ''
    ).replace('10.99.0.1', '//10.99.0.1').replace('10.99.0.2', '//10.99.0.2')

    def smb(self, share, command, text=None):
        """Run an SMB command as a client; return (success, output)."""
        found = self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations'][0]['path']
        return smb_client.call(self.fabric.name('one'), found, 'alice', 'alice', command, text=text)

    def test_a_share_moves_with_its_files_and_rules(self):
        share = self.make('alpha', share_type='any', share_proto='CIFS')
        self.act(share, 'allow_access', {'access_type': 'user', 'access_to': 'alice'})
        self.rules_are_active(share)
        self.assertTrue(self.smb(share, 'mkdir sub')[0])
        self.assertTrue(self.smb(share, 'put local sub\\f', 'hello')[0])
        attributes = {
            name: os.getxattr(self.place('alpha', share) / 'sub' / 'f', name)
            for name in os.listxattr(self.place('alpha', share) / 'sub' / 'f')
        }
        self.assertTrue(attributes, 'Samba keeps attributes of DOS')
        self.start(share)
        self.task_is(share, READY)
        self.assertEqual((True, 'hello'), self.smb(share, 'get sub\\f there'))
        self.assertFalse(self.smb(share, 'put local g', 'too late')[0])
        self.complete(share)
        self.has_moved(share)
        self.assertEqual((True, 'hello'), self.smb(share, 'get sub\\f there'))
        self.assertTrue(self.smb(share, 'put local g', 'at home again')[0])
        there = self.place('beta', share) / 'sub' / 'f'
        self.assertEqual(attributes, {name: os.getxattr(there, name) for name in os.listxattr(there)})


class Refused(HostAssisted):
    """Sides that cannot be reached."""

    BACKEND = _BACKEND

    def fails(self, *words):
        share = self.granted()
        self.start(share, force_host_assisted_migration=True)
        self.has_stayed(share, 'migration_error')
        for word in words:
            self.assertIn(word, self.messages(share))

    def test_failed_mount_is_told(self):
        self.config(
            '[DEFAULT]',
            'data_node_access_ips = 10.99.0.99',
            'data_node_mount_options = nfs:"nonsense,password=sesame"',
        )
        self.fails('The host that copies cannot mount 10.99.0.1:/shares/')
        log = self.lite.log.read_text()
        self.assertRegex(log, r'mount -t nfs -o ro,retry=0,nonsense,password=\*\*\* .*10\.99\.0\.1:/shares/')
        self.assertNotIn('sesame', log)

    def test_49_17_plan_of_a_drain_tries_the_mount(self):
        """What cannot be mounted stays, in the plan as in the drain."""
        share = self.granted()
        self.lite.ok('PUT', f'/shares/{share}', {'share': {'display_name': 'docs'}})
        self.config(
            '[DEFAULT]',
            'data_node_local_exports =',
            'data_node_mount_options = nfs:"nonsense,password=sesame"',
        )
        why = rf'docs \({share}\) stays: .*cannot mount 10\.99\.0\.1:/shares/'
        for words in ('--dry-run',), ('--yes',):
            status, said, err = manage.run(self.lite.config, 'manage', 'host', 'drain', 'test@alpha', *words)
            self.assertEqual((1, 1), (status, len(re.findall(why, said))), said + err)
            self.assertNotIn('sesame', said + err)
        self.assertIn('Nothing can move, so nothing was begun.', said)
        self.assertEqual('available', self.lite.ok('GET', f'/shares/{share}')['share']['status'])
        self.nothing_is_mounted()

    def test_mount_points_where_others_can_write_are_refused(self):
        (self.state / 'open').mkdir()
        (self.state / 'open' / 'manila_lite').mkdir()
        (self.state / 'open' / 'manila_lite').chmod(0o777)
        self.config(
            '[DEFAULT]', 'data_node_access_ips = 10.99.0.99', f'mount_tmp_location = {self.state}/open'
        )
        self.fails('mount_tmp_location: other users could change')
