# SPDX-License-Identifier: Apache-2.0
import errno

import testtools
from oslo_config import cfg

from manila_lite.drivers.cephfs.nfs import options
from manila_lite.drivers.cephfs.nfs_cluster import check
from manila_lite.tests.unit.drivers.cephfs.nfs_cluster.module import Cluster


class CheckTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster()

    def conf(self, **values):
        conf = cfg.ConfigOpts()
        conf.register_opts(options.OPTIONS)
        conf([], default_config_files=[])
        for name, value in ({'cephfs_nfs_cluster_id': 'c'} | values).items():
            conf.set_override(name, value)
        return conf

    def test_options_that_are_well(self):
        self.assertEqual(
            [], list(check.problems(self.conf(cephfs_ganesha_export_ips=['10.0.0.1', 'fd00::1'])))
        )
        self.assertEqual([], list(check.problems_at(self.cluster, self.conf())))

    def test_each_problem_of_the_options_is_one_line_that_names_one(self):
        for found, values in (
            ('cephfs_ganesha_export_ips is empty', {}),
            (
                'cephfs_ganesha_export_ips: :: is not the address of one host',
                {'cephfs_ganesha_export_ips': ['::']},
            ),
            ('cephfs_ganesha_server_is_remote', {'cephfs_ganesha_server_is_remote': True}),
        ):
            [problem] = check.problems(self.conf(**values))
            self.assertIn(found, problem.what)

    def at(self):
        [problem] = check.problems_at(self.cluster, self.conf())
        self.assertNotIn('\n', problem.what)
        return f'{problem.what}: {problem.hint}'

    def test_module_that_is_not_enabled(self):
        self.cluster.modules = {'always_on_modules': ['status'], 'enabled_modules': []}
        self.assertIn('ceph mgr module enable nfs', self.at())
        self.assertEqual([], self.cluster.asked)

    def test_cluster_that_does_not_exist(self):
        self.cluster.refusal = errno.ENOENT, 'Cluster does not exist'
        self.assertIn('the NFS cluster c does not exist', self.at())

    def test_module_that_fails(self):
        self.cluster.refusal = errno.EINVAL, 'Traceback\n  many lines\nObjectNotFound: no pool .nfs'
        self.assertIn('cannot be used (ObjectNotFound: no pool .nfs)', self.at())
