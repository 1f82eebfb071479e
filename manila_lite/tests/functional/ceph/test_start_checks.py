# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the section of a backend: one clear line at the start, and in ``manila-status upgrade check``."""

import re
import unittest

import fixtures
import testtools

from manila_lite.tests import forks, process
from manila_lite.tests.services import ceph
from manila_lite.tests.services.daemon import Missing

_CONFIG = """[DEFAULT]
state_path = {state}
host = test
auth_strategy = noauth
enabled_share_backends = alpha
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = {port}
[alpha]
driver = cephfs
{lines}
"""


class StartChecks(testtools.TestCase):
    TOGETHER = ceph.TOGETHER

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.ceph = ceph.shared()
        except Missing as lacking:
            raise unittest.SkipTest(str(lacking)) from None

    def said(self, program, *words, **options):
        """Return exit status and output of a program with this section."""
        state = self.useFixture(fixtures.TempDir()).path
        lines = '\n'.join(
            f'{name} = {value}' for name, value in ({'cephfs_conf_path': self.ceph.conf} | options).items()
        )
        config = f'{state}/manila_lite.conf'
        with open(config, 'w') as file:
            file.write(_CONFIG.format(state=state, port=process.free_port(), lines=lines))
        done = forks.run(f'manila_lite.cmd.{program}:main', f'--config-file={config}', *words)
        return done.returncode, done.stdout + done.stderr

    def assert_told(self, *texts, **options):
        status, said = self.said('all_in_one', **options)
        self.assertEqual(1, status, said)
        self.assertEqual(1, len(said.strip().splitlines()), said)
        for text in texts:
            self.assertIn(text, said)
        status, said = self.said('status', 'upgrade', 'check', **options)
        self.assertEqual(2, status, said)
        self.assertIn(' '.join(texts[0].split()[:1]), re.sub(r'[|\s]+', ' ', said))

    def test_sound_section_passes(self):
        _, said = self.said('status', 'upgrade', 'check')
        self.assertRegex(said, 'Well: .*share backends')

    def test_conf_path_that_is_no_file(self):
        self.assert_told(
            'cephfs_conf_path',
            '/none/ceph.conf cannot be read (No such file or directory)',
            cephfs_conf_path='/none/ceph.conf',
        )

    def test_key_of_another_cluster(self):
        wrong = self.ceph.client_conf('stranger', 'AQDLr1ZnAAAAABAAVhVVVVVVVVVVVVVVVVVVVQ==')
        self.assert_told(
            'cephfs_auth_id',
            'does not let client.stranger in',
            cephfs_conf_path=wrong,
            cephfs_auth_id='stranger',
        )

    def test_no_key_for_the_id(self):
        self.assert_told('cephfs_auth_id', 'does not let client.nobody in', cephfs_auth_id='nobody')

    def test_cluster_name_whose_key_is_not_here(self):
        bare = self.ceph.home / 'clients' / 'bare.conf'
        bare.write_text(
            '\n'.join(line for line in self.ceph.conf.read_text().splitlines() if 'keyring' not in line)
            + '\n'
        )
        self.assert_told(
            'cephfs_auth_id',
            'check cephfs_cluster_name',
            '/etc/ceph/elsewhere.client.manila.keyring',
            cephfs_conf_path=bare,
            cephfs_cluster_name='elsewhere',
        )

    def test_id_that_may_not_do_what_is_needed(self):
        for ident, caps, told in (
            ('weak', ('mon', 'allow r'), 'may not do what the service needs'),
            ('meek', ('mon', 'allow r', 'mgr', 'allow rw'), 'may not end sessions'),
        ):
            key = self.ceph.ask('auth', 'get-or-create-key', f'client.{ident}', *caps)['key']
            self.addCleanup(self.ceph.ask, 'auth', 'rm', f'client.{ident}')
            conf = self.ceph.client_conf(ident, key)
            remedy = f"ceph auth caps client.{ident} mon 'allow r' mgr 'allow rw' mds 'allow *'"
            remedy += " osd 'allow rw namespace=fsvolumens_* tag cephfs data=*'"
            self.assert_told('cephfs_auth_id', told, remedy, cephfs_conf_path=conf, cephfs_auth_id=ident)

    def test_file_system_that_is_not_there(self):
        self.assert_told(
            'cephfs_filesystem_name',
            'there is no file system b; the cluster has a',
            cephfs_filesystem_name='b',
        )

    def test_data_pool_of_no_file_system(self):
        self.assert_told(
            'cephfs_data_pools', 'a.meta is no data pool of the file system a', cephfs_data_pools='a.meta'
        )

    def test_protocol_that_is_none(self):
        status, said = self.said('all_in_one', cephfs_protocol_helper_type='CIFS')
        self.assertEqual(1, status, said)
        self.assertIn('cephfs_protocol_helper_type', said)

    def test_nfs_cluster_that_cannot_be_used(self):
        nfs = {
            'cephfs_protocol_helper_type': 'NFS',
            'cephfs_nfs_cluster_id': 'none',
            'cephfs_ganesha_export_ips': '192.0.2.1',
        }
        if not self.ceph.has_nfs:
            self.assert_told('cephfs_nfs_cluster_id', 'ceph mgr module enable nfs', **nfs)
        self.ceph.enable_nfs()
        self.ceph.add_nfs_cluster('some')
        self.assert_told('cephfs_nfs_cluster_id', 'the NFS cluster none does not exist', **nfs)
        nfs['cephfs_nfs_cluster_id'] = 'some'
        _, said = self.said('status', 'upgrade', 'check', **nfs)
        self.assertRegex(said, 'Well: .*share backends')
        self.assert_told(
            'cephfs_ganesha_server_is_remote',
            'cephfs_nfs_cluster_id',
            **nfs,
            cephfs_ganesha_server_is_remote='true',
        )
        del nfs['cephfs_ganesha_export_ips']
        self.assert_told('cephfs_ganesha_export_ips', 'is empty', **nfs)
