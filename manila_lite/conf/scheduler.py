# SPDX-License-Identifier: Apache-2.0
"""Options of the scheduler: its filters and weighers, in their order."""

from oslo_config import cfg

from manila_lite.conf import numeric

SCHEDULER = [
    cfg.ListOpt(
        'filters',
        default=[
            'up',
            'excluded',
            'only_host',
            'availability_zone',
            'driver_handles_share_servers',
            'protocol',
            'capabilities',
            'share_replication',
            'create_from_snapshot',
            'share_network',
            'affinity',
            'anti_affinity',
            'capacity',
        ],
        help='Entry point names of the filters, in the order of their use.',
    ),
    cfg.ListOpt(
        'weighers',
        default=['capacity', 'goodness', 'host_affinity'],
        help='Entry point names of the weighers.',
    ),
    numeric.Float(
        'first_report_wait',
        default=30.0,
        min=0.0,
        help='Seconds for which a share without a suitable pool waits for a backend that has just started and has '
        'not reported a pool yet.',
    ),
    numeric.Float(
        'restart_wait',
        default=60.0,
        min=0.0,
        help='Seconds for which a new share or a migration waits for a backend that would suit it, and is down, but was '
        'up a moment ago: its service is probably being restarted. It also waits so long for a backend whose host has a '
        'wrong clock.',
    ),
    numeric.Float(
        'schedule_interval',
        default=10.0,
        min=0.05,
        help='Seconds between two searches for schedules whose time has come. Runs are late by this much at most.',
    ),
    numeric.Float(
        'capacity_weight_multiplier',
        default=1.0,
        min=-numeric.MOST,
        help='Weight of free capacity. A negative value fills one pool after the other.',
    ),
    numeric.Float(
        'goodness_weight_multiplier',
        default=1.0,
        min=-numeric.MOST,
        help='Weight of the goodness that a backend reports of itself.',
    ),
    numeric.Float(
        'host_affinity_weight_multiplier',
        default=1.0,
        min=-numeric.MOST,
        help='Weight of a place on the backend of the source share.',
    ),
]

OPTIONS = {'scheduler': SCHEDULER}
