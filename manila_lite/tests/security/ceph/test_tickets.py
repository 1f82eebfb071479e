# SPDX-License-Identifier: Apache-2.0
"""Clients that lost their access, and come back with tickets that they got before.

Such a client speaks with the monitors while it has its access, and mounts nothing. So no session of it can be ended when the
access is taken away, and no address is blocked.
"""

import contextlib
import errno
import os
import time

from manila_lite import values
from manila_lite.drivers.cephfs.cluster import bindings
from manila_lite.drivers.cephfs.cluster.deadline import Hangs, call
from manila_lite.drivers.cephfs.volumes import evictions, subvolumes
from manila_lite.drivers.cephfs.volumes.subvolumes import TO_EVICT
from manila_lite.tests import waiting
from manila_lite.tests.functional.ceph import test_recovery, worlds

#: Seconds after which a client that waits for the cluster counts as refused.
_PATIENCE = 5.0


class Client:
    """A client that has tickets, and has mounted nothing yet."""

    def __init__(self, cluster, ident, key):
        self._cephfs = bindings.load('cephfs')
        self._mount = self._cephfs.LibCephFS(conffile=str(cluster.client_conf(ident, key)), auth_id=ident)
        self._mount.init()
        # It may not do this, and gets tickets to ask for it.
        self._mount.mds_command('0', '{"prefix": "get_command_descriptions"}', b'')

    def mount(self, path):
        """Mount the directory; return the error number with which that is refused, or None."""
        return self._try(lambda: self._mount.mount(mount_root=path.encode(), filesystem_name=b'a'))

    def write(self, name):
        """Make a file; return the error number with which that is refused, or None."""
        return self._try(lambda: self._write(name.encode()))

    def read(self, name):
        """Look at a file; return the error number with which that is refused, or None."""
        return self._try(lambda: self._mount.stat(name.encode()))

    def _try(self, act):
        try:
            call(act, _PATIENCE)
        except self._cephfs.Error as refused:
            return refused.errno or errno.EIO
        except Hangs:
            return errno.ETIMEDOUT
        return None

    def _write(self, name):
        number = self._mount.open(name, os.O_CREAT | os.O_WRONLY, 0o644)
        try:
            self._mount.write(number, b'x', 0)
            self._mount.fsync(number, 0)
        finally:
            self._mount.close(number)

    def end(self):
        """Let go of the cluster, which may have shut it out."""
        with contextlib.suppress(self._cephfs.Error):
            self._mount.abort_conn()
        with contextlib.suppress(Hangs):
            call(self._mount.shutdown, _PATIENCE)


class Tickets(test_recovery.RecoveryTest):
    """A backend with native clients."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.one = cls.world(worlds.World)

    def setUp(self):
        super().setUp()
        self.its = self.one.share()
        self.addCleanup(lambda: self.one.common.delete_share(self.its))
        self.one.common.create_share(self.its)
        self.path = worlds.ask('getpath', self.its.id)
        self.open(alice='rw')

    def open(self, **levels):
        """Open the share to exactly these clients."""
        self.one.common.update_access(self.its, self.one.rules(self.its, **levels))

    def client(self, name='alice'):
        """Return a client that has tickets."""
        ident = self.one.client(name, self.its)
        client = Client(self.ceph, ident, worlds.entities()[ident]['key'])
        self.addCleanup(client.end)
        return client

    def sessions(self, name='alice'):
        return self.one.sessions(self.its, name)

    def restart(self, **levels):
        """Restart the service, which ensures its shares then."""
        self.one.restart()
        self.one.common.ensure_share(values.EnsureTarget(self.its, tuple(self.one.rules(self.its, **levels))))

    def noted(self):
        """Return what is noted of ids that lost their access."""
        return evictions._known(worlds.ask('metadata ls', self.its.id) or {})

    def let_tickets_end(self):
        """Have the note say that all tickets have ended."""
        text = subvolumes.text_of(dict.fromkeys(self.noted(), time.time() - 1))
        worlds.ask('metadata set', self.its.id, key_name=TO_EVICT, value=text)

    def test_client_without_a_rule_that_comes_with_its_tickets_is_ended_also_after_a_restart(self):
        first, second = self.client(), self.client()
        self.open()
        for client in (first, second):
            self.assertIsNone(client.mount(self.path), 'Ceph takes the tickets')
            self.assertIsNone(client.write('f'))
            self.one.common.report()
            self.assertEqual([], self.sessions())
            self.assertIsNotNone(client.write('g'))
            self.assertIsNotNone(client.read('f'))
            self.restart()

    def test_client_whose_rule_was_lowered_is_ended_once_when_its_tickets_have_ended(self):
        writer = self.client()
        self.open(alice='ro')
        self.assertIsNone(writer.mount(self.path), 'Ceph takes the tickets')
        self.assertIsNone(writer.write('f'))
        self.one.common.report()
        self.assertEqual(1, len(self.sessions()), 'it may read')
        self.let_tickets_end()
        self.restart(alice='ro')
        self.one.common.report()
        self.assertEqual([], self.sessions())
        self.assertIsNotNone(writer.write('g'))
        self.assertEqual({}, self.noted())
        reader = self.client()
        self.assertIsNone(reader.mount(self.path))
        self.one.common.report()
        self.assertIsNone(reader.read('f'))
        self.assertIsNotNone(reader.write('g'))

    def test_id_that_works_on_another_share_keeps_that_until_its_tickets_have_ended(self):
        other = self.one.share()
        self.addCleanup(lambda: self.one.common.delete_share(other))
        self.one.common.create_share(other)
        rule = values.AccessRule('alice', 'cephx', self.one.client('alice', self.its), 'rw')
        self.one.common.update_access(other, [rule])
        back = self.client()
        self.open()
        client = self.client()
        self.assertIsNone(client.mount(worlds.ask('getpath', other.id)))
        self.assertIsNone(back.mount(self.path), 'Ceph takes the tickets')
        self.one.common.report()
        self.assertIsNotNone(back.write('f'))
        self.assertIsNone(client.write('f'))
        self.let_tickets_end()
        self.one.common.report()
        self.assertEqual([], self.sessions())

    def test_tickets_live_as_long_as_the_cluster_says(self):
        self.addCleanup(self.ceph.ask, 'config', 'rm', 'mon', 'auth_service_ticket_ttl')
        self.ceph.ask('config', 'set', 'mon', 'auth_service_ticket_ttl', '7200')
        self.open()
        [until] = self.noted().values()
        self.assertAlmostEqual(3 * 7200, until - time.time(), delta=60)
        self.ceph.ask('config', 'rm', 'mon', 'auth_service_ticket_ttl')
        waiting.until(
            lambda: float(self.ceph.ask('config', 'get', 'mon', 'auth_service_ticket_ttl')) == 3600,
            'it is reset',
        )
