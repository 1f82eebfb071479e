# SPDX-License-Identifier: Apache-2.0
"""Snapshots of several shares at one moment, while a client writes to them in turn."""

import concurrent.futures
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading

import psutil
from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.drivers.linux.protocols import quiesce, quiesce_guard
from manila_lite.tests import nfs_client, waiting
from manila_lite.tests.functional import base as functional
from manila_lite.tests.functional.linux import api_base, base, server_base, standstill, test_cifs

_FOUR = server_base.address('four', 5)


class Records(threading.Thread):
    """A client that writes numbered records to the shares in turn, each after the acknowledgement of the one before.

    ``puts``: for each share a function that creates a file and returns (success, output).
    """

    def __init__(self, puts):
        super().__init__(daemon=True)
        self._puts = puts
        self._ending = threading.Event()
        self.written, self.refusals = 0, []
        self.start()

    def run(self):
        while not self._ending.is_set() and not self.refusals:
            worked, said = self._puts[self.written % len(self._puts)](f'r{self.written}')
            if worked:
                self.written += 1
            else:
                self.refusals.append(said)

    def goes_on(self):
        """Wait until some more records are written."""
        wanted = self.written + 4
        functional.eventually(lambda: self.written >= wanted or self.refusals, 'a client writes no more')

    def end(self):
        self._ending.set()
        self.join(waiting.LIMIT)


class GroupTest(base.LinuxTest):
    """Base class of tests with two shares that one client writes to."""

    def setUp(self):
        super().setUp()
        self.patch(quiesce, '_SECONDS', waiting.LIMIT)

    def on_nfs(self):
        """Return a share that the client may write to."""
        share = self.share()
        self.grant(share, (self.fabric.v4('one'), 'rw'))
        return share

    def put_on(self, share):
        """Return a function that creates a file in the share, for ``Records``."""
        session = base.LinuxTest.session(self, 'one', share)
        return lambda name: session.call('put', name, 'x')

    def records(self, puts):
        records = Records(puts)
        self.addCleanup(records.end)
        return records

    def snapshots(self, shares=None):
        """Return the snapshots to take in a group snapshot; they are deleted when the test ends."""
        found = [
            values.Snapshot(uuidutils.generate_uuid(), share, share.size) for share in shares or self.shares
        ]
        for snapshot in found:
            self.addCleanup(self.driver.delete_snapshot, snapshot)
        return found

    def names(self, snapshot):
        return {path.name for path in self.driver.parts.pool.snapshot(snapshot.id).iterdir()}

    def assert_one_moment(self, records):
        """Check that no group snapshot has a record without all records before it."""
        counts = []
        for _ in range(6):
            records.goes_on()
            found = self.snapshots()
            locations = self.driver.create_group_snapshot(found)
            self.assertEqual({snapshot.id: f'/snapshots/{snapshot.id}' for snapshot in found}, locations)
            names = set.union(*map(self.names, found))
            self.assertEqual({f'r{number}' for number in range(len(names))}, names)
            counts.append(len(names))
        records.goes_on()
        self.assertEqual([], records.refusals)
        self.assertEqual(sorted(set(counts)), counts)  # each has more records than the one before


class GroupSnapshots(GroupTest):
    """Two NFS shares."""

    def setUp(self):
        super().setUp()
        self.shares = [self.on_nfs(), self.on_nfs()]

    def writer(self):
        return self.records([self.put_on(share) for share in self.shares])

    def server(self):
        (process,) = self.driver.parts.protocol_servers.of('NFS').servers()
        return process

    def assert_goes_on(self):
        functional.eventually(
            lambda: self.server().status() != psutil.STATUS_STOPPED, 'the server stands still'
        )

    def test_group_snapshots_are_consistent_across_the_pool(self):
        """Check the capability of the pool. For a driver on a plain directory see Directory in test_cifs.py."""
        self.assertEqual('pool', interface.consistency_of(self.driver))
        self.assertNotIn('sg_consistent_snapshot_support', self.driver.report()[0].capabilities)

    def test_group_snapshot_has_no_gap_in_the_written_records(self):
        self.assert_one_moment(self.writer())

    def test_separate_snapshots_have_gaps_in_the_written_records(self):
        """Check that separate snapshots do tear the records, so that the test above could fail."""
        records = self.writer()

        def torn():
            found = self.snapshots()
            self.driver.create_snapshot(found[0])
            records.goes_on()
            self.driver.create_snapshot(found[1])
            names = set.union(*map(self.names, found))
            return {f'r{number}' for number in range(len(names))} != names

        functional.eventually(torn, 'two snapshots one after another never differ')

    def test_incomplete_group_snapshot_is_taken_again_completely(self):
        found = self.snapshots()
        self.driver.create_snapshot(found[0])
        self.driver.parts.pool.draft_snapshot(found[1].id, self.shares[1].id)
        for share in self.shares:
            self.assertTrue(self.nfs('one', share, 'put', 'later', 'x')[0])
        self.driver.create_group_snapshot(found)
        self.assertEqual([{'later'}, {'later'}], [self.names(snapshot) for snapshot in found])
        self.assertFalse(self.driver.parts.pool._snapshot_draft(found[1].id).exists())

    def test_concurrent_group_snapshots_all_succeed(self):
        """Check that group snapshots of shares on one server, taken at once, do not resume the server too early."""
        groups = [self.snapshots([self.share(), self.share()]) for _ in range(8)]
        together = threading.Barrier(len(groups))

        def take(found):
            together.wait(waiting.LIMIT)
            return self.driver.create_group_snapshot(found)

        with concurrent.futures.ThreadPoolExecutor(len(groups)) as executor:
            for found, locations in zip(groups, executor.map(take, groups), strict=True):
                self.assertEqual({snapshot.id for snapshot in found}, set(locations))

    def test_quiesce_fails_if_another_process_resumes_the_server(self):
        server = self.server()

        def interfered():
            with quiesce.still([server]):
                server.send_signal(signal.SIGCONT)
                functional.eventually(lambda: not quiesce_guard.is_still(server.pid), 'it stands still')

        self.assertRaises(errors.Unavailable, interfered)
        self.assert_goes_on()
        self.assertTrue(self.nfs('one', self.shares[0], 'put', 'after', 'x')[0])

    def test_quiesce_fails_and_the_server_resumes_after_the_time_limit(self):
        self.patch(quiesce, '_SECONDS', 0.3)
        server = self.server()

        def slow():
            with quiesce.still([server]):
                functional.eventually(lambda: not quiesce_guard.is_still(server.pid), 'nobody lets it go on')

        self.assertRaises(errors.Final, slow)
        self.assert_goes_on()

    def test_server_resumes_when_the_share_manager_is_killed(self):
        """Kill the share manager while the server is stopped."""
        with self.asker() as asked:
            asked.kill()
        self.assert_goes_on()

    def test_next_quiesce_waits_for_the_guard_of_a_killed_process(self):
        """Check that the guard of a dead process resumes its own servers first, and no server that was stopped later."""
        place = self.driver.parts.pool.root
        with self.asker() as asked:
            (guard,) = psutil.Process(asked.pid).children()
            mine = os.open(place, os.O_RDONLY)
            self.addCleanup(os.close, mine)
            guard.suspend()
            try:
                asked.kill()
                asked.wait(waiting.LIMIT)
                self.assertRaises(BlockingIOError, fcntl.flock, mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
            finally:
                guard.resume()
            with quiesce.turn(place) as turn, quiesce.still([self.server()], turn):
                self.assertTrue(quiesce_guard.is_still(self.server().pid))
        self.assert_goes_on()

    @contextlib.contextmanager
    def asker(self):
        """Start a process that stops the server. Yield the process."""
        words = [
            sys.executable,
            '-m',
            standstill.__name__,
            str(self.server().pid),
            str(self.driver.parts.pool.root),
        ]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as asked:
            self.addCleanup(asked.kill)
            self.assertEqual(b'still\n', asked.stdout.readline())
            yield asked

    def test_quiesce_fails_and_the_server_resumes_when_the_guard_is_killed(self):
        server = self.server()

        def guards():
            return [
                process
                for process in psutil.Process().children()
                if process.status() != psutil.STATUS_ZOMBIE and quiesce_guard.__file__ in process.cmdline()
            ]

        def killed():
            with quiesce.still([server]):
                functional.eventually(guards, 'the kernel knows the words of the guard')
                (guard,) = guards()
                guard.kill()
                guard.wait(waiting.LIMIT)

        self.assertRaises(errors.Unavailable, killed)
        self.assert_goes_on()

    def test_child_processes_are_stopped_and_resumed_too(self):
        child = psutil.Popen(['sh', '-c', 'sleep 600 & wait'])
        self.addCleanup(self._end, child)
        functional.eventually(child.children, 'it has a child')
        family = [child, *child.children()]
        with quiesce.still([child]):
            self.assertEqual([True, True], [quiesce_guard.is_still(process.pid) for process in family])
        for process in family:
            functional.eventually(
                lambda process=process: not quiesce_guard.is_still(process.pid), 'it goes on'
            )

    @staticmethod
    def _end(process):
        for each in (*process.children(), process):
            each.kill()
        process.wait()


@test_cifs.needs_samba
class BothProtocols(test_cifs.Cifs, GroupTest):
    """One NFS share and one CIFS share."""

    @property
    def client(self):
        return self.fabric.name('one')

    def test_group_snapshot_has_no_gap_in_the_written_records(self):
        on_nfs, on_cifs = self.shares = [self.on_nfs(), self.cifs()]
        self.allow(on_cifs, ('alice', 'rw'))
        put, smb = self.put_on(on_nfs), self.session(on_cifs, 'alice')
        self.assert_one_moment(self.records([put, lambda name: smb.call(f'put local {name}', 'x')]))


class ThroughTheApi(api_base.ApiTest):
    """A group of two shares on a share server of their own."""

    def setUp(self):
        super().setUp()
        kind = self.lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'grouped',
                    'extra_specs': {
                        'driver_handles_share_servers': 'True',
                        'snapshot_support': 'True',
                        'create_share_from_snapshot_support': 'True',
                    },
                }
            },
        )['share_type']['id']
        made = self.lite.ok(
            'POST',
            '/share-group-types',
            {
                'share_group_type': {
                    'name': 'together',
                    'share_types': [kind],
                    'group_specs': {'consistent_snapshot_support': 'pool'},
                }
            },
        )
        self.kind, self.of_type = kind, {'share_group_type_id': made['share_group_type']['id']}

    def group(self, **values):
        """Create a share group; return its id."""
        made = self.lite.ok('POST', '/share-groups', {'share_group': values})['share_group']['id']
        found = self.lite.wait(f'/share-groups/{made}', 'share_group', ('available', 'error'))
        self.assertEqual(
            ('available', 'pool'), (found['status'], found['consistent_snapshot_support']), self.lite.tail()
        )
        return made

    def directory(self, share):
        """Return the path to mount; the client gets an access rule."""
        self.grant(share, server_base.address('four', 101))
        return self.locations(share)[0][0].partition(':')[2]

    def puts(self, share):
        """Return a function that creates a file in the share, for ``Records``."""
        session = nfs_client.Session(_FOUR, self.directory(share), netns=self.machine.space('friend-four'))
        self.addCleanup(session.close)
        return lambda name: session.call('put', name, 'x')

    def test_group_made_from_a_group_snapshot_has_no_gap_in_the_records(self):
        network = self.network()
        group = self.group(share_network_id=network, share_types=[self.kind], **self.of_type)
        (one, server), (two, same) = (
            self.share(network, share_group_id=group, share_type='grouped') for _ in range(2)
        )
        self.assertEqual(server, same)
        self.clients('four')
        records = Records([self.puts(share) for share in (one, two)])
        self.addCleanup(records.end)
        records.goes_on()
        taken = self.lite.ok(
            'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': group}}
        )['share_group_snapshot']['id']
        self.assertEqual(
            'available',
            self.lite.wait(f'/share-group-snapshots/{taken}', 'share_group_snapshot', ('available', 'error'))[
                'status'
            ],
            self.lite.tail(),
        )
        records.goes_on()
        records.end()
        copy = self.group(source_share_group_snapshot_id=taken, **self.of_type)
        copies = self.lite.ok('GET', f'/shares?share_group_id={copy}')
        names = [
            self.works('friend-four', _FOUR, self.directory(share['id']), 'list').split()
            for share in copies['shares']
        ]
        self.assertEqual(([], 2), (records.refusals, len(names)))
        found = {*names[0], *names[1]}
        self.assertEqual({f'r{number}' for number in range(len(found))}, found)
        self.assertLess(4, len(found))
        self.assertLess(len(found), records.written)
