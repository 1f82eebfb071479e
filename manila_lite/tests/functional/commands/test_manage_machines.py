# SPDX-License-Identifier: Apache-2.0
"""``manila-manage host machines`` and ``host drain`` of machines, on rows. For real machines see linux/test_switch.py."""

import datetime
import socket
import threading
import time

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import backend_leases, backend_machines, services
from manila_lite.manager.runtime.backend_lease import BackendLease
from manila_lite.tests import waiting
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.engine import test_leases

_FAST, _BINARY = 'stor@fast', 'manila-share'


class Machines(manage.ManageTest):
    """The backends ``stor@fast``, which ``node1`` serves and for which ``node2`` waits, and ``stor@slow``, without failover."""

    def setUp(self):
        super().setUp()
        with self.service.services.db.writer() as conn:
            for host in (_FAST, 'stor@slow'):
                services.heartbeat(conn, host, _BINARY, 'nova')
            conn.execute(models.backend_machines.delete())  # the service is that of all these tests
            conn.execute(
                models.services.update().where(models.services.c.host == _FAST).values(lease_owner=None)
            )
            backend_leases.take(conn, _FAST, _BINARY, 'node1/w/1/1', 300)
            backend_machines.report(conn, _FAST, 'node1', 'node1/w/1/1', 300, backend_machines.SERVES)
            backend_machines.report(conn, _FAST, 'node2', 'node2/w/1/1', 300, backend_machines.WAITS)

    def shown(self, *words):
        """Return (machine, stage, status) of each machine that the command lists."""
        return [
            (one['machine'], one['stage'], one['status']) for one in self.listed('host', 'machines', *words)
        ]

    def refused(self, *words):
        """Return the words with which a drain is refused; check that it changes nothing."""
        before = self.shown()
        out, said = self.manage('host', 'drain', *words, '--yes', status=1)
        self.assertEqual(('', before), (out, self.shown()))
        return said

    def report(self, machine, seconds=300, **more):
        with self.service.services.db.writer() as conn:
            backend_machines.report(
                conn, _FAST, machine, f'{machine}/w/1/1', seconds, backend_machines.WAITS, **more
            )

    def test_listing(self):
        both = [('node1', 'serves', 'enabled'), ('node2', 'waits', 'enabled')]
        for words in ((), ('stor',), (_FAST,)):
            self.assertEqual(both, self.shown(*words))
        self.assertEqual(both[1:], self.shown('node2'))
        self.assertEqual([], self.shown('stor@slow'))
        self.report('node2', seconds=-1, problem='x' * 300)
        out, _ = self.manage('host', 'machines')
        self.assertEqual(
            ['backend', 'machine', 'stage', 'status', 'seen', 'problem'], out.splitlines()[0].split()
        )
        self.assertRegex(out, rf'{_FAST} +node2 +gone +enabled +\d+ s ago +x{{255}}\n')

    def test_names(self):
        for name in ('stor', _FAST):
            said = rf'All machines of {_FAST} share the name {name}\. .*node1, node2 .*evacuate start'
            self.assertRegex(self.refused(name), said)
        self.assertIn('Drain stor@slow by the names of these backends.', self.refused('stor'))
        for name in ('node3', 'node1@slow'):
            self.assertIn(f'There is no backend {name}', self.refused(name))
        self.assertIn(
            'There is no machine stor@slow', self.manage('host', 'drain', 'stor@slow', '--undo', status=1)[1]
        )
        out, _ = self.manage('host', 'drain', 'stor@slow', '--dry-run')
        self.assertIn('There is nothing to move.', out)

    def test_machine_with_the_name_that_all_share_is_the_machine(self):
        with self.service.services.db.writer() as conn:
            backend_machines.report(conn, _FAST, 'stor', 'stor/w/1/1', 300, backend_machines.WAITS)
        self.assertIn('Drain stor@slow', self.refused('stor'))
        self.manage('host', 'drain', _FAST, '--yes')
        self.assertEqual(('stor', 'waits', 'drained'), self.shown()[2])

    def test_plan_and_refusals(self):
        [move] = self.listed('host', 'drain', 'node1', '--dry-run')
        self.assertEqual((_FAST, 'node1', 'node2'), (move['id'], move['from'], move['to']))
        self.report('node2', problem='no device')
        self.assertIn('node2 has a problem: no device', self.refused('node1'))
        self.report('node2', seconds=-1)
        self.assertIn('node2 was last seen at', self.refused('node1@fast'))
        self.assertEqual([('node1', 'serves', 'enabled'), ('node2', 'gone', 'enabled')], self.shown())

    def test_machine_that_is_the_host_of_backends_without_failover_too(self):
        with self.service.services.db.writer() as conn:
            backend_leases.release(conn, _FAST, _BINARY, 'node1/w/1/1')
            backend_leases.take(conn, _FAST, _BINARY, 'test/w/1/1', 300)
            backend_machines.report(conn, _FAST, 'test', 'test/w/1/1', 300, backend_machines.SERVES)
        share = self.admin.share()
        plan = self.listed('host', 'drain', 'test', '--dry-run', status=1)
        self.assertEqual(
            [('backend', _FAST, 'node1 or node2')],
            [(one['resource_type'], one['id'], one['to']) for one in plan],
        )
        self.assertIn(f'{share["id"]} stays', self.manage('host', 'drain', 'test', '--dry-run', status=1)[0])

    def test_machine_that_waits_is_drained_and_enabled_again(self):
        self.assertIn(
            'node2 serves no backend with failover.', self.manage('host', 'drain', 'node2', '--yes')[0]
        )
        self.assertEqual(('node2', 'waits', 'drained'), self.shown()[1])
        self.assertIn('node2 is drained itself', self.refused('node1'))
        self.assertIn(f'node2 may serve again: {_FAST}', self.manage('host', 'drain', 'node2', '--undo')[0])
        self.assertEqual(('node2', 'waits', 'enabled'), self.shown()[1])

    def test_nobody_answers(self):
        out, said = self.manage('host', 'drain', 'node1', status=2)
        self.assertIn('node1  node2  pause', out)
        self.assertIn('nobody can answer here', said)
        self.assertEqual(('node1', 'serves', 'enabled'), self.shown()[0])

    def test_cleanup_forgets_machines_that_are_gone(self):
        table = models.backend_machines
        with self.service.services.db.writer() as conn:
            conn.execute(table.update().values(seen_at=timeutils.utcnow() - datetime.timedelta(hours=2)))
        removed = self.listed('service', 'cleanup')
        self.assertEqual(
            [('machine node2', _FAST, 'removed')],
            [(one['binary'], one['host'], one['result']) for one in removed],
        )
        self.assertEqual(['node1'], [one for one, _, _ in self.shown()])


class Backend:
    """A backend that serves while it is told to."""

    def __init__(self):
        self.serves = threading.Event()
        self.is_full = False

    def take_up(self, until):
        if self.is_full:
            raise OSError('No space left')
        self.serves.set()

    def keep(self, until):
        return self.serves.is_set()

    def let_go(self):
        self.serves.clear()

    def obstacle(self):
        return ''


class Tenures(test_leases.LeaseTestCase):
    """Two share managers, each on a machine of its own, follow the rows."""

    def setUp(self):
        super().setUp()
        self.backends, self.leases = {}, {}
        for name in ('one', 'two'):
            self.backends[name] = Backend()
            self.patch(socket, 'gethostname', lambda name=name: name)
            self.leases[name] = BackendLease(
                self.services, test_leases.HOST, _BINARY, guarded=self.backends[name]
            )
            self.addCleanup(self.leases[name].stop)
            self.leases[name].start()

    def rows(self):
        """Return (stage, whether it is drained) of each machine."""
        with self.services.db.reader() as conn:
            return {row.machine: (row.stage, row.drained) for row in backend_machines.list_machines(conn)}

    def mark(self, machine, drained):
        with self.services.db.writer() as conn:
            backend_machines.set_drained(conn, test_leases.HOST, machine, drained)

    def pass_on(self, name):
        """Do as the share manager does when it is to pass the backend on."""
        lease = self.leases[name]
        waiting.until(lease.passes, 'the lease is to be passed on')
        self.assertFalse(lease.call_off())
        self.backends[name].let_go()
        lease.pass_on()

    def problem(self, machine):
        with self.services.db.reader() as conn:
            [row] = [
                row
                for row in backend_machines.list_machines(conn, test_leases.HOST)
                if row.machine == machine
            ]
        return row.problem

    def test_lease_is_not_passed_on_to_a_machine_whose_clock_is_wrong(self):
        self.leases['one'].ready()
        self.leases['two'].may_take = lambda: False
        waiting.until(lambda: self.problem('two'), 'it has a problem')
        self.mark('one', drained=True)
        waiting.until(lambda: self.rows()['one'][1], 'it is drained')
        time.sleep(1.5)  # sleeps: looks of both change nothing
        self.assertEqual(
            ('The clock of the host is wrong.', False), (self.problem('two'), self.leases['one'].passes())
        )
        self.leases['two'].may_take = lambda: True
        self.pass_on('one')
        waiting.until(self.leases['two'].held, 'the other one has the lease')

    def test_lease_goes_there_and_back_before_it_ends(self):
        self.assertEqual({'one': ('takes over', False), 'two': ('waits', False)}, self.rows())
        self.leases['one'].ready()
        self.assertEqual('serves', self.rows()['one'][0])
        end = self.leases['one'].wait()
        self.mark('one', drained=True)
        self.pass_on('one')
        self.assertTrue(end.is_set())
        waiting.until(self.leases['two'].held, 'the other one has the lease')
        self.assertEqual((False, False), (self.leases['one'].held(), self.backends['one'].serves.is_set()))
        self.mark('one', drained=False)
        self.mark('two', drained=True)
        self.pass_on('two')
        waiting.until(self.leases['one'].held, 'the first one has it again')

    def test_lease_goes_to_another_machine_if_the_backend_cannot_be_taken_up(self):
        """Have the disk of the machine be full: the backend is lost there, and not taken up again."""
        self.leases['one'].ready()
        self.backends['one'].is_full = True
        self.backends['one'].let_go()
        waiting.until(self.leases['two'].held, 'the other one has the lease')
        self.assertEqual((False, 'No space left'), (self.leases['one'].held(), self.problem('one')))
        self.leases['two'].stop()
        self.do(backend_leases.release, self.do(backend_leases.get_holder)[0])
        self.backends['one'].is_full = False
        waiting.until(self.leases['one'].held, 'the first one has it again')

    def test_backend_that_no_machine_can_take_up_is_tried_again_by_each(self):
        for backend in self.backends.values():
            backend.is_full = True
        self.backends['one'].let_go()
        waiting.until(lambda: self.problem('one') and self.problem('two'), 'both have tried')
        self.backends['one'].is_full = False
        waiting.until(self.leases['one'].held, 'the first one has it again')

    def test_one_goes_on_when_the_other_one_is_not_ready_any_more(self):
        self.mark('one', drained=True)
        lease = self.leases['one']
        waiting.until(lease.passes, 'the lease is to be passed on')
        self.leases['two'].stop()
        self.assertTrue(lease.call_off())
        self.assertEqual((True, False, False), (lease.held(), lease.passes(), lease.wait().is_set()))

    def test_drained_machine_takes_the_lease_once_no_other_one_waits(self):
        self.mark('one', drained=True)
        self.leases['two'].stop()
        self.backends['one'].let_go()
        self.do(backend_leases.release, self.do(backend_leases.get_holder)[0])
        self.backends['one'].serves.set()
        waiting.until(lambda: self.do(backend_leases.get_holder)[0], 'somebody has the lease')
        self.assertEqual('one', self.do(backend_leases.get_holder)[0].partition('/')[0])
