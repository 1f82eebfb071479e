# SPDX-License-Identifier: Apache-2.0
"""``[dataproc_nodes]``: the options of infrastructures, logins on nodes, and mounts."""

from typing import Any

from oslo_config import cfg

from manila_lite.conf import numeric
from manila_lite.siblings.conf import COMPUTE_GROUP, COMPUTE_SERVICE

GROUP = 'dataproc_nodes'

NODES = [
    cfg.StrOpt(
        'ssh_user',
        default='root',
        help='User for the login on nodes without a user of their own. A user other than root becomes root by "sudo '
        '-n".',
    ),
    cfg.StrOpt(
        'ssh_key_file',
        help='File with the private key, without a passphrase, for nodes without a key file of their own.',
    ),
    numeric.Float(
        'ssh_timeout',
        default=30,
        min=1,
        max=numeric.WEEK,
        help='Seconds after which a login without an answer fails.',
    ),
    numeric.Float(
        'command_timeout',
        default=120,
        min=1,
        max=numeric.WEEK,
        help='Seconds after which a command on a node is stopped.',
    ),
    numeric.Float(
        'answer_timeout',
        default=10,
        min=1,
        max=numeric.WEEK,
        help='Seconds after which a mount without an answer is reported by the periodic check.',
    ),
    numeric.Float(
        'install_timeout',
        default=600,
        min=1,
        max=numeric.WEEK,
        help='Seconds after which the installation of an NFS client on a node is stopped.',
    ),
    cfg.StrOpt(
        'ssh_proxy_command',
        default='',
        help='Command whose input and output are a connection to a node, for networks that the engine cannot reach. It '
        'is split into words as by a shell, but no shell runs; {host} and {port} are replaced. For example "ssh '
        '-W {host}:{port} bastion".',
    ),
    cfg.StrOpt(
        'inventory_file',
        help='YAML file of existing nodes, for [dataproc] infra = inventory: a list "nodes" of name, address and '
        'host_key, with optional port, user and key_file.',
    ),
    cfg.StrOpt(
        'compute_owner',
        default='mlite-dataproc',
        help='Mark on the servers of this service, for [dataproc] infra = compute. Two such services in one project of '
        'the compute service need different marks: each deletes servers with its mark that it does not know.',
    ),
    cfg.StrOpt('compute_network', help='Id of the network of these servers. Default: the only network.'),
    cfg.StrOpt(
        'compute_image', help='Image of these servers for clusters without an image. It needs cloud-init.'
    ),
    cfg.StrOpt(
        'compute_kernel', help='Kernel of these servers if they have no image, or the image has no kernel.'
    ),
    cfg.StrOpt('compute_initrd', help='Initial RAM disk for compute_kernel.'),
    cfg.StrOpt('compute_cmdline', help='Command line for compute_kernel.'),
    numeric.Int(
        'compute_vcpus',
        default=1,
        min=1,
        help='Number of processors of a server whose node group has no flavor_id. A flavor_id is PROCESSORSxMiB of '
        'memory, as in 2x4096.',
    ),
    numeric.Int(
        'compute_memory',
        default=1024,
        min=16,
        help='Memory in MiB of a server whose node group has no flavor_id.',
    ),
    numeric.Int(
        'compute_disk',
        default=0,
        min=0,
        help='Size in GiB of the disk of a server. 0: the size of the image.',
    ),
    cfg.StrOpt('nfs_version', default='4.2', help='NFS version of the mounts on nodes.'),
    cfg.ListOpt(
        'nfs_options',
        default=[],
        help='Further mount options of the NFS client, such as "hard" or "nconnect=4".',
    ),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [(GROUP, NODES), (COMPUTE_GROUP, COMPUTE_SERVICE)]


def register_opts(conf: Any) -> None:
    """Register the options on ``conf``."""
    for group, options in list_opts():
        conf.register_opts(options, group=group)
