# SPDX-License-Identifier: Apache-2.0
import errno

import testtools

from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.nfs.fsal import Key
from manila_lite.drivers.cephfs.protocols import export_keys as keys
from manila_lite.drivers.cephfs.volumes.evictions import planned
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume
from manila_lite.host.commands import CommandFailed


class Cluster:
    """The ids of subvolumes, evicted ids, those that are to be evicted at the time, and those that are kept out afterwards."""

    def __init__(self):
        self.ids, self.evicted, self.made, self.planned, self.followed = {}, [], 0, None, set()

    def ask(self, verb, name, **arguments):
        there = self.ids.setdefault(name, {})
        if verb == 'authorized_list':
            return [{auth_id: 'rw'} for auth_id in there]
        if verb == 'authorize':
            self.made += 1
            there[arguments['auth_id']] = arguments['tenant_id']
            return f'secret {self.made}'
        if arguments['auth_id'] not in there:
            raise Refused(verb, errno.ENOENT, 'no such id')
        del there[arguments['auth_id']]
        return None

    def plan(self, name, auth_ids):
        self.planned = sorted(auth_ids)

    def evict(self, auth_id):
        self.evicted.append((auth_id, self.planned))

    def done(self, name, shut_out, kept=()):
        self.followed |= shut_out
        self.planned = None


_VOLUME = Subvolume('volume', '/volumes/_nogroup/volume/1', None, 0, '', {})


class KeysTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster()
        self.keys = keys.ExportKeys(self.cluster, self.cluster, self.cluster)

    def is_granted(self):
        return self.keys.is_granted('x', self.keys.ids(_VOLUME))

    def test_each_share_has_an_id_of_a_tenant_that_is_no_project(self):
        self.keys.grant('x', _VOLUME)
        self.assertEqual(Key('nfs-x', 'secret 1'), self.keys.of('x'))
        self.assertEqual({'volume': {'nfs-x': 'manila_lite.nfs'}}, self.cluster.ids)

    def test_known_key_is_kept_while_the_cluster_has_its_id(self):
        self.keys.remember({'x': Key('nfs-x', 'of an earlier run')})
        self.assertFalse(self.is_granted())
        self.keys.grant('x', _VOLUME)
        self.keys.grant('x', _VOLUME)
        self.assertEqual(('secret 1', 1), (self.keys.of('x').secret, self.cluster.made))
        self.assertTrue(self.is_granted())

    def test_key_that_another_process_got_is_found_by_asking_anew(self):
        self.keys.remember({'x': Key('nfs-x', 'old')})
        self.cluster.ids = {'volume': {'nfs-x': keys.TENANT}}
        self.keys.grant('x', _VOLUME)
        self.assertEqual('old', self.keys.of('x').secret)
        self.assertTrue(self.keys.renew('x', _VOLUME))
        self.assertEqual('secret 1', self.keys.of('x').secret)

    def test_id_without_a_known_key_is_asked_for_again(self):
        self.cluster.ids = {'volume': {'nfs-x': keys.TENANT}}
        self.assertFalse(self.is_granted())
        self.keys.grant('x', _VOLUME)
        self.assertEqual('secret 1', self.keys.of('x').secret)

    def test_revoked_id_is_deleted_and_its_sessions_end_also_the_second_time(self):
        self.keys.grant('x', _VOLUME)
        self.keys.revoke('x', _VOLUME)
        self.assertEqual({}, self.cluster.ids['volume'])
        self.assertRaises(CommandFailed, self.keys.of, 'x')
        self.keys.revoke('x', _VOLUME)
        self.assertEqual([('nfs-x', None)] * 2, self.cluster.evicted)
        self.assertEqual({}, self.cluster.ids['volume'])

    def test_ids_of_before_are_shut_out_with_a_mark_meanwhile(self):
        self.cluster.ids = {'volume': {'b': 'p', 'a': 'p', 'nfs-x': keys.TENANT}}
        self.keys.grant('x', _VOLUME)
        self.assertEqual(
            ({'volume': {'nfs-x': keys.TENANT}}, [('a', ['a', 'b']), ('b', ['a', 'b'])], None),
            (self.cluster.ids, self.cluster.evicted, self.cluster.planned),
        )
        self.assertEqual({'a', 'b'}, self.cluster.followed)

    def test_ids_that_a_process_died_of_shutting_out_are_still_shut_out(self):
        marks = {'manila_lite.to_evict': b'["a"]'.hex()}
        self.assertEqual({'a'}, planned(marks))
        self.keys.grant('x', Subvolume('volume', _VOLUME.path, None, 0, '', marks))
        self.assertEqual([('a', ['a'])], self.cluster.evicted)
