# SPDX-License-Identifier: Apache-2.0
"""The options of the data-processing service: its API and its engine."""

from oslo_config import cfg

from manila_lite.siblings import conf as share_service
from manila_lite.siblings import options
from manila_lite.siblings.dataproc import node_conf

DATAPROC = [
    *options.http(8386),
    cfg.StrOpt('infra', default='inventory', help='Entry point of where nodes come from: "inventory" reads a file of '
               'them, "compute" makes servers of the compute service.'),
    cfg.DictOpt('handlers', default={'NFS': 'nfs'}, help='For each protocol of shares the entry point of what mounts it.'),
    cfg.StrOpt('fake_directory', help='Where the infrastructure "fake", which is for tests, keeps its nodes.'),
    cfg.IntOpt('fake_nodes', default=16, min=1, help='How many nodes it has.'),
    cfg.ListOpt('images', default=['plain'], help='Names of images that clusters may be made of, for clients that ask.'),
    cfg.IntOpt('max_nodes', default=256, min=1, help='Nodes of one cluster at most.'),
    cfg.IntOpt('parallel', default=8, min=1, help='Nodes of a cluster that are worked on at the same time.'),
    cfg.IntOpt('attempts', default=5, min=1, help='How often a node that does not answer is tried before that is said.'),
    cfg.FloatOpt('retry_delay', default=3.0, min=0.0, help='Seconds until a node that does not answer is tried again.'),
    cfg.FloatOpt('share_timeout', default=120.0, min=0.0,
                 help='Seconds for which the share service may be away, or a rule not active, before that is said.'),
    cfg.FloatOpt('spawn_timeout', default=600.0, min=0.0, help='Seconds until a new node must answer.'),
    cfg.FloatOpt('check_interval', default=60.0, min=0.0,
                 help='Seconds between looks whether all nodes still have their shares mounted, as after a reboot of one; '
                      '0: never.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('dataproc', DATAPROC), *node_conf.list_opts()]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of the service are registered on ``conf``, and those of how it reaches the share service."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
    share_service.register_opts(conf)
