# SPDX-License-Identifier: Apache-2.0
"""The options of the cephfs driver, in the section of its backend. Those that Manila's driver has too have its names."""

from typing import Any

from oslo_config import cfg

from manila_lite.conf import numeric

OPTIONS = (
    cfg.StrOpt(
        'cephfs_conf_path',
        help="Path of the cluster's configuration file. Default: /etc/ceph/NAME.conf with the name of the cluster. It "
        "names the monitors, and may name the file with the service's key.",
    ),
    cfg.StrOpt(
        'cephfs_cluster_name',
        default='ceph',
        help='Name of the cluster: with it, files with keys are found in /etc/ceph.',
    ),
    cfg.StrOpt(
        'cephfs_auth_id',
        default='manila',
        help='Auth id as which the service connects to the cluster, without "client.". The page on CephFS has its '
        'capabilities.',
    ),
    cfg.StrOpt(
        'cephfs_filesystem_name',
        help='File system that holds the shares. Needed only if the cluster has several.',
    ),
    cfg.StrOpt(
        'cephfs_protocol_helper_type',
        default='CEPHFS',
        choices=['CEPHFS', 'NFS'],
        ignore_case=True,
        help='Protocol of the shares of this section: CEPHFS for native clients. A section serves one protocol.',
    ),
    cfg.StrOpt(
        'cephfs_volume_mode',
        default='755',
        regex='^[0-7]{3,4}$',
        help='Permissions of the root directory of new shares, in octal.',
    ),
    cfg.StrOpt(
        'cephfs_subvolume_group',
        regex='^[A-Za-z0-9][A-Za-z0-9.-]*$',
        help='Subvolume group that holds the shares. It is created if it does not exist. Default: the group of '
        'subvolumes without a group, which Manila uses, too. The driver touches no other group.',
    ),
    cfg.ListOpt(
        'cephfs_data_pools',
        default=[],
        help='Data pools of the file system that hold shares; each is a pool of this backend. Default: the first data '
        'pool of the file system only.',
    ),
    cfg.ListOpt(
        'cephfs_reserved_auth_ids',
        mutable=True,
        default=[
            'admin',
            'bootstrap-*',
            'cinder*',
            'crash*',
            'csi-*',
            'glance*',
            'gnocchi*',
            'iscsi*',
            'libvirt*',
            'manila*',
            'nfs*',
            'nova*',
            'openstack*',
            'rbd*',
            'rgw*',
            'radosgw*',
            'swift*',
        ],
        help='Auth ids that no access rule may name, with * for any text. An id that an administrator will give to a '
        'service must not belong to a tenant, who has its key, before.',
    ),
    numeric.Float(
        'cephfs_command_timeout',
        default=60.0,
        min=1.0,
        max=numeric.WEEK,
        mutable=True,
        help='Seconds for which one command waits for a manager or metadata server of the cluster that is away. Then '
        'the operation is tried again later.',
    ),
    numeric.Int(
        'reserved_share_percentage',
        default=5,
        min=0,
        max=100,
        mutable=True,
        help='Percentage of each pool that is kept free.',
    ),
    numeric.Float(
        'max_over_subscription_ratio',
        default=10.0,
        min=1.0,
        mutable=True,
        help='Maximum total size of the shares in a pool, as a multiple of its size.',
    ),
)


#: The section of a cephfs backend: the values of these options, and of those of every backend.
CephfsOptions = Any
