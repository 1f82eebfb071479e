# SPDX-License-Identifier: Apache-2.0
"""The options of the dummy driver."""

from oslo_config import cfg, types

OPTIONS = (
    cfg.ListOpt('dummy_pools', default=['pool1'], help='Names of the pools that the backend reports.'),
    cfg.FloatOpt('dummy_pool_size_gb', default=1000.0, min=0, help='Size of each pool in GiB.'),
    cfg.BoolOpt('dummy_thin_provisioning', default=False,
                help='Whether a share takes only the space that it fills; else all of its size is set aside.'),
    cfg.FloatOpt('dummy_max_over_subscription_ratio', default=20.0, min=1,
                 help='How many times its size a thin pool may promise.'),
    cfg.IntOpt('dummy_reserved_percentage', default=0, min=0, max=100, help='Share of each pool that is kept free.'),
    cfg.ListOpt('dummy_protocols', item_type=types.String(choices=['NFS', 'CIFS'], ignore_case=True),
                default=['NFS', 'CIFS'], help='Protocols that the backend serves.'),
    cfg.ListOpt('dummy_access_types', default=['ip', 'user', 'cert', 'cephx'],
                help='Types of access rule that can be in force.'),
    cfg.ListOpt('dummy_export_ips', item_type=types.IPAddress(), default=['10.0.0.1', 'fd00::1'],
                help='Addresses that shares are exported on without share servers; the first is preferred.'),
    cfg.IntOpt('dummy_allocations_per_subnet', default=1, min=1,
               help='How many addresses a share server gets in each subnet, with driver_handles_share_servers.'),
    cfg.IntOpt('dummy_admin_allocations', default=0, min=0,
               help='How many addresses a share server gets in the network of administrators.'),
    cfg.IPOpt('dummy_admin_export_ip', help='Address of an export location that only administrators see.'),
    cfg.BoolOpt('dummy_writable_migration', default=True,
                help='Whether shares that move to the backend can be written to meanwhile.'),
    cfg.BoolOpt('dummy_cancellable_migration', default=True,
                help='Whether a migration to the backend can be called off.'),
    cfg.StrOpt('dummy_replication_domain',
               help='Name that this backend has in common with others that replicate shares of each other.'),
    cfg.DictOpt('dummy_capabilities', default={},
                help='Capabilities reported besides the true ones, or instead of them, for instance "qos:true".'),
    cfg.ListOpt('dummy_knobs', default=[],
                help='Faults to order, for instance "create_share:delay=2,delete_share:fail@once". More, which may '
                     'change while the service runs, are read from the file "knobs" in the state directory.'),
)
