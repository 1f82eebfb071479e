# SPDX-License-Identifier: Apache-2.0
import testtools
from oslo_config import cfg

from manila_lite.drivers.cephfs.nfs import check, options


class CheckTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.patch(check.shutil, 'which', lambda program, path: f'/bin/{program}')
        self.patch(check.fsal, 'plugin', lambda: check.Path('/usr/lib/x'))
        self.patch(check.os, 'geteuid', lambda: 0)
        self.patch(check.compiled, 'can_be_made', lambda: True)
        self.patch(
            check, '_links', lambda netns: {'lo': {'127.0.0.1', '::1'}, 'eth0': {'10.0.0.1', 'fd00::1'}}
        )

    def problems(self, **values):
        conf = cfg.ConfigOpts()
        conf.register_opts(options.OPTIONS)
        conf([], default_config_files=[])
        for name, value in values.items():
            conf.set_override(name, value)
        return [problem.what for problem in check.problems(conf)]

    def test_addresses_of_this_host_are_well(self):
        self.assertEqual([], self.problems(cephfs_ganesha_server_ip='10.0.0.1'))
        self.assertEqual([], self.problems(cephfs_ganesha_export_ips=['fd00:0::1', '10.0.0.1']))

    def test_each_problem_is_one_line_that_names_the_option(self):
        shared = {'ganesha_rados_store_enable': True, 'ganesha_rados_store_pool_name': 'nfs'}
        for found, values in (
            ('cephfs_ganesha_server_ip is empty', {}),
            ('this host does not have 10.0.0.9', {'cephfs_ganesha_export_ips': ['10.0.0.1', '10.0.0.9']}),
            ('0.0.0.0 is not the address of one host', {'cephfs_ganesha_server_ip': '0.0.0.0'}),
            (
                'has no interface eth7',
                {'cephfs_ganesha_server_ip': '10.0.0.9', 'cephfs_nfs_interface': 'eth7', **shared},
            ),
            (
                'cephfs_nfs_interface needs ganesha_rados_store_enable',
                {'cephfs_ganesha_server_ip': '10.0.0.9', 'cephfs_nfs_interface': 'eth0'},
            ),
            (
                'ganesha_rados_store_pool_name is empty',
                {'cephfs_ganesha_server_ip': '10.0.0.1', 'ganesha_rados_store_enable': True},
            ),
            (
                'there is no network namespace nowhere',
                {'cephfs_ganesha_server_ip': '10.0.0.1', 'cephfs_nfs_netns': 'nowhere'},
            ),
            ('an NFS-Ganesha of another machine', {'cephfs_ganesha_server_is_remote': True}),
        ):
            said = self.problems(**values)
            self.assertEqual(1, len(said), said)
            self.assertIn(found, said[0])

    def test_address_that_the_interface_will_get_need_not_be_there(self):
        self.assertEqual(
            [],
            self.problems(
                cephfs_ganesha_server_ip='10.0.0.9',
                cephfs_nfs_interface='eth0',
                ganesha_rados_store_enable=True,
                ganesha_rados_store_pool_name='nfs',
            ),
        )

    def test_missing_package_is_named(self):
        self.patch(check.fsal, 'plugin', lambda: None)
        [problem] = self.problems(cephfs_ganesha_server_ip='10.0.0.1')
        self.assertIn("NFS-Ganesha's part for CephFS is not installed", problem)

    def test_missing_compiler_is_named(self):
        self.patch(check.compiled, 'can_be_made', lambda: False)
        [problem] = self.problems(cephfs_ganesha_server_ip='10.0.0.1')
        self.assertIn('the guard of NFS connections', problem)
