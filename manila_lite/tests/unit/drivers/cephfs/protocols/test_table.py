# SPDX-License-Identifier: Apache-2.0
import types

import testtools

from manila_lite.drivers.cephfs.protocols.native import Native
from manila_lite.drivers.cephfs.protocols.nfs import Nfs
from manila_lite.drivers.cephfs.protocols.nfs_cluster import NfsCluster
from manila_lite.drivers.cephfs.protocols.table import protocol_of


class TableTest(testtools.TestCase):
    def test_name_of_an_nfs_cluster_matters_for_nfs_only(self):
        for name, cluster, found in (
            ('nfs', None, Nfs),
            ('NFS', 'c', NfsCluster),
            ('CEPHFS', 'c', Native),
            ('cephfs', None, Native),
        ):
            conf = types.SimpleNamespace(cephfs_protocol_helper_type=name, cephfs_nfs_cluster_id=cluster)
            self.assertIs(found, protocol_of(conf))
