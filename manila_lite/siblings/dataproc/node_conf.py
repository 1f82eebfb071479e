# SPDX-License-Identifier: Apache-2.0
"""``[dataproc_nodes]``: where nodes come from, how they are reached, and how they mount."""

from typing import Any

from oslo_config import cfg

from manila_lite.siblings.conf import COMPUTE_GROUP, COMPUTE_SERVICE

GROUP = 'dataproc_nodes'

NODES = [
    cfg.StrOpt('ssh_user', default='root',
               help='Who logs in on nodes that do not say otherwise; anybody else than root becomes root by "sudo -n".'),
    cfg.StrOpt('ssh_key_file', help='Private key, without a passphrase, for nodes that do not say otherwise.'),
    cfg.FloatOpt('ssh_timeout', default=30, min=1, help='Seconds after which a login counts as not answered.'),
    cfg.FloatOpt('command_timeout', default=120, min=1, help='Seconds after which a command on a node is ended.'),
    cfg.FloatOpt('install_timeout', default=600, min=1,
                 help='Seconds after which the installation of an NFS client on a node is ended.'),
    cfg.StrOpt('ssh_proxy_command', default='',
               help='Program that connects its input and output with a node, for networks that the engine is not in: words as '
                    'of a shell, but no shell runs; {host} and {port} are put in. '
                    'For example "ssh -W {host}:{port} bastion".'),
    cfg.StrOpt('inventory_file',
               help='YAML file of existing nodes, for [dataproc] infra = inventory: a list "nodes" of name, address, host_key, '
                    'and if they differ from the defaults port, user, key_file.'),
    cfg.StrOpt('compute_owner', default='mlite-dataproc',
               help='What marks servers of [dataproc] infra = compute as this service\'s. Two such services that use one '
                    'project of the compute service need different ones: each deletes what it marked and does not know.'),
    cfg.StrOpt('compute_network', help='Id of the network that these servers are on. By default the only one there is.'),
    cfg.StrOpt('compute_image', help='Image that they boot from, where the cluster names none; it needs cloud-init.'),
    cfg.StrOpt('compute_kernel', help='Kernel that they boot, where they boot no image, or it has none.'),
    cfg.StrOpt('compute_initrd', help='Initial RAM disk that goes with the kernel.'),
    cfg.StrOpt('compute_cmdline', help='Command line of the kernel.'),
    cfg.IntOpt('compute_vcpus', default=1, min=1,
               help='Their processors, where the node group has no flavor_id; that is as 2x4096, with the memory behind.'),
    cfg.IntOpt('compute_memory', default=1024, min=16, help='Their memory in MiB, where the node group has no flavor_id.'),
    cfg.IntOpt('compute_disk', default=0, min=0, help='Size of their disks in GiB; 0: that of the image.'),
    cfg.StrOpt('nfs_version', default='4.2', help='NFS version that nodes mount with.'),
    cfg.ListOpt('nfs_options', default=[], help='More options of the NFS client, such as "hard" or "nconnect=4".'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [(GROUP, NODES), (COMPUTE_GROUP, COMPUTE_SERVICE)]


def register_opts(conf: Any) -> None:
    """The options are known to ``conf``."""
    for group, options in list_opts():
        conf.register_opts(options, group=group)
