# SPDX-License-Identifier: Apache-2.0
"""The cephfs driver with an existing NFS cluster keeps the contract: a gateway of it tells what is in force."""

from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.file_servers import ganesha_clients
from manila_lite.tests.compliance.test_cephfs import ProgramOnce, admin
from manila_lite.tests.compliance.test_cephfs_nfs import (
    NfsBinding,
    NfsCalls,
    NfsEdgeCases,
    NfsManageCalls,
    NfsManageEdgeCases,
)
from manila_lite.tests.services import ceph
from manila_lite.tests.services.nfs_cluster import NfsGateway

NAME = 'contract'
_LEVELS = {'RW': 'rw', 'RO': 'ro'}


@ceph.TOGETHER.keep
def gateway() -> NfsGateway:
    """Return the gateway on the shared cluster."""
    cluster = ceph.shared()
    cluster.enable_nfs()
    cluster.add_nfs_cluster(NAME)
    made = NfsGateway(cluster, NAME)
    made.setUp()
    ceph.TOGETHER.at_end(made.cleanUp)
    return made


class ClusterBinding(NfsBinding):
    MOMENTS = (0.05, 0.3, 1.0)

    def options(self):
        gateway()
        return super().options() | {'cephfs_nfs_cluster_id': NAME}

    def in_force(self, share):
        """Return the clients that the gateway admits now to the directory of the share."""
        path = self._path(share)
        manager = gateway().manager
        numbers = [number for number, exported in manager.shown().items() if exported == path]
        return {
            ('ip', client.removesuffix('/32').removesuffix('/128'), _LEVELS[level])
            for _, entries in manager.displayed(numbers).values()
            for client, level in map(ganesha_clients.displayed, entries)
        }

    def lose_power(self):
        """Restart, with exports and limits lost: an administrator may remove them."""
        for export in admin().manager('nfs export ls', cluster_id=NAME) or ():
            admin().manager('nfs export rm', cluster_id=NAME, pseudo_path=export)
        super().lose_power()


class ClusterEveryCallTest(NfsCalls, ClusterBinding):
    pass


class ClusterEdgeCasesTest(NfsEdgeCases, ClusterBinding):
    pass


class ClusterManageTest(NfsManageCalls, ClusterBinding):
    pass


class ClusterManageEdgeCasesTest(NfsManageEdgeCases, ClusterBinding):
    pass


class ClusterProgramTest(ClusterBinding):
    """The program ``ceph`` instead of the bindings for commands about exports: it takes the content of one, too."""

    def new_driver(self):
        driver = super().new_driver()
        self.way = ProgramOnce(Identity(self.ceph.conf, 'ceph', 'manila'), 'nfs ')
        driver.parts.cluster._make = lambda: self.way
        return driver

    def test_exports_come_change_and_go_without_bindings(self):
        share = self.made_share(rules=self.GOOD)
        self.assertEqual(set(self.GOOD), self.in_force(share))
        self.driver.update_access(share, self.rules(self.OTHER))
        self.assertEqual(set(self.OTHER), self.in_force(share))
        self.driver.delete_share(share)
        self.assertTrue(self.ensured(share).error)
        self.assertEqual(
            set(),
            {f'nfs export {verb}' for verb in ('apply', 'info', 'ls', 'rm')}
            - {prefix for _, prefix, *_ in self.way.done},
        )
