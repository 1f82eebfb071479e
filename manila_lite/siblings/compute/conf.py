# SPDX-License-Identifier: Apache-2.0
"""Options of the compute service: ``[compute]``, those of its drivers, and one of ``[notifications]``."""

from oslo_config import cfg

from manila_lite.siblings import conf as share_service
from manila_lite.siblings import options

COMPUTE = [
    *options.http(8774),
    cfg.StrOpt('driver', default='qemu', help='The hypervisor of this host, by its entry point.'),
    cfg.StrOpt('images', help='Directory of the disk images, kernels and initial RAM disks that servers of all projects may '
                              'boot from. Images made of servers are in folders below it, one for each project, which '
                              'belong to the service. Set it where hosts share a directory. By default images below state.'),
    cfg.StrOpt('state', help='Directory for what belongs to the servers of this host. By default compute below state_path.'),
    cfg.StrOpt('networks_file', help='YAML file of the networks that servers can be on: a list "networks" of id and cidr, and, '
                                     'if they differ from the defaults, name, gateway, mtu and ranges. Default: no networks.'),
    cfg.StrOpt('my_shared_fs_storage_ip', help='Address from which this host mounts shares, so the one that access rules let '
                                               'in. By default the address of its route to the outside.'),
    cfg.FloatOpt('attach_timeout', default=60.0, min=1.0, help='Seconds for which an attachment waits for a share service '
                 'that does not answer, or for a rule that does not become active, before it is in error.'),
    cfg.FloatOpt('console_timeout', default=15.0, min=1.0, help='Seconds that a request for the console waits for the host.'),
    cfg.IntOpt('max_attachments', default=16, min=1, help='Shares that one server may have.'),
    cfg.IntOpt('max_servers', default=100, min=1, help='Servers that one project may have.'),
    cfg.IntOpt('max_images', default=20, min=0, help='Images that one project may have made of its servers. Each may be as '
                                                     'large as a disk: lower it where the directory of images is small.'),
    cfg.IntOpt('max_memory', default=1 << 16, min=32, help='Largest memory of a server, in MiB.'),
    cfg.IntOpt('max_vcpus', default=16, min=1, help='Most processors of a server.'),
    cfg.BoolOpt('resume_guests', default=False, help='Servers that ran when the host went down are started again with the '
                                                     'agent. Else they are stopped.'),
    cfg.FloatOpt('reconcile_interval', default=60.0, min=1.0, help='Seconds between looks whether servers, mounts and access '
                 'rules are as the database says.'),
    cfg.FloatOpt('retry_interval', default=5.0, min=0.05, help='Seconds between tries to detach a share whose host or '
                                                               'service does not let it go.'),
]
NOTIFICATIONS = [
    cfg.BoolOpt('include_share_mapping', default=False, help='Notifications about a server have a list of its shares.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('compute', COMPUTE), ('notifications', NOTIFICATIONS)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file, and those for the way to the share service, are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
    share_service.register_opts(conf)
