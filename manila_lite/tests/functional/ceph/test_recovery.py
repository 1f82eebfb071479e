# SPDX-License-Identifier: Apache-2.0
"""Recovery from a crash: each call of the driver that changes something dies at each of its commands, or the manager of the
cluster restarts there. The next process makes the call again, and all is as if nothing had happened.

To be quick, a call dies behind each of its changes: that is the same as before the next. With ``MANILA_LITE_TEST_MATRIX=all``
it dies before each, too, and the manager restarts at each change.
"""

import dataclasses
import itertools
import os
import threading
import traceback
import unittest
from concurrent import futures
from pathlib import Path

import fixtures
import testtools
from oslo_utils import uuidutils

from manila_lite.tests import waiting
from manila_lite.tests.compliance.test_cephfs import admin, files
from manila_lite.tests.functional.ceph import driver_calls, nfs_base, worlds
from manila_lite.tests.functional.ceph.doors import Died, Walk
from manila_lite.tests.services import ceph
from manila_lite.tests.services.daemon import Missing

_ALL = os.environ.get('MANILA_LITE_TEST_MATRIX') == 'all'
_DEATHS = ('before', 'after') if _ALL else ('after',)
#: How many backends of each protocol work at once.
_LANES = 2
_PAGE = Path(__file__).parents[4] / 'doc/source/contributor/crash-matrix.rst'
#: Changes that have a shorter name in the tables.
_SHORT = {
    'fs subvolume metadata set': 'mark',
    'fs subvolume metadata rm': 'unmark',
    'client evict': 'evict',
    'fs subvolume snapshot metadata set': 'mark snapshot',
    'put exports': 'write exports',
}
#: The largest number of changes of a call.
_MOST = 8
#: Seconds until a call counts as stuck.
_STUCK = 120


class RecoveryTest(testtools.TestCase):
    """Backends on the shared cluster."""

    TOGETHER = ceph.TOGETHER

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := nfs_base.missing():
            raise unittest.SkipTest(f'an NFS gateway needs {lacks}')
        try:
            cls.ceph = ceph.shared()
        except Missing as lacking:
            raise unittest.SkipTest(str(lacking)) from None
        cls.ceph.add_shared_pool(worlds.SHARED)
        cls.addClassCleanup(cls.ceph.remove_shared_pool, worlds.SHARED)
        home = fixtures.TempDir()
        home.setUp()
        cls.addClassCleanup(home.cleanUp)
        cls.home = Path(home.path)

    @classmethod
    def world(cls, kind):
        """Return a new backend."""
        world = kind(cls.home / uuidutils.generate_uuid(dashed=False)[:8])
        cls.addClassCleanup(world.close)
        return world


@dataclasses.dataclass(frozen=True)
class Death:
    """A death of the process of a call: ``when``, 'before' or 'after', at the change ``place``. Then the call is made again, or
    the share is deleted instead.
    """

    kind: type[driver_calls.Call]
    place: int
    when: str
    then: str = 'again'

    def suffered(self, world):
        """Return the call after the death of the process, the new process being that of the world, and the change."""
        call = self.kind(world)
        call.arrange()
        walk = Walk(self.place, **{self.when: Walk.die})
        try:
            with walk.begun():
                call.make(world.common)
        except Died:
            world.restart()
            return call, walk.changes[-1]
        raise AssertionError(f'it has no change {self.place}, only {walk.changes}')

    def problems(self, world):
        """Return what is wrong afterwards."""
        where = f'{world.PROTO} {self.kind.NAME}, dead {self.when} {self.place}, {self.then}'
        try:
            call, change = self.suffered(world)
            wrong = wrong_after(call, world.common) if self.then == 'again' else []
            return [f'{where} ({change}): {one}' for one in (*wrong, *left_by(call, world.common))]
        except Exception:
            return [f'{where}: {traceback.format_exc()}']


def wrong_after(call, driver):
    """Make the call; return what is wrong then."""
    return wrong_in(call, call.make(driver))


def wrong_in(call, answer):
    """Return what is wrong after the call."""
    held, expected = call.held(), call.expected()
    wrong = [] if held == expected else [f'held is {held}, and not {expected}']
    return [*wrong, *filter(None, [call.check(answer)])]


def left_by(call, driver):
    """Delete the share of the call; return what is left of it."""
    call.remove(driver)
    return [f'left is {one}' for one in call.world.traces(call.share)]


def each(work, things):
    """Do the work with each thing, at once; return all results together. An exception is a result, too."""

    def safely(thing):
        try:
            return work(thing)
        except Exception:
            return [f'{thing}: {traceback.format_exc()}']

    with futures.ThreadPoolExecutor(len(things)) as executor:
        return [one for results in executor.map(safely, things) for one in results]


class Deaths(RecoveryTest):
    """The process of a call dies."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lanes = [
            (cls.world(kind), calls[number::_LANES])
            for number in range(_LANES)
            for kind, calls in ((worlds.World, driver_calls.NATIVE), (worlds.NfsWorld, driver_calls.NFS))
        ]
        #: The changes of each call.
        cls.changes = {}

    def test_call_that_died_at_any_change_succeeds_when_it_is_repeated(self):
        self.assertEqual([], each(self._lane, self.lanes))
        self.assertLessEqual(max(map(len, self.changes.values())), _MOST)
        table = '\n'.join(_table(self.changes))
        if _ALL:
            print(table)
        self.assertTrue(
            table in _PAGE.read_text(), f'the page {_PAGE.name} has other tables than these:\n{table}'
        )

    def _lane(self, lane):
        world, calls = lane
        return [problem for kind in calls for problem in self._of_call(world, kind)]

    def _of_call(self, world, kind):
        """Let a call die at each of its changes; return what was wrong."""
        whole, walk = kind(world), Walk()
        whole.arrange()
        with walk.begun():
            problems = wrong_after(whole, world.common)
        problems += left_by(whole, world.common)
        self.changes[world.PROTO, kind] = walk.changes
        for place in range(1, len(walk.changes) + 1):
            for when in _DEATHS:
                problems += Death(kind, place, when).problems(world)
            if kind in driver_calls.MAKERS:
                problems += Death(kind, place, 'after', 'deleted').problems(world)
        return problems


def _table(changes):
    """Yield the lines of the tables of calls, one for each protocol."""
    for proto, what in (('CEPHFS', 'call for a native share'), ('NFS', 'call for an NFS share')):
        rows = [
            (kind.NAME, str(len(done)), ', '.join(map(_short, done)))
            for (its, kind), done in changes.items()
            if its == proto
        ]
        rows = [(what, 'changes', 'in order'), *sorted(rows, key=lambda row: row[0])]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        bar = '  '.join('=' * width for width in widths)
        lines = [
            '  '.join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        yield from (bar, lines[0], bar, *lines[1:], bar, '')


def _short(change):
    """Return a change as in the tables."""
    return _SHORT.get(change, change.removeprefix('fs subvolume '))


class Gate:
    """Where a number of calls come to, and wait until it is open."""

    def __init__(self, number):
        self._missing, self._lock = number, threading.Lock()
        self.full, self.open = threading.Event(), threading.Event()

    def come(self):
        """Come, and do not wait."""
        with self._lock:
            self._missing -= 1
            if not self._missing:
                self.full.set()

    def wait(self):
        """Come, and wait."""
        self.come()
        self.open.wait(_STUCK)


class Restarts(RecoveryTest):
    """The manager of the cluster is killed and started again, while calls of all kinds are at a change."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.worlds = [
            (cls.world(worlds.World), driver_calls.NATIVE),
            (cls.world(worlds.NfsWorld), driver_calls.NFS),
        ]

    def test_calls_go_on_when_the_manager_has_restarted(self):
        self.assertEqual([], self._round(lambda call: call.RESTART[call.world.PROTO]))
        for place in range(1, _MOST + 1) if _ALL else ():
            self.assertEqual([], self._round(lambda call, place=place: place), place)

    def _round(self, place_of):
        """Have each call wait at the change until the manager is away; return what was wrong."""
        calls = [kind(world) for world, kinds in self.worlds for kind in kinds]
        for call in calls:
            call.arrange()
        gate = Gate(len(calls))
        with futures.ThreadPoolExecutor(1) as hand:
            results = hand.submit(each, lambda call: self._through(gate, call, place_of(call)), calls)
            # This thread does it: a daemon ends with the thread that started it.
            gate.full.wait(_STUCK)
            self.ceph.kill('mgr.x')
            gate.open.set()
            self.ceph.start('mgr.x')
            self.ceph.wait_usable()
            return results.result()

    @staticmethod
    def _through(gate, call, place):
        walk, driver = Walk(place, before=lambda _: gate.wait()), call.world.common
        try:
            with walk.begun():
                answer = call.make(driver)
        finally:
            if len(walk.changes) < place:
                gate.come()
        wrong = [*wrong_in(call, answer), *left_by(call, driver)]
        return [f'{call.world.PROTO} {call.NAME}, manager restarted at {place}: {one}' for one in wrong]


class Dawdling(Walk):
    """The way of a call that has not found its share, which is being copied, and looks through all after the copy has ended."""

    def __init__(self, name):
        super().__init__()
        self._name = name

    def go(self, what, act):
        """Do it. Before the list of all subvolumes, wait for the copy."""
        if what == 'fs subvolume ls':
            waiting.until(self._has_ended, 'the copy has ended', pause=0.2)
        return super().go(what, act)

    def _has_ended(self):
        return (
            admin().manager('fs clone status', vol_name='a', clone_name=self._name)['status']['state']
            == 'complete'
        )


class HalfDone(RecoveryTest):
    """The manager of the cluster died within a command, and the process of the driver, too. What it leaves is put there here:
    nobody can have it die at a certain moment.
    """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.native, cls.nfs = cls.world(worlds.World), cls.world(worlds.NfsWorld)

    def test_share_is_made_although_the_manager_died_before_it_had_made_the_subvolume(self):
        for kind, then in itertools.product(driver_calls.MAKERS, ('again', 'deleted')):
            call = kind(self.native)
            call.arrange()
            _, mount = files()
            mount.mkdirs(f'{worlds.FOLDER}/{call.share.id}/{uuidutils.generate_uuid()}'.encode(), 0o755)
            self.native.restart()
            self.assertEqual([], wrong_after(call, self.native.common) if then == 'again' else [])
            self.assertEqual([], left_by(call, self.native.common))

    def test_copy_that_ends_while_its_share_is_looked_for_is_deleted(self):
        self.addCleanup(self.ceph.ask, 'config', 'rm', 'mgr', 'mgr/volumes/snapshot_clone_delay')
        self.ceph.ask('config', 'set', 'mgr', 'mgr/volumes/snapshot_clone_delay', '2')
        call, change = Death(driver_calls.Copy, 1, 'after').suffered(self.native)
        self.assertEqual('fs subvolume snapshot clone', change)
        with Dawdling(call.share.id).begun():
            self.assertEqual([], left_by(call, self.native.common))

    def test_client_is_shut_out_although_the_manager_died_before_it_had_shut_it_out(self):
        for then in ('again', 'deleted'):
            call, _ = Death(driver_calls.Deny, 2, 'before').suffered(self.native)
            self.unsettled(call.share, f'alice-{call.share.id}', 'rw')
            self.assertEqual([], wrong_after(call, self.native.common) if then == 'again' else [])
            self.assertEqual([], left_by(call, self.native.common))

    def test_client_is_shut_out_that_the_manager_let_in_as_it_died(self):
        """Also the first one of a share, of which the subvolume has no record then."""
        for then in ('denied', 'again', 'deleted'):
            call, _ = Death(driver_calls.Grant, 2, 'before').suffered(self.native)
            self.let_in(call.share, f'alice-{call.share.id}')
            if then == 'denied':
                call.open(self.native.common)
                self.assertEqual(call.holds(), call.held())
            self.assertEqual([], wrong_after(call, self.native.common) if then == 'again' else [])
            self.assertEqual([], left_by(call, self.native.common))

    def test_key_of_an_export_goes_with_the_share_although_the_manager_died_as_it_made_it(self):
        call, change = Death(driver_calls.Create, 3, 'before').suffered(self.nfs)
        self.assertEqual('fs subvolume authorize', change)
        self.let_in(call.share, f'nfs-{call.share.id}', 'manila_lite.nfs')
        self.assertEqual([], left_by(call, self.nfs.common))

    def unsettled(self, share, ident, level):
        """Have the records say what those of a manager say that is at work on the access of an id."""
        of_id, of_share = worlds.Record(f'${ident}.meta'), worlds.Record(f'_:{share.id}.meta')
        of_id.change(
            lambda known: (
                known
                | {'dirty': True, 'subvolumes': {f'None/{share.id}': {'access_level': level, 'dirty': True}}}
            )
        )
        of_share.change(
            lambda known: known | {'auths': known['auths'] | {ident: {'access_level': level, 'dirty': True}}}
        )

    def let_in(self, share, ident, tenant='p'):
        """Have an id let in as by a manager that died before it had a record of that in the subvolume."""
        path = worlds.ask('getpath', share.id)
        self.ceph.ask(
            'auth',
            'get-or-create',
            f'client.{ident}',
            'mds',
            f'allow rw path={path}',
            'osd',
            f'allow rw pool={share.pool} namespace=fsvolumens_{share.id}',
            'mon',
            'allow r',
        )
        worlds.Record(f'${ident}.meta').change(
            lambda _: {
                'dirty': True,
                'tenant_id': tenant,
                'compat_version': 6,
                'version': 6,
                'subvolumes': {f'None/{share.id}': {'access_level': 'rw', 'dirty': True}},
            }
        )
