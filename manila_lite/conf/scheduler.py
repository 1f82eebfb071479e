# SPDX-License-Identifier: Apache-2.0
"""The scheduler: which filters and weighers, in which order."""

from oslo_config import cfg

SCHEDULER = [
    cfg.ListOpt('filters', default=['up', 'excluded', 'only_host', 'availability_zone',
                                    'driver_handles_share_servers', 'protocol', 'capabilities',
                                    'share_replication', 'create_from_snapshot', 'share_network', 'affinity',
                                    'anti_affinity', 'capacity'],
                help='Filters by entry point name, in the order in which they are asked.'),
    cfg.ListOpt('weighers', default=['capacity', 'goodness', 'host_affinity'], help='Weighers by entry point name.'),
    cfg.FloatOpt('first_report_wait', default=30.0, min=0.0, help='Seconds that a share which fits nowhere waits for a '
                 'backend that has just started and has not reported any pool yet.'),
    cfg.FloatOpt('capacity_weight_multiplier', default=1.0, help='Weight of free space; negative fills pools up one by one.'),
    cfg.FloatOpt('goodness_weight_multiplier', default=1.0, help='Weight of what a backend says of itself.'),
    cfg.FloatOpt('host_affinity_weight_multiplier', default=1.0, help="Weight of staying on the source share's backend."),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('scheduler', SCHEDULER)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)

