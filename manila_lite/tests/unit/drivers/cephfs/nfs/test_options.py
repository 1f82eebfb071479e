# SPDX-License-Identifier: Apache-2.0
import testtools
from oslo_config import cfg

from manila_lite.drivers.cephfs.nfs import options


class AddressesTest(testtools.TestCase):
    def addresses(self, **values):
        conf = cfg.ConfigOpts()
        conf.register_opts(options.OPTIONS)
        conf([], default_config_files=[])
        for name, value in values.items():
            conf.set_override(name, value)
        return options.addresses(conf)

    def test_several_addresses_go_before_the_one(self):
        self.assertEqual([], self.addresses())
        self.assertEqual(['10.0.0.1'], self.addresses(cephfs_ganesha_server_ip='10.0.0.1'))
        self.assertEqual(
            ['fd00::2', '10.0.0.2'],
            self.addresses(
                cephfs_ganesha_server_ip='10.0.0.1', cephfs_ganesha_export_ips=['fd00:0::2', '10.0.0.2']
            ),
        )
