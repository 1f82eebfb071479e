# SPDX-License-Identifier: Apache-2.0
"""Options of backends and of the hosts they run on."""

import socket

from oslo_config import cfg

from manila_lite.conf import numeric

DEFAULT = [
    cfg.HostAddressOpt(
        'host',
        default=socket.gethostname(),
        sample_default='<hostname>',
        help='Name of this host in the records of services. Set a fixed value where the host name may change.',
    ),
    cfg.StrOpt(
        'state_path',
        default='/var/lib/manila_lite',
        help='Directory for all files that must survive a restart.',
    ),
    cfg.ListOpt(
        'enabled_share_backends',
        default=[],
        help='Names of the backends of this share manager. Each has a section of the same name with at least '
        '"driver".',
    ),
    numeric.Int(
        'service_down_time',
        default=60,
        min=2,
        help='Seconds without a heartbeat after which a service is down.',
    ),
    numeric.Int('report_interval', default=10, min=1, help='Seconds between two heartbeats of a service.'),
    cfg.BoolOpt(
        'automatic_share_server_cleanup', default=True, help='Delete unused share servers automatically.'
    ),
    numeric.Int(
        'unused_share_server_cleanup_interval',
        default=10,
        min=0,
        help='Minutes without use after which automatic_share_server_cleanup deletes a share server.',
    ),
    numeric.Int(
        'capability_interval', default=60, min=1, help='Seconds between two capacity reports of a backend.'
    ),
    numeric.Int(
        'share_usage_interval',
        default=300,
        min=0,
        help='Seconds between two measurements of how full the shares of a backend are. 0: they are not measured. Longer than '
        '300, the history has gaps.',
    ),
    cfg.BoolOpt(
        'update_shares_status_on_ensure',
        default=True,
        help='Show the status "ensuring" for shares during a check that was requested over the API, and "error" for '
        'shares that the check finds broken. The section of a backend may override it.',
    ),
    cfg.BoolOpt(
        'ensure_shares_strict',
        default=False,
        help='Refuse a check requested over the API while any share of the backend is not available. If false, the '
        'check skips busy shares.',
    ),
]

#: Registered in the section of every backend, beside the options of its driver.
BACKEND = [
    cfg.StrOpt('driver', help='Entry point of the driver, for instance "linux" or "dummy".'),
    cfg.StrOpt(
        'share_backend_name',
        mutable=True,
        help='Name of the backend that the extra spec share_backend_name of share types is compared with. Default: the '
        'name of the section.',
    ),
    cfg.StrOpt(
        'backend_availability_zone',
        help='Availability zone of this backend. Default: storage_availability_zone.',
    ),
    cfg.BoolOpt(
        'driver_handles_share_servers',
        default=False,
        help='Create share servers for the shares of this backend. The driver must support the value.',
    ),
    numeric.Int(
        'max_shares_per_share_server',
        default=-1,
        min=-1,
        help='Maximum number of shares on one share server. -1: no limit.',
    ),
    cfg.BoolOpt(
        'update_shares_status_on_ensure',
        mutable=True,
        help='Value of [DEFAULT] update_shares_status_on_ensure for this backend. Default: the value there.',
    ),
    numeric.Float(
        'ensure_interval',
        default=0.0,
        min=0.0,
        mutable=True,
        help='Seconds between two checks of all shares of this backend. 0: checks only at start of the service, '
        "after a change of the backend's configuration, and on request.",
    ),
    cfg.StrOpt(
        'admin_network_id',
        help="Id of the administrators' network at the network plugin. Share servers get addresses in it if the driver "
        'needs them.',
    ),
    cfg.StrOpt(
        'admin_subnet_id', help="Id of the subnet in the administrators' network at the network plugin."
    ),
    cfg.StrOpt(
        'admin_network_project',
        help="Project that looks up the administrators' network and owns its addresses. Without a project, every "
        'project must have access to the network.',
    ),
    cfg.StrOpt(
        'admin_network_config_group',
        help='Section with the network plugin of the administrators\' network: "plugin" and, for the standalone '
        'plugin, "file". Default: the plugin of [network].',
    ),
    numeric.Float(
        'server_migration_driver_continue_update_interval',
        default=60.0,
        min=0.1,
        max=numeric.WEEK,
        mutable=True,
        help='Maximum seconds between two progress checks of the migration of a share server to this backend. The '
        'second check comes after a second, and each later pause is twice as long as the one before, up to this '
        'value.',
    ),
    numeric.Float(
        'migration_driver_continue_update_interval',
        default=60.0,
        min=0.1,
        max=numeric.WEEK,
        mutable=True,
        help='Maximum seconds between two progress checks of the migration of a single share to this backend. The '
        'second check comes after a second, and each later pause is twice as long as the one before, up to this '
        'value.',
    ),
    cfg.ListOpt(
        'migration_ignore_files',
        default=['lost+found'],
        mutable=True,
        help='Names of files and directories that are left out when this host copies a share to this backend.',
    ),
    cfg.BoolOpt(
        'migration_keep_writable',
        default=False,
        mutable=True,
        help='Let clients write while this host copies a share to this backend; access rules are read-only only during '
        'the cut-over. If false, they are read-only from the start, as in Manila.',
    ),
    numeric.Float(
        'replica_state_update_interval',
        default=300.0,
        min=1.0,
        help='Seconds between two updates of the replicas at this backend. If another replica is promoted without '
        'the backend of the active one, data written in this time may be lost.',
    ),
    cfg.BoolOpt(
        'backup_over_nfs',
        default=False,
        help='Back up NFS shares through an NFS mount on this host, even if the driver has a method of its own. If it '
        'has none, this is always the method.',
    ),
    cfg.IPOpt(
        'backup_client_ip',
        help='Client address that the backend admits for a backup through a mount. Default: the address of this host on '
        'its route to the server of the share.',
    ),
    cfg.StrOpt(
        'backup_share_mount_options',
        default='retry=0,soft,timeo=300,nosuid,nodev,noexec',
        help='Mount options for a backup through a mount, separated by commas. ro or rw is added.',
    ),
    numeric.Int(
        'max_share_server_size',
        default=-1,
        min=-1,
        mutable=True,
        help='Maximum total size in GiB of the shares on one share server. -1: no limit.',
    ),
]


def register_backend(conf: cfg.ConfigOpts, name: str) -> None:
    """Register the options of a backend for the section ``name``."""
    conf.register_opts(BACKEND, group=name)


OPTIONS = {'DEFAULT': DEFAULT}
