# SPDX-License-Identifier: Apache-2.0
"""The report of the driver: share types as guides for CephFS make them fit its pools."""

from types import SimpleNamespace

import testtools

from manila_lite import extra_specs
from manila_lite.drivers.cephfs import report

_POOLS = SimpleNamespace(
    names=lambda: ['data'], capacities=lambda: {'data': SimpleNamespace(total=10.0, free=9.0)}
)
_CONF = SimpleNamespace(reserved_share_percentage=5, max_over_subscription_ratio=10)


class ReportTest(testtools.TestCase):
    def test_49_6_types_of_the_guides_for_cephfs_fit(self):
        for name, other in (('CEPHFS', 'NFS'), ('NFS', 'CEPHFS')):
            protocol = SimpleNamespace(NAME=name, capabilities=dict)
            [pool] = report.report(_CONF, _POOLS, protocol, {'snapshot_support': True}, {})
            for specs, fit in (
                ({'vendor_name': 'Ceph', 'storage_protocol': name}, True),
                ({'vendor_name': 'Ceph', 'storage_protocol': other}, False),
                ({'vendor_name': 'Ceph', 'snapshot_support': '<is> True'}, True),
            ):
                self.assertEqual(
                    fit, not any(extra_specs.unmet_capabilities(specs, pool.capabilities)), specs
                )
