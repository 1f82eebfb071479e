# SPDX-License-Identifier: Apache-2.0
"""Shares by an existing NFS cluster: Ceph's manager with its module, two gateways that follow it, clients at each address."""

import contextlib
import re
import threading

from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.host.daemon import Daemon
from manila_lite.tests import nfs_client, waiting
from manila_lite.tests.functional.ceph import host, nfs_base, test_nfs
from manila_lite.tests.functional.ceph.nfs_cluster_base import NAME, ClusterTest


class Access(nfs_base.Levels, ClusterTest):
    """Rules by source address, on both address families and by both gateways, while clients work."""

    def test_every_form_of_a_rule_is_understood_by_the_gateways(self):
        share = self.share()
        others = [
            ('0.0.0.0/0', 'ro'),
            ('::/0', 'ro'),
            ('10.98.0.0/16', 'rw'),
            ('fd99::/97', 'ro'),
            ('fd97::/124', 'rw'),
            *((f'10.97.{number // 250}.{number % 250 + 1}', 'rw') for number in range(500)),
        ]
        self.assertEqual({None}, set(self.grant(share, (self.one, 'rw'), *others)))
        self.works('one', share, 'write', 'f', 'hello')
        self.refused('ROFS', 'two', share, 'write', 'f', 'x')
        self.assertEqual('hello', self.works('two', share, 'read', 'f', v6=True))
        self.assertIn('/100', self.grant(share, ('fd99::/112', 'rw'), (self.one, 'ro'))[0])
        self.refused('ROFS', 'one', share, 'write', 'f', 'x')

    def test_client_that_writes_is_shut_out_when_the_call_returns_and_others_work_on(self):
        share = self.share()
        two = self.fabric.v4('two'), 'rw'
        self.grant(share, (self.one, 'rw'), two)
        for server in self.GATEWAYS:
            client, other = self.session('one', share, server), self.session('two', share, server)
            self.assertEqual((True, None), client.call('write', f'f-{server}', 'hello'))
            with self.writing(other) as written:
                self.grant(share, (self.one, 'ro'), two)
                self.assertEqual((True, 'hello'), client.call('read', f'f-{server}'))
                self.assertIn('ROFS', client.call('write', f'f-{server}', 'no')[1])
                self.grant(share, two)
                self.assertIn('ACCES', client.call('read', f'f-{server}')[1])
                self.grant(share, (self.one, 'rw'), two)
                self.assertEqual((True, None), client.call('write', f'f-{server}', 'again'))
            self.assertLess(0, len(written))
            self.assertEqual({(True, None)}, set(written))

    @contextlib.contextmanager
    def writing(self, client):
        """Have a client write all the time; give the answers that it gets."""
        answers, ended = [], threading.Event()

        def write():
            while not ended.is_set():
                answers.append(client.call('write', 'of-the-other', str(len(answers))))

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield answers
        finally:
            ended.set()
            thread.join(waiting.LIMIT)

    def test_deleted_share_leaves_no_export_no_key_and_no_session(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        self.works('one', share, 'write', 'f', 'hello')
        user = self.export(share)['fsal']['user_id']
        self.assertEqual(2, len(self.sessions(user)))
        client = self.session('one', share)
        self.assertEqual((True, 'hello'), client.call('read', 'f'))
        self.nas.call('delete', share)
        self.assertFalse(client.call('read', 'f')[0])
        self.refused('NOENT', 'one', share, 'list')
        self.assertNotIn(f'client.{user}', self.ids())
        self.assertEqual([], self.sessions(user))
        self.assertEqual({}, self.exports())

    def test_key_of_an_export_reaches_its_share_only_and_is_not_with_the_share_manager(self):
        share = self.share()
        told = self.export(share)
        entry = self.cluster.ask('auth', 'get', f'client.{told["fsal"]["user_id"]}')[0]
        self.assertEqual(f'allow rw path={told["path"]}', entry['caps']['mds'])
        self.assertRegex(told['path'], rf'^/volumes/_nogroup/{share.id}/\S+$')
        files = [file for file in (self.state / 'nas').rglob('*') if file.is_file()]
        self.assertEqual([], [file for file in files if entry['key'] in file.read_text(errors='replace')])

    def test_exports_are_like_those_of_the_other_gateway(self):
        share = self.share()
        self.grant(share, (self.one, 'ro'))
        told = self.export(share)
        self.assertEqual(
            {
                'access_type': 'none',
                'squash': 'none',
                'protocols': [4],
                'transports': ['TCP'],
                'sectype': ['sys'],
            },
            {name: told[name] for name in ('access_type', 'squash', 'protocols', 'transports', 'sectype')},
        )
        self.assertEqual([{'addresses': [self.one], 'access_type': 'ro', 'squash': 'none'}], told['clients'])

    def test_share_with_the_path_of_an_export_of_manila_is_taken_over_with_nobody_admitted(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        self.works('one', share, 'write', 'f', 'mine')
        path = self.export(share)['path']
        self.nas.call('unmanage', share)
        self.refused('NOENT', 'one', share, 'list')
        self.cluster.ask('nfs', 'export', 'create', 'cephfs', NAME, path, 'a', path)
        before = self.exports()[path]
        raw = waiting.until(lambda: self.mounted(path), 'it is exported')
        share = values.Share(uuidutils.generate_uuid(), 's', 'p', 1, 'NFS', host.POOL)
        paths = self.nas.call('manage', share, f'{self.fabric.v4("nas")}:{path}')
        self.addCleanup(self.nas.call, 'delete', share)
        self.assertEqual(f'{self.fabric.v4("nas")}:{path}', paths[0])
        self.assertIsNone(self.mounted(path))
        self.grant(share, (self.one, 'rw'))
        self.assertEqual(b'mine', raw[0].read(raw[1]))
        self.assertEqual(before['export_id'], self.exports()[path]['export_id'])

    def mounted(self, path):
        """Return a client, and the handle of the file there, if it may mount the path."""
        raw = self.raw('one')
        with contextlib.suppress(test_nfs.nfs4.Refused):
            return raw, raw.walk(*path.strip('/').split('/'), 'f')

    def test_managed_subvolume_keeps_its_path(self):
        share = self.share()
        again = values.Share(uuidutils.generate_uuid(), 's', 'p', 1, 'NFS', host.POOL)
        self.nas.call('unmanage', share)
        paths = self.nas.call('manage', again, f'{self.fabric.v4("nas")}:/shares/{share.id}')
        self.addCleanup(self.nas.call, 'delete', again)
        self.assertRegex(paths[0], rf'^{re.escape(self.fabric.v4("nas"))}:/volumes/_nogroup/{share.id}/\S+$')
        self.grant(again, (self.one, 'rw'))
        raw = self.raw('one')
        self.assertEqual([], raw.names(raw.walk(*paths[0].partition(':/')[2].split('/'))))


class Handles(ClusterTest, test_nfs.Handles):
    """A client that may mount one share forges file handles, and reaches nothing but that share."""

    GATEWAYS = ('nas',)


class Repair(ClusterTest):
    """Exports that somebody changed, processes that ended."""

    GATEWAYS = ('nas',)

    def setUp(self):
        super().setUp()
        self.its = self.share()
        self.rule = self.one, 'rw'
        self.grant(self.its, self.rule)
        self.works('one', self.its, 'write', 'f', 'hello')

    def assert_repaired(self, word):
        """Check that one thing is wrong and that it is repaired, and the share is served."""
        [found] = self.nas.call('inspect', self.its, [self.rule])
        self.assertIn(word, found)
        self.assertEqual([found], self.nas.call('ensure', self.its, [self.rule]))
        self.assertEqual([], self.nas.call('ensure', self.its, [self.rule]))
        self.works('one', self.its, 'write', 'g', 'again')
        self.refused('NOENT', 'two', self.its, 'list')

    def test_export_that_was_removed(self):
        self.cluster.ask('nfs', 'export', 'rm', NAME, f'/shares/{self.its.id}')
        self.assert_repaired('was not exported')

    def test_export_with_other_clients(self):
        self.apply(
            self.export(self.its)
            | {'clients': [{'addresses': ['0.0.0.0/1'], 'access_type': 'rw', 'squash': 'none'}]}
        )
        self.assert_repaired('Other access rules')

    def test_export_that_is_open_to_all(self):
        self.apply(self.export(self.its) | {'access_type': 'rw'})
        self.assert_repaired('other settings')

    def test_export_of_another_directory(self):
        told = self.export(self.its)
        self.cluster.ask('nfs', 'export', 'rm', NAME, told['pseudo'])
        self.cluster.ask('nfs', 'export', 'create', 'cephfs', NAME, told['pseudo'], 'a', '/volumes')
        self.assert_repaired('was not exported')

    def test_export_whose_id_is_gone_is_made_anew_by_the_next_rule(self):
        user = self.export(self.its)['fsal']['user_id']
        self.cluster.ask('auth', 'rm', f'client.{user}')
        self.rule = self.one, 'ro'
        self.grant(self.its, self.rule)
        self.assertNotEqual(user, self.export(self.its)['fsal']['user_id'])
        self.refused('ROFS', 'one', self.its, 'write', 'f', 'x')
        self.assertEqual('hello', self.works('one', self.its, 'read', 'f'))

    def test_end_of_the_share_manager_does_not_matter_to_clients(self):
        client = self.session('one', self.its)
        self.assertEqual((True, 'hello'), client.call('read', 'f'))
        self.nas.kill()
        self.assertEqual((True, None), client.call('write', 'f', 'meanwhile'))
        type(self).nas = self.host('nas')
        self.nas.call('setup')
        self.assertEqual([], self.nas.call('ensure', self.its, [self.rule]))
        self.assertEqual((True, 'meanwhile'), client.call('read', 'f'))
        self.grant(self.its)
        self.assertIn('ACCES', client.call('read', 'f')[1])

    def test_end_of_the_manager_of_ceph_does_not_matter_to_clients_nor_to_the_next_rule(self):
        client = self.session('one', self.its)
        self.assertEqual((True, 'hello'), client.call('read', 'f'))
        self.cluster.kill('mgr.x')
        self.assertEqual((True, None), client.call('write', 'f', 'meanwhile'))
        self.cluster.start('mgr.x')
        self.assertEqual([], self.nas.call('ensure', self.its, [self.rule]))
        self.grant(self.its)
        self.assertIn('ACCES', client.call('read', 'f')[1])

    def test_gateway_that_starts_again_serves_by_the_present_rules(self):
        other = self.share()
        self.grant(other, (self.fabric.v4('two'), 'rw'))
        self.gateways['nas'].stop()
        self.grant(self.its, (self.one, 'ro'))
        self.gateways['nas'].start()
        self.refused('ROFS', 'one', self.its, 'write', 'f', 'x')
        self.works('two', other, 'write', 'f', 'hello')

    def test_witness_of_a_killed_process_is_removed_with_the_next_change(self):
        told = self.export(self.its)
        self.cluster.ask(
            'nfs', 'export', 'create', 'cephfs', NAME, f'/manila_lite/{self.its.id}', 'a', told['path']
        )
        self.grant(self.its, (self.one, 'ro'))
        self.assertEqual({told['pseudo']}, set(self.exports()))


class Deaf(ClusterTest):
    """A gateway that does not hear of changes: it goes on by the rules that it has read."""

    GATEWAYS = ('nas',)

    def test_it_loses_a_share_when_somebody_loses_access(self):
        share, untouched = self.share(), self.share()
        two = self.fabric.v4('two'), 'rw'
        self.grant(share, (self.one, 'rw'), two)
        self.grant(untouched, (self.one, 'rw'))
        self.gateway(self.cluster, self.fabric.name('other'), deaf=True)
        user = self.export(share)['fsal']['user_id']
        client, other = self.session('one', share, 'other'), self.session('two', share)
        self.assertEqual((True, None), client.call('write', 'f', 'hello'))
        self.assertEqual((True, 'hello'), other.call('read', 'f'))
        self.grant(share, two)
        self.assertFalse(client.call('write', 'f', 'no')[0])
        self.assertFalse(client.call('read', 'f')[0])
        self.assertFalse(self.mounts(share)[0])
        self.assertNotIn(f'client.{user}', self.ids())
        self.assertEqual([], self.sessions(user))
        self.assertIn('STALE', other.call('read', 'f')[1])
        self.assertEqual('hello', self.works('two', share, 'read', 'f'))
        self.forgive()
        self.mounts(share)  # it comes back, perhaps
        self.nas.call('report')
        self.assertFalse(self.mounts(share)[0])
        self.assertEqual([], self.sessions(user))
        worked, said = self.mounts(untouched)
        self.assertTrue(worked, said)

    def mounts(self, share):
        """Have the client write by the gateway that does not hear; return whether that worked, and what it said."""
        return nfs_client.call(
            self.fabric.v4('other'), f'/shares/{share.id}', 'write', 'f', 'on', netns=self.fabric.name('one')
        )

    def forgive(self):
        """Let the cluster forget which clients it has evicted, as it does after an hour."""
        self.cluster.ask('osd', 'blocklist', 'clear')
        waiting.until(
            lambda: 'addr' not in str(self.cluster.ask('osd', 'blocklist', 'ls')), 'all is forgotten'
        )


class Moving(ClusterTest):
    """A section that had a gateway of its own gets an NFS cluster."""

    GATEWAYS = ('nas',)

    def test_its_own_gateway_ends_and_its_keys_are_deleted(self):
        own = self.with_options(
            'other', f'cephfs_ganesha_export_ips = {self.fabric.v4("other")}\ncephfs_nfs_graceless = true\n'
        )
        own.call('setup')
        share = values.Share(uuidutils.generate_uuid(), 's', 'p', 1, 'NFS', host.POOL)
        own.call('create', share)
        own.call('grant', share, [(self.one, 'rw')])
        server = Daemon(self.state / 'other' / 'ganesha.json')
        self.assertIsNotNone(server.process())
        own.kill()
        again = self.with_options(
            'other', f'cephfs_nfs_cluster_id = {NAME}\ncephfs_ganesha_export_ips = {self.fabric.v4("nas")}\n'
        )
        again.call('setup')
        self.addCleanup(again.call, 'delete', share)
        self.assertIsNone(server.process())
        self.assertEqual(1, len(again.call('ensure', share, [(self.one, 'rw')])))
        self.works('one', share, 'write', 'f', 'hello')
        self.assertEqual([], self.cluster.ask('fs', 'subvolume', 'authorized_list', 'a', share.id))
        self.assertFalse((self.state / 'other' / 'exports.d').exists())
