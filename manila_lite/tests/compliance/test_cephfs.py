# SPDX-License-Identifier: Apache-2.0
"""The cephfs driver keeps the contract: a real cluster, whose clients are asked for by its own list of keys."""

import contextlib
import dataclasses
import os
import re

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster import bindings
from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.cluster.cluster import Cluster, find_way
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.cluster.program import Program
from manila_lite.drivers.cephfs.driver import CephfsDriver
from manila_lite.tests import waiting
from manila_lite.tests.compliance import base, calls, edge_cases, manage_shares
from manila_lite.tests.functional.ceph import doors
from manila_lite.tests.services import ceph
from manila_lite.tests.services.daemon import Missing

_GIB = 1 << 30
_CAP = re.compile(r'allow (rw|r)\b[^,]*\bpath=([^, ]+)')
_LEVELS = {'rw': 'rw', 'r': 'ro'}


@ceph.TOGETHER.keep
def admin() -> Cluster:
    """Return the way of the administrator to the shared cluster."""
    conf = ceph.shared().admin_conf
    cluster = Cluster(lambda: 60.0, lambda: find_way(Identity(conf, 'ceph', 'admin')))
    ceph.TOGETHER.at_end(cluster.close)
    return cluster


@ceph.TOGETHER.keep
def files():
    """Return the whole file system, as an administrator mounts it."""
    module = bindings.load('cephfs')
    mount = module.LibCephFS(conffile=str(ceph.shared().admin_conf), auth_id='admin')
    mount.mount(filesystem_name=b'a')
    ceph.TOGETHER.at_end(mount.shutdown)
    return module, mount


class CephfsBinding(base.Binding):
    TOGETHER = ceph.TOGETHER
    DRIVER = 'cephfs'
    MOMENTS = (0.05,)
    GOOD = (('cephx', 'alice', 'rw'), ('cephx', 'bob', 'ro'))
    OTHER = (('cephx', 'carol', 'rw'), ('cephx', 'alice', 'ro'))
    BAD = (
        ('telepathy', 'joe', 'rw'),
        ('cephx', 'joe', 'admin'),
        ('cephx', 'manila', 'rw'),
        ('cephx', 'admin', 'ro'),
        ('cephx', '../../joe', 'rw'),
        ('cephx', '-joe', 'rw'),
        ('ip', '10.1.0.5', 'rw'),
    )

    def setUp(self):
        try:
            self.ceph = ceph.shared()
        except Missing as lacking:
            self.skipTest(str(lacking))
        super().setUp()

    def options(self):
        return {'cephfs_conf_path': str(self.ceph.conf), 'cephfs_command_timeout': '30'}

    def new_driver(self):
        driver = super().new_driver()
        driver.parts.shares.COPY_SECONDS = base.STUCK
        return driver

    def a_share(self, *args, **changes):
        return super().a_share(*args, **{'proto': 'CEPHFS'} | changes)

    def _path(self, share) -> str | None:
        found = self.driver.parts.subvolumes.find(share)
        return found and found.path

    def write(self, share, text):
        _, mount = files()
        number = mount.open(f'{self._path(share)}/data', os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        mount.write(number, text.encode(), 0)
        mount.fsync(number, 0)
        mount.close(number)
        mount.sync_fs()

    def read(self, share):
        path = self._path(share)
        if path is None:
            return ''
        module, mount = files()
        try:
            number = mount.open(f'{path}/data', os.O_RDONLY)
        except module.ObjectNotFound:
            return ''
        with contextlib.closing(_Open(mount, number)):
            return mount.read(number, 0, 1000).decode()

    def fill(self, share, gib):
        """Make a file with a hole, which counts like any other. The cluster hears of its size a little later."""
        _, mount = files()
        number = mount.open(f'{self._path(share)}/filler', os.O_CREAT | os.O_WRONLY, 0o644)
        mount.ftruncate(number, int(gib * _GIB))
        mount.close(number)
        mount.sync_fs()
        waiting.until(
            lambda: self.driver.parts.subvolumes.find(share).used >= gib * _GIB, 'the size is known'
        )

    def limit(self, share):
        _, mount = files()
        return int(mount.getxattr(self._path(share), 'ceph.quota.max_bytes')) / _GIB

    def in_force(self, share):
        """Return what the keys of all clients say about the directory."""
        path = self._path(share)
        return {
            ('cephx', entry['entity'].removeprefix('client.'), _LEVELS[level])
            for entry in admin().monitor('auth ls')['auth_dump']
            if entry['entity'].startswith('client.')
            for level, where in _CAP.findall(entry['caps'].get('mds', ''))
            if where == path
        }

    def lose_power(self):
        """Restart, with limits and keys lost: a cluster does not forget them, but an administrator may delete them."""
        driver = self.driver
        for name in driver.parts.subvolumes.names():
            with contextlib.suppress(Refused):
                for entry in driver.parts.subvolumes.ask('authorized_list', name):
                    driver.parts.subvolumes.ask('deauthorize', name, auth_id=next(iter(entry)))
                driver.parts.subvolumes.ask('resize', name, new_size='inf')
        self.restart()


class _Open:
    def __init__(self, mount, number):
        self._mount, self._number = mount, number

    def close(self):
        self._mount.close(self._number)


def _scenarios(suite):
    return [
        row
        for row in suite.scenarios
        if row[1]['case_class'].ABILITY is None or issubclass(CephfsDriver, row[1]['case_class'].ABILITY)
    ]


class CephfsEveryCallTest(calls.EveryCall, CephfsBinding):
    scenarios = _scenarios(calls.EveryCall)


class CephfsBesideAccessTest(calls.BesideAccess, CephfsBinding):
    scenarios = _scenarios(calls.BesideAccess)
    ROUNDS = 3


class CephfsEdgeCasesTest(edge_cases.EdgeCases, CephfsBinding):
    # The driver has neither ability.
    test_snapshot_that_is_not_there_cannot_be_reverted_to = test_snapshot_is_served_again_after_a_loss = None
    test_a_share_is_mounted_by_the_name_that_was_chosen = None  # CephFS chooses the path of a subvolume

    def test_id_of_the_former_project_of_a_share_stays_as_it_is_or_goes(self):
        share = self.made_share(rules=self.GOOD)
        theirs = dataclasses.replace(share, project_id='another')
        rules = self.rules(self.GOOD)
        self.assertEqual(
            {None}, {result.error for result in self.driver.update_access(theirs, rules).values()}
        )
        self.assertEqual(set(self.GOOD), self.in_force(share))
        (kind, to, _), other = self.GOOD
        changed = self.rules(((kind, to, 'ro'), other))
        results = self.driver.update_access(theirs, changed)
        self.assertEqual([True, False], [bool(results[rule.id].error) for rule in changed])
        self.assertEqual({other}, self.in_force(share))

    def test_snapshot_of_a_deleted_share_is_copied_and_deleted(self):
        """A snapshot whose deletion is deferred does not keep its share from being deleted."""
        share = self.made_share(rules=self.GOOD)
        snapshot = self.made_snapshot(share)
        self.driver.delete_share(share)
        copy = self.a_share()
        self.driver.create_share_from_snapshot(copy, snapshot)
        self.assertEqual('first', self.read(copy))
        for _ in range(2):
            self.driver.delete_snapshot(snapshot)
        self.assertNotIn(share.id, self.driver.parts.subvolumes.names())
        self.assertRaises(errors.Final, self.driver.create_share_from_snapshot, self.a_share(), snapshot)


class CephfsManageTest(manage_shares.EveryManageCall, CephfsBinding):
    pass


class CephfsManageEdgeCasesTest(manage_shares.ManageEdgeCases, CephfsBinding):
    pass


class ProgramOnce:
    """The program ``ceph`` for the first command of each kind that changes something, and for the first answer of each kind to
    one that changes nothing; the bindings for those that are like it. A process of the program takes a second of computing.

    Commands that do not begin with ``those`` go by the bindings.
    """

    def __init__(self, identity: Identity, those: str = ''):
        self._program, self._bindings = Program(identity), find_way(identity)
        self._those = those
        #: Kinds of commands that the program has done, with the number of the answer.
        self.done: set[tuple] = set()

    def manager(self, command, seconds, content=b''):
        return self._once('manager', command, seconds, content)

    def monitor(self, command, seconds):
        return self._once('monitor', command, seconds)

    def metadata_server(self, rank, command, seconds):
        return self._once('metadata_server', rank, command, seconds)

    def directory_size(self, filesystem, path, seconds):
        return self._program.directory_size(filesystem, path, seconds)

    def close(self):
        self._bindings.close()

    def _once(self, name, *words):
        by_bindings, by_program = getattr(self._bindings, name), getattr(self._program, name)
        command = next(word for word in words if isinstance(word, dict))
        kind = name, command['prefix'], *sorted(command)
        if not command['prefix'].startswith(self._those):
            return by_bindings(*words)
        if command['prefix'] in doors.READS:
            answer = by_bindings(*words)
            if (*kind, answer.number) in self.done:
                return answer
        elif (*kind, 0) in self.done:
            return by_bindings(*words)
        answer = by_program(*words)
        self.done.add((*kind, answer.number))
        return answer


class CephfsProgramTest(CephfsBinding):
    """The program ``ceph`` instead of the bindings: a life of a share with every kind of command."""

    COMMANDS = frozenset(
        {
            'config get',
            'df',
            'fs clone status',
            'fs dump',
            'fs ls',
            'mgr dump',
            'mon dump',
            'client ls',
            *(
                f'fs subvolume {verb}'
                for verb in (
                    'authorize',
                    'authorized_list',
                    'create',
                    'deauthorize',
                    'info',
                    'ls',
                    'metadata ls',
                    'metadata rm',
                    'metadata set',
                    'resize',
                    'rm',
                    'snapshot clone',
                    'snapshot create',
                    'snapshot metadata ls',
                    'snapshot metadata set',
                    'snapshot rm',
                )
            ),
        }
    )

    def new_driver(self):
        driver = super().new_driver()
        self.way = ProgramOnce(Identity(self.ceph.conf, 'ceph', 'manila'))
        driver.parts.cluster._make = lambda: self.way
        return driver

    def test_shares_live_and_end_without_bindings(self):
        share = self.made_share(rules=self.GOOD)
        self.assertEqual(set(self.GOOD), self.in_force(share))
        rules = self.rules((*self.OTHER, *self.BAD))
        results = self.driver.update_access(share, rules)
        self.assertEqual(len(self.BAD), sum(bool(result.error) for result in results.values()))
        self.assertEqual(set(self.OTHER), self.in_force(share))
        self.driver.extend_share(share, 2)
        self.assertEqual(2, self.limit(share))
        snapshot = self.made_snapshot(share)
        copy = self.a_share(2)
        self.driver.create_share_from_snapshot(copy, snapshot)
        self.assertEqual('first', self.read(copy))
        self.assertGreater(self.driver.report()[0].total_gb, 0)
        self.assertRaises(errors.Final, self.driver.extend_share, self.a_share(), 2)
        self.driver.delete_snapshot(snapshot)
        self.driver.delete_share(share)
        self.assertTrue(self.ensured(share).error)
        self.assertEqual(set(), self.COMMANDS - {prefix for _, prefix, *_ in self.way.done})
