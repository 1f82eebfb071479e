# SPDX-License-Identifier: Apache-2.0
"""Options of the compute service: ``[compute]``, those of its drivers, and one of ``[notifications]``."""

from oslo_config import cfg

from manila_lite.conf import numeric
from manila_lite.siblings import conf as share_service
from manila_lite.siblings import options

COMPUTE = [
    *options.http(8774),
    cfg.StrOpt('driver', default='qemu', help='Entry point of the hypervisor driver of this host.'),
    cfg.StrOpt(
        'images',
        help='Directory of the disk images, kernels and initial RAM disks from which servers of all projects may boot. '
        'Images of servers are in subdirectories of it, one for each project; the service manages them. Set it to '
        'a common directory of several hosts. Default: images below state.',
    ),
    cfg.StrOpt(
        'state', help='Directory for the data of the servers of this host. Default: compute below state_path.'
    ),
    cfg.StrOpt(
        'networks_file',
        help='YAML file with the networks of servers: a list "networks" of id and cidr, with optional name, gateway, '
        'mtu, ranges and projects. Default: no networks.',
    ),
    cfg.StrOpt(
        'my_shared_fs_storage_ip',
        help='Address from which this host mounts shares, and which access rules admit. Default: the address of its '
        'route to the outside.',
    ),
    numeric.Float(
        'attach_timeout',
        default=60.0,
        min=1.0,
        max=numeric.WEEK,
        help='Seconds for which an attachment waits for a share service that does not answer, or for an access rule '
        'to become active. Then the attachment is in error.',
    ),
    numeric.Float(
        'console_timeout',
        default=15.0,
        min=1.0,
        max=numeric.WEEK,
        help='Seconds for which a request for the console waits for the host.',
    ),
    numeric.Int('max_attachments', default=16, min=1, help='Maximum number of shares of one server.'),
    numeric.Int('max_servers', default=100, min=1, help='Maximum number of servers of one project.'),
    numeric.Int(
        'max_images',
        default=20,
        min=0,
        help='Maximum number of images of servers of one project. Each may be as large as a disk: lower it for a small '
        'directory of images.',
    ),
    numeric.Int('max_memory', default=1 << 16, min=32, help='Maximum memory of a server in MiB.'),
    numeric.Int('max_vcpus', default=16, min=1, help='Maximum number of processors of a server.'),
    cfg.BoolOpt(
        'resume_guests',
        default=False,
        help='Start servers again with the agent if they ran when the host went down. If false, they are stopped.',
    ),
    numeric.Float(
        'reconcile_interval',
        default=60.0,
        min=1.0,
        help='Seconds between two comparisons of servers, mounts and access rules with the database.',
    ),
    numeric.Float(
        'retry_interval',
        default=5.0,
        min=0.05,
        help='Seconds between two tries to detach a share that its host or service does not release.',
    ),
]
NOTIFICATIONS: list[cfg.Opt] = [
    cfg.BoolOpt(
        'include_share_mapping',
        default=False,
        help='Include the list of its shares in notifications about a server.',
    )
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('compute', COMPUTE), ('notifications', NOTIFICATIONS)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this file, and those for the connection to the share service, on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
    share_service.register_opts(conf)
