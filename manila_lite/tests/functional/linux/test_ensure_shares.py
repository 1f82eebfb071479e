# SPDX-License-Identifier: Apache-2.0
"""Ensure shares and servers: damage under a running driver is found, repaired and reported; the rest is left alone."""

import dataclasses
import subprocess
from pathlib import Path

from manila_lite import values
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.servers import fabric, namespace
from manila_lite.host import mounts
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import base, server_base

GIB = 1 << 30
FOUR, SIX = (server_base.address(subnet, 5) for subnet in ('four', 'six'))


def table(state):
    """Return a backend's mounts and export files, with values that change when one is made again."""
    mine = [line for line in Path('/proc/self/mountinfo').read_text().splitlines() if str(state) in line]
    return mine + [
        (file, file.stat().st_ino, file.stat().st_mtime_ns) for file in sorted(state.glob('**/exports.d/*'))
    ]


class Breaker:
    """Breaks the export of one share."""

    def __init__(self, driver, protocol_server, share):
        self.driver, self.protocol_server, self.share = driver, protocol_server, share
        self.pool = driver.parts.pool
        self.place = protocol_server.mount_point(share.id)
        self.file = protocol_server._state_dir / 'exports.d' / f'{share.id}.conf'

    def unmount_share(self):
        base.command('umount', '--lazy', str(self.place))

    def unmount_all(self):
        """Kill the NFS server, unmount everything and detach the loop device."""
        base.kill(self.protocol_server.server._server)
        for place in [*self.protocol_server._state_dir.glob('exports/*'), self.pool.root]:
            mounts.unmount(place)
        mounts.detach(self.pool._source)

    def kill_server(self):
        base.kill(self.protocol_server.server._server)

    def kill_bus(self):
        base.kill(self.protocol_server.server._bus)

    def remove_export(self):
        self.protocol_server.server._manager.call(
            'RemoveExport', 'q', [self.protocol_server.server.exports._numbers[self.share.id]]
        )

    def remove_file(self):
        self.file.unlink()

    def edit_file(self):
        """Edit the export file, and make the server read it."""
        self.file.write_text(self.file.read_text().replace('Access_Type = RW', 'Access_Type = RO'))
        self.other_rules(self.file.read_text())

    def other_rules(self, text=''):
        """Give the server other rules than the file has."""
        draft = self.file.with_name('draft')
        draft.write_text(text or self.file.read_text().replace('Access_Type = RW', 'Access_Type = RO'))
        self.protocol_server.server._manager.apply(
            'UpdateExport', draft, self.protocol_server.server.exports._numbers[self.share.id]
        )
        draft.unlink()

    def limit(self, size):
        btrfs.limit(self.pool.root, self.pool.share(self.share.id), size)

    def no_limit(self):
        base.command('btrfs', 'qgroup', 'limit', 'none', str(self.pool.share(self.share.id)))

    def no_quota(self):
        base.command('btrfs', 'quota', 'disable', str(self.pool.root))


class Ensure:
    """Mixin for a test with ``target`` and ``driver``."""

    def ensure(self, *words):
        """Ensure the share; check that the repairs contain these words, one each, and no more."""
        result = self.driver.ensure_shares([self.target])[self.target.share.id]
        self.assertIsNone(result.error)
        self.assertEqual(
            {rule.id: None for rule in self.target.rules},
            {resource_id: rule.error for resource_id, rule in result.rules.items()},
        )
        self.assertEqual(len(words), len(result.repaired), result.repaired)
        for word, said in zip(words, result.repaired, strict=True):
            self.assertIn(word, said)
        return result


class Plain(Ensure, base.ShareTest):
    """A backend without share servers."""

    def setUp(self):
        super().setUp()
        locations = tuple(self.driver.parts.exports.locations(self.made))
        self.target = values.EnsureTarget(
            dataclasses.replace(self.made, export_locations=locations),
            (values.AccessRule('r', 'ip', *self.rule),),
        )
        self.works('one', self.made, 'write', 'f', 'hello')
        self.breaker = Breaker(self.driver, self.driver.parts.protocol_servers.of('NFS'), self.made)

    def test_healthy_share_is_left_unchanged(self):
        client = self.session('one', self.made)
        client.call('write', 'g', 'open')
        others = [values.EnsureTarget(self.share()) for _ in range(3)]
        server = self.driver.parts.protocol_servers.of('NFS').server
        before, process = table(self.state / 'state'), server.process
        results = self.driver.ensure_shares([self.target, *others])
        self.assertEqual([((), None)] * 4, [(result.repaired, result.error) for result in results.values()])
        self.assertEqual((before, process), (table(self.state / 'state'), server.process))
        self.assertEqual((True, 'open'), client.call('read', 'g'))

    def test_each_damage_is_repaired_and_reported(self):
        breaker = self.breaker
        for broken, words in (
            (breaker.unmount_share, ['was not mounted']),
            (
                breaker.unmount_all,
                ['The pool was not mounted', 'NFS server did not run', 'share was not mounted'],
            ),
            (breaker.kill_server, ['NFS server did not run']),
            (breaker.kill_bus, ['NFS server did not run']),
            (breaker.remove_export, ['was not exported']),
            (breaker.remove_file, ['was missing']),
            (breaker.edit_file, ['Other access rules', 'was another']),
            (breaker.other_rules, ['Other access rules']),
            (lambda: breaker.limit(5 * GIB), ['was 5 GiB; it is 1 GiB']),
            (lambda: breaker.limit(4096), ['it is 1 GiB']),
            (breaker.no_limit, ['was no limit']),
            (breaker.no_quota, ['did not measure', 'was no limit']),
        ):
            broken()
            self.ensure(*words)
            self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
            self.assertEqual(GIB, btrfs.limit_of(breaker.pool.root, breaker.pool.share(self.made.id)))
            self.ensure()
        self.works('one', self.made, 'write', 'g', 'mine')
        self.refused('NOENT', 'two', self.made, 'list')

    def test_each_damage_is_named_and_left_by_an_inspection(self):
        """Say what would be repaired, in the words of the repair, and repair nothing (issue 19, 11)."""
        breaker = self.breaker
        self.assertEqual((), self.driver.inspect_shares([self.target])[self.made.id].repaired)
        for broken in (
            breaker.unmount_share,
            breaker.remove_export,
            breaker.remove_file,
            breaker.edit_file,
            breaker.other_rules,
            lambda: breaker.limit(5 * GIB),
            breaker.no_limit,
            breaker.kill_server,
        ):
            broken()
            before = table(self.state / 'state')
            said = self.driver.inspect_shares([self.target])[self.made.id].repaired
            self.assertEqual(
                (before, said),
                (
                    table(self.state / 'state'),
                    self.driver.inspect_shares([self.target])[self.made.id].repaired,
                ),
            )
            self.assertNotEqual((), said)
            self.assertEqual(said, self.driver.ensure_shares([self.target])[self.made.id].repaired)
        breaker.unmount_all()
        self.assertEqual({}, self.driver.inspect_shares([self.target]))
        self.ensure('The pool was not mounted', 'NFS server did not run', 'share was not mounted')

    def test_nfs_server_started_without_the_pool_serves_no_empty_directory(self):
        self.breaker.unmount_all()
        self.assertRaises(CommandFailed, self.driver.report)
        self.assertTrue(self.driver.parts.protocol_servers.of('NFS').server.running)
        self.refused('NOENT', 'one', self.made, 'list')
        self.ensure(
            'The pool was not mounted', 'The share was not mounted', 'was not exported', 'was missing'
        )
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))

    def test_lost_share_or_pool_image_is_not_created_again(self):
        pool = self.driver.parts.pool
        home, away = pool.share(self.made.id), pool.root / 'away'
        home.rename(away)
        self.assertIn('not in the pool', self.driver.ensure_shares([self.target])[self.made.id].error)
        self.assertFalse(home.exists())
        away.rename(home)
        self.ensure()
        self.breaker.unmount_all()
        image, aside = pool._source, pool._source.with_name('aside')
        image.rename(aside)
        bad = self.assertRaises(CommandFailed, self.driver.ensure_shares, [self.target])
        self.assertIn(f'{image} is not there', str(bad))
        self.assertFalse(image.exists())
        aside.rename(image)
        self.ensure('The pool was not mounted', 'NFS server did not run', 'The share was not mounted')
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))

    def test_export_locations_follow_a_changed_address(self):
        conf = self.state / 'conf'
        before = conf.read_text()
        conf.write_text(before.replace(self.fabric.v6('nas'), 'fd99::77'))
        self.addCleanup(conf.write_text, before)
        type(self).driver = self.make()
        self.driver.setup()
        self.addCleanup(self._again, before)
        result = self.ensure(f'was known as {self.fabric.v4("nas")}:')
        self.assertEqual(
            [f'{address}:/shares/{self.made.id}' for address in (self.fabric.v4('nas'), '[fd99::77]')],
            [location.path for location in result.export_locations],
        )

    def _again(self, text):
        (self.state / 'conf').write_text(text)
        type(self).driver = self.make()
        self.driver.setup()

    def test_stopped_nfs_server_is_not_started_by_ensure(self):
        self.driver.parts.protocol_servers.of('NFS').server.stop()
        self.addCleanup(self.driver.setup)
        self.assertRaises(CommandFailed, self.driver.ensure_shares, [self.target])
        self.assertFalse(self.driver.parts.protocol_servers.of('NFS').server.running)

    def test_ensure_keeps_a_size_that_was_just_extended(self):
        self.driver.extend_share(self.made, 3)
        self.ensure()
        self.assertEqual(
            3 * GIB, btrfs.limit_of(self.driver.parts.pool.root, self.driver.parts.pool.share(self.made.id))
        )


class OnServer(Ensure, server_base.ServerTest):
    """A share server in two subnets, each with a gateway."""

    def setUp(self):
        super().setUp()
        made = self.share()
        rules = (
            values.AccessRule('r4', 'ip', server_base.address('four', 101), 'rw'),
            values.AccessRule('r6', 'ip', server_base.address('six', 101), 'ro'),
        )
        self.driver.update_access(made, rules)
        self.target = values.EnsureTarget(
            dataclasses.replace(made, export_locations=tuple(self.locations)), rules
        )
        self.works('one4', FOUR, made, 'write', 'f', 'hello')
        self.made = made
        self.name = f'manila-{self.server.id}'
        self.ports = {entry.ip_address: namespace._interface(entry) for entry in self.server.allocations}
        self.protocol_server = self.driver.parts.share_servers.protocol_server(self.server.id)
        self.breaker = Breaker(self.driver, self.protocol_server, made)

    def ensure_server(self, *words):
        """Ensure the share server; check that the repairs contain these words, one each, and no more."""
        result = self.driver.ensure_servers([self.server])[self.server.id]
        self.assertIsNone(result.error)
        self.assertEqual(len(words), len(result.repaired), result.repaired)
        for word, said in zip(words, result.repaired, strict=True):
            self.assertIn(word, said)

    def test_healthy_share_is_left_unchanged(self):
        state = self.machine.state / 'state'
        before, process = table(state), self.protocol_server.server._server.process()
        links = base.command('ip', '-n', self.name, 'address') + base.command(
            'ip', '-n', self.machine.fabric, 'link'
        )
        self.ensure_server()
        self.ensure()
        self.assertEqual((before, process), (table(state), self.protocol_server.server._server.process()))
        self.assertEqual(
            links,
            base.command('ip', '-n', self.name, 'address')
            + base.command('ip', '-n', self.machine.fabric, 'link'),
        )

    def inside(self, *words):
        """Return a function that runs ip(8) in the server's namespace."""
        return lambda: base.ip('-n', self.name, *words)

    def outside(self, *words):
        """Return a function that runs ip(8) in the fabric."""
        return lambda: base.ip('-n', self.machine.fabric, *words)

    def test_each_damage_is_repaired_and_reported(self):
        four, six = self.ports[FOUR], self.ports[SIX]
        bridge = fabric.bridge_of(self.server.networks[0])
        anew = 'NFS server did not run where'
        for broken, words in (
            (
                self.inside('link', 'set', four, 'down'),
                [f'{FOUR} could not be reached: its interface was down'],
            ),
            (
                self.inside('link', 'set', six, 'down'),
                [f'{SIX} could not be reached: its interface was down'],
            ),
            (
                self.inside('-6', 'address', 'flush', 'dev', six, 'scope', 'global'),
                [f'{SIX} could not be reached: '],
            ),
            (self.inside('link', 'delete', four), ['its interface was gone']),
            (
                self.inside('link', 'set', four, 'down', 'name', 'other'),
                ['was removed', 'its interface was gone'],
            ),
            (
                self.inside('route', 'flush', 'table', 'all', 'type', 'unicast'),
                [f'{FOUR} could', f'{SIX} could'],
            ),
            (self.outside('link', 'set', six, 'nomaster'), ['was not on the bridge']),
            (self.outside('link', 'set', bridge, 'down'), ['was not on the bridge']),
            (self.outside('link', 'set', four, 'down'), ['interface was down']),
            (
                lambda: base.ip('netns', 'delete', self.name),
                ['namespace of the share server was gone', FOUR, SIX, anew],
            ),
            (self.breaker.kill_server, ['NFS server did not run']),
        ):
            broken()
            self.ensure_server(*words)
            self.ensure()
            self.works('one4', FOUR, self.made, 'write', 'g', 'mine')
            self.assertEqual('hello', self.works('one6', SIX, self.made, 'read', 'f'))
            self.ensure_server()
        self.refused('NOENT', 'two4', FOUR, self.made, 'list')
        self.refused('ROFS', 'one6', SIX, self.made, 'write', 'g', 'no')

    def test_deleted_fabric_is_set_up_again(self):
        subprocess.run(['ip', 'netns', 'delete', self.machine.fabric], check=True, timeout=waiting.LIMIT)
        self.ensure_server(FOUR, SIX)
        for name, subnet, host in (('one4', 'four', 101), ('two4', 'four', 102), ('one6', 'six', 101)):
            base.ip('netns', 'delete', self.machine.space(name))
            self.machine.spaces.remove(self.machine.space(name))
            self.machine.client(name, subnet, host)
        self.assertEqual('hello', self.works('one6', SIX, self.made, 'read', 'f'))
        self.works('one4', FOUR, self.made, 'write', 'f', 'again')
