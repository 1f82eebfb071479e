# SPDX-License-Identifier: Apache-2.0
"""The cephfs driver with its NFS gateway keeps the contract. Data and sizes are the same as with native clients, so only the
calls run here that change exports.
"""

import os

from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.drivers.file_servers import ganesha_clients
from manila_lite.tests import process
from manila_lite.tests.compliance import base, calls, edge_cases, manage_shares
from manila_lite.tests.compliance.test_cephfs import CephfsBinding
from manila_lite.tests.services import groups


class NfsBinding(CephfsBinding):
    """A binding for NFS shares, whoever runs the NFS server."""

    GOOD = (('ip', '10.1.0.5', 'rw'), ('ip', '10.2.0.0/24', 'ro'), ('ip', 'fd00:1::/64', 'rw'))
    OTHER = base.Binding.OTHER
    BAD = (*base.Binding.BAD, ('cephx', 'alice', 'rw'))

    def setUp(self):
        groups.want('ceph')
        if os.geteuid() or fsal.plugin() is None:
            self.skipTest('an NFS gateway needs root and nfs-ganesha-ceph')
        super().setUp()

    def options(self):
        return super().options() | {
            'cephfs_protocol_helper_type': 'NFS',
            'cephfs_ganesha_export_ips': '::1, 127.0.0.1',
        }

    def a_share(self, *args, **changes):
        return super().a_share(*args, **{'proto': 'NFS'} | changes)


class NfsCalls(calls.EveryCall):
    """The calls that change exports."""

    scenarios = [
        row
        for row in calls.EveryCall.scenarios
        if row[0] in ('CreateShare', 'UpdateAccess', 'DeleteShare', 'EnsureShares')
    ]


class NfsEdgeCases(edge_cases.EdgeCases):
    # Storage is the same as with native clients.
    test_snapshot_that_is_not_there_cannot_be_reverted_to = test_snapshot_is_served_again_after_a_loss = None
    test_share_that_is_not_there_cannot_be_resized = test_share_that_is_not_there_has_no_snapshots = None
    test_snapshot_that_is_not_there_cannot_be_cloned = test_pool_that_is_not_there = (
        test_report_has_free_capacity
    ) = None
    test_ids_that_are_no_file_names_reach_nothing = test_a_share_is_mounted_by_the_name_that_was_chosen = None


class NfsManageCalls(manage_shares.EveryManageCall):
    """The calls that change exports. Those for snapshots are the same as with native clients."""

    scenarios = [
        row for row in manage_shares.EveryManageCall.scenarios if row[0] in ('ManageShare', 'UnmanageShare')
    ]


class NfsManageEdgeCases(manage_shares.ManageEdgeCases):
    # Snapshots are the same as with native clients.
    test_snapshots_that_cannot_be_taken_over = None


class GatewayBinding(NfsBinding):
    MOMENTS = (0.02, 0.2)

    def options(self):
        return super().options() | {
            'cephfs_nfs_port': str(process.free_port()),
            'cephfs_nfs_graceless': 'true',
        }

    def new_driver(self):
        driver = super().new_driver()
        if not hasattr(self, 'driver'):
            self.addCleanup(driver.parts.protocol.gateway.stop)  # the last one, after all shares are deleted
        return driver

    def in_force(self, share):
        """Return the clients that NFS-Ganesha admits now, by its own account and not by a file."""
        server = self.driver.parts.protocol.gateway.server
        seen = server.exports.inspect([share.id])[share.id]
        if seen.path is None:
            return set()
        self.assertEqual(self._path(share), seen.path)
        levels = {level: name for name, level in ganesha_clients._LEVELS.items()}
        return {
            ('ip', client.removesuffix('/32').removesuffix('/128'), levels[level])
            for client, level in seen.clients
        }

    def lose_power(self):
        """Simulate a reboot, a file that a disk check moved away, and lost keys and limits."""
        self.driver.parts.protocol.gateway.stop()
        next(self.state_dir.glob('exports.d/*.conf')).unlink()
        super().lose_power()


class GatewayEveryCallTest(NfsCalls, GatewayBinding):
    pass


class GatewayEdgeCasesTest(NfsEdgeCases, GatewayBinding):
    pass


class GatewayManageTest(NfsManageCalls, GatewayBinding):
    pass


class GatewayManageEdgeCasesTest(NfsManageEdgeCases, GatewayBinding):
    pass
