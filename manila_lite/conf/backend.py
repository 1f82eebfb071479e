# SPDX-License-Identifier: Apache-2.0
"""Backends and the hosts they run on."""

import socket

from oslo_config import cfg

DEFAULT = [
    cfg.HostAddressOpt('host', default=socket.gethostname(), sample_default='<hostname>',
                       help='Name of this host in service records. Give it a fixed value where the host name may change.'),
    cfg.StrOpt('state_path', default='/var/lib/manila_lite', help='Directory for everything that must survive a restart.'),
    cfg.ListOpt('enabled_share_backends', default=[], help='Backends that this share manager runs; each has a section '
                                                            'of its own with at least "driver".'),
    cfg.IntOpt('service_down_time', default=60, min=2, help='Seconds without a heartbeat after which a service is down.'),
    cfg.IntOpt('report_interval', default=10, min=1, help='Seconds between heartbeats.'),
    cfg.BoolOpt('automatic_share_server_cleanup', default=True, help='Whether share servers that nobody uses go away.'),
    cfg.IntOpt('unused_share_server_cleanup_interval', default=10, min=0, help='Minutes after which they do.'),
    cfg.IntOpt('capability_interval', default=60, min=1, help='Seconds between capacity reports of a backend.'),
    cfg.BoolOpt('update_shares_status_on_ensure', default=True,
                help='Whether shares show "ensuring" while a check of their backend that was asked for over the API is at '
                     'them, and "error" if it finds them broken. A backend may have its own in its section.'),
    cfg.BoolOpt('ensure_shares_strict', default=False,
                help='Whether such a check is refused while any share of the backend is not available. Otherwise those that '
                     'are busy are passed over.'),
]

#: Registered in the section of every backend, beside the options of its driver.
BACKEND = [
    cfg.StrOpt('driver', help='Entry point of the driver, for instance "linux" or "dummy".'),
    cfg.StrOpt('share_backend_name', help='Name that share types match with share_backend_name; default: the section.'),
    cfg.StrOpt('backend_availability_zone', help='Zone of this backend; default: storage_availability_zone.'),
    cfg.BoolOpt('driver_handles_share_servers', default=False,
                help='Whether the driver makes share servers. Must be what the driver supports.'),
    cfg.IntOpt('max_shares_per_share_server', default=-1, min=-1, help='Shares on one share server at most; -1: any number.'),
    cfg.BoolOpt('update_shares_status_on_ensure', help='As the option of that name in [DEFAULT], for this backend; default: '
                                                       'what is said there.'),
    cfg.FloatOpt('ensure_interval', default=0.0, min=0.0, mutable=True,
                 help='Seconds after which all shares of this backend are checked again; 0: only when the service starts, when '
                      'the configuration of the backend changed, and when asked for.'),
    cfg.StrOpt('admin_network_id', help='Network of administrators, by its id at the network plugin: where share servers have '
                                        'addresses if the driver needs some there.'),
    cfg.StrOpt('admin_subnet_id', help='Subnet of that network, by its id at the network plugin.'),
    cfg.StrOpt('admin_network_project', help='Project as which it is looked up and to which its addresses belong; without '
                                             'one it must be a network that every project may use.'),
    cfg.StrOpt('admin_network_config_group', help='Section with "plugin" and, for the standalone one, "file", if it is not the '
                                                  'plugin of [network] that knows this network.'),
    cfg.FloatOpt('server_migration_driver_continue_update_interval', default=60.0, min=0.1,
                 help='Seconds between looks at how far the migration of a share server to this backend is.'),
    cfg.FloatOpt('migration_driver_continue_update_interval', default=60.0, min=0.1,
                 help='Seconds between looks at how far the migration of a single share to this backend is.'),
    cfg.FloatOpt('replica_state_update_interval', default=300.0, min=1.0,
                 help='Seconds between updates of the replicas at this backend: what is written to a share may be lost for so '
                      'long if another replica has to be promoted without its backend.'),
    cfg.BoolOpt('backup_over_nfs', default=False,
                help='Whether NFS shares are backed up by mounting them on this host, as a client does, although the driver '
                     'has a way of its own. Where it has none, it is always so.'),
    cfg.IPOpt('backup_client_ip', help='Address that the backend lets in for such a backup; default: that of this host when it '
                                       'talks to the server of the share.'),
    cfg.StrOpt('backup_share_mount_options', default='retry=0,soft,timeo=300,nosuid,nodev,noexec',
               help='Options that mount is given for such a share, beside ro or rw, separated by commas.'),
    cfg.IntOpt('max_share_server_size', default=-1, min=-1, help='GiB of shares on one share server at most; -1: any.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group; the group of a backend is named by the operator."""
    return [('DEFAULT', DEFAULT), ('backend_example', BACKEND)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The host options are registered on ``conf``; backends follow when their names are known."""
    conf.register_opts(DEFAULT)


def register_backend(conf: cfg.ConfigOpts, name: str) -> None:
    """The section ``name`` may be read as a backend."""
    conf.register_opts(BACKEND, group=name)
