# SPDX-License-Identifier: Apache-2.0
"""The options of the data-processing service: its API and its engine."""

from oslo_config import cfg

from manila_lite.conf import numeric
from manila_lite.siblings import conf as share_service
from manila_lite.siblings import options
from manila_lite.siblings.dataproc import node_conf

DATAPROC = [
    *options.http(8386),
    cfg.StrOpt(
        'infra',
        default='inventory',
        help='Entry point of the source of nodes: "inventory" reads them from a file, "compute" creates servers of the '
        'compute service.',
    ),
    cfg.DictOpt(
        'handlers', default={'NFS': 'nfs'}, help='Entry point of the mount handler for each share protocol.'
    ),
    cfg.StrOpt(
        'fake_directory', help='Directory for the nodes of the infrastructure "fake", which is for tests.'
    ),
    numeric.Int('fake_nodes', default=16, min=1, help='Number of nodes of the infrastructure "fake".'),
    cfg.ListOpt(
        'images', default=['plain'], help='Names of the images for clusters, for clients that list them.'
    ),
    numeric.Int('max_nodes', default=256, min=1, help='Maximum number of nodes of one cluster.'),
    numeric.Int(
        'parallel',
        default=8,
        min=1,
        max=numeric.THREADS,
        help='Number of nodes of a cluster that are configured at the same time.',
    ),
    numeric.Int(
        'attempts',
        default=5,
        min=1,
        max=10000,
        help='Number of tries with a node that does not answer, before the failure is reported.',
    ),
    numeric.Float(
        'retry_delay',
        default=3.0,
        min=0.0,
        max=3600,
        help='Seconds before the next try with a node that does not answer.',
    ),
    numeric.Float(
        'share_timeout',
        default=120.0,
        min=0.0,
        max=numeric.WEEK,
        help='Seconds for which the share service may be unreachable, or an access rule inactive, before the failure '
        'is reported.',
    ),
    numeric.Float(
        'spawn_timeout',
        default=600.0,
        min=0.0,
        max=numeric.WEEK,
        help='Seconds within which a new node must answer.',
    ),
    numeric.Float(
        'check_interval',
        default=60.0,
        min=0.0,
        help='Seconds between two checks of the share mounts of all nodes. A check repairs mounts, for instance '
        'after a reboot of a node. 0: no checks.',
    ),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('dataproc', DATAPROC), *node_conf.list_opts()]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of the service, and those for the connection to the share service, on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
    share_service.register_opts(conf)
