# SPDX-License-Identifier: Apache-2.0
"""Many exports on one NFS server: work is counted (programs, bytes, mounts), since times depend on the machine."""

import resource
from pathlib import Path

from manila_lite import values
from manila_lite.tests import nfs_writer
from manila_lite.tests.functional.linux import base, test_ensure_shares

_MANY = 40
#: Bytes that NFS-Ganesha may read for each export that it has when one more comes. A line of its table of mounts has 150.
_FEW = 10


def programs_ran():
    """Return a number that grows with each program that ended: the page faults of all of them."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


class ManyExports(base.ShareTest):
    """A share that "one" may use, and then many more."""

    def server(self):
        return self.driver.parts.protocol_servers.of('NFS').server

    def one_more(self):
        """Create a share with a rule; return it, and the bytes that NFS-Ganesha read for it."""
        process = self.server().process
        before = process.io_counters().read_chars
        share = self.share()
        self.assertEqual([None], self.grant(share, self.rule))
        return share, process.io_counters().read_chars - before

    def targets(self, shares):
        rule = values.AccessRule('r', 'ip', *self.rule)
        return [values.EnsureTarget(share, (rule,)) for share in shares]

    def test_53_5_one_more_export_costs_the_same_with_many_and_starts_no_program(self):
        self.one_more()
        programs = programs_ran()
        first, read = self.one_more()
        more = [self.one_more() for _ in range(_MANY)]
        self.assertEqual(programs, programs_ran(), 'a program was started for a share')
        self.assertLess(
            more[-1][1] - read, _MANY * _FEW, 'NFS-Ganesha reads more, the more exports there are'
        )
        for share in (first, more[-1][0]):
            self.works('one', share, 'write', 'f', 'hello')
            self.refused('NOENT', 'two', share, 'list')
        base.kill(self.server()._server)
        self.assertTrue(self.server().restart_if_dead())
        for share in (first, more[-1][0]):
            self.assertEqual('hello', self.works('one', share, 'read', 'f'))
            self.refused('NOENT', 'two', share, 'list')

    def test_53_5_healthy_shares_are_ensured_without_a_program(self):
        shares = [self.one_more()[0] for _ in range(_MANY)]
        programs, process = programs_ran(), self.server().process
        results = self.driver.ensure_shares(self.targets([self.made, *shares]))
        self.assertEqual(
            {((), None)}, {(result.repaired, result.error) for result in results.values()}, results
        )
        self.assertEqual((programs, process), (programs_ran(), self.server().process))

    def test_53_5_another_share_manager_touches_no_export(self):
        shares = [self.one_more()[0] for _ in range(_MANY)]
        writer = nfs_writer.Writer(self.session('one', shares[0]))
        writer.goes_on()
        before, process = test_ensure_shares.table(self.state / 'state'), self.server().process
        shown = self.server()._manager.shown()
        other = self.make()
        other.setup()
        writer.goes_on()
        self.assertEqual([], writer.end())
        server = other.parts.protocol_servers.of('NFS').server
        self.assertEqual((process, shown), (server.process, server._manager.shown()))
        self.assertEqual(before, test_ensure_shares.table(self.state / 'state'))
        self.assertLess(_MANY, len(shown))

    def test_53_5_mounts_come_and_go_without_a_program_however_busy(self):
        share, _ = self.one_more()
        place = self.driver.parts.protocol_servers.of('NFS').mount_point(share.id)
        self.works('one', share, 'write', 'f', 'hello')
        programs = programs_ran()
        with open(place / 'f'):
            base.mounts.unmount(place)
        self.assertFalse(base.mounts.is_mounted(place))
        self.assertEqual([], list(place.iterdir()))
        source = self.driver.parts.pool.share(share.id)
        for _ in range(2):
            base.mounts.bind(source, place)
        self.assertEqual(
            [str(place)], [one.target for one in base.mounts.mounted() if one.target == str(place)]
        )
        options = next(
            line.split(' ')[5]
            for line in Path('/proc/self/mountinfo').read_text().splitlines()
            if line.split(' ')[4] == str(place)
        )
        self.assertLessEqual({'rw', *base.mounts.SAFE.split(',')}, set(options.split(',')))
        self.assertRaises(
            base.mounts.CommandFailed, base.mounts.bind, source / 'nothing', place.parent / 'new'
        )
        (place.parent / 'new').rmdir()
        self.assertEqual(programs, programs_ran())
