# SPDX-License-Identifier: Apache-2.0
"""The options of the dummy driver."""

from oslo_config import cfg, types

from manila_lite.conf import numeric

OPTIONS = (
    cfg.ListOpt('dummy_pools', default=['pool1'], help='Names of the pools of the backend.'),
    numeric.Float(
        'dummy_pool_size_gb', default=1000.0, min=0, mutable=True, help='Size of each pool in GiB.'
    ),
    cfg.BoolOpt(
        'dummy_thin_provisioning',
        default=False,
        mutable=True,
        help='Count only the used space of a share against the pool. If false, its whole size is counted.',
    ),
    numeric.Float(
        'dummy_max_over_subscription_ratio',
        default=20.0,
        min=1,
        mutable=True,
        help='Maximum total size of the shares in a thin pool, as a multiple of the size of the pool.',
    ),
    numeric.Int(
        'dummy_reserved_percentage',
        default=0,
        min=0,
        max=100,
        mutable=True,
        help='Percentage of each pool that is kept free.',
    ),
    cfg.ListOpt(
        'dummy_protocols',
        item_type=types.String(choices=['NFS', 'CIFS'], ignore_case=True),
        default=['NFS', 'CIFS'],
        help='Protocols of the shares of the backend.',
    ),
    cfg.ListOpt(
        'dummy_access_types',
        default=['ip', 'user', 'cert', 'cephx'],
        mutable=True,
        help='Types of access rule that the backend can apply.',
    ),
    cfg.ListOpt(
        'dummy_export_ips',
        item_type=types.IPAddress(),
        default=['10.0.0.1', 'fd00::1'],
        mutable=True,
        help='Addresses in the export locations of shares without a share server. The first is preferred.',
    ),
    numeric.Int(
        'dummy_allocations_per_subnet',
        default=1,
        min=1,
        help='Number of addresses of a share server in each subnet, with driver_handles_share_servers.',
    ),
    numeric.Int(
        'dummy_admin_allocations',
        default=0,
        min=0,
        help="Number of addresses of a share server in the administrators' network.",
    ),
    cfg.IPOpt(
        'dummy_admin_export_ip',
        mutable=True,
        help='Address of an export location that is visible to administrators only.',
    ),
    cfg.BoolOpt(
        'dummy_writable_migration',
        default=True,
        mutable=True,
        help='Keep shares writable during their migration to the backend.',
    ),
    cfg.BoolOpt(
        'dummy_cancellable_migration',
        default=True,
        mutable=True,
        help='Allow users to cancel a migration to the backend.',
    ),
    cfg.BoolOpt(
        'dummy_spreading_migration',
        default=True,
        help='Allow the shares of a share server that moves to the backend to be spread over several pools.',
    ),
    cfg.StrOpt(
        'dummy_replication_domain',
        mutable=True,
        help='Name of the replication domain. Backends with the same name replicate shares of each other.',
    ),
    cfg.DictOpt(
        'dummy_capabilities',
        default={},
        mutable=True,
        help='Capabilities that the backend reports in addition to the real ones, or instead of them, for instance '
        '"qos:true".',
    ),
    cfg.ListOpt(
        'dummy_knobs',
        default=[],
        help='Faults that the driver simulates, for instance "create_share:delay=2,delete_share:fail@once". More are '
        'read from the file "knobs" in the state directory. That file may change while the service runs.',
    ),
)
