# SPDX-License-Identifier: Apache-2.0
"""Options of metrics."""

from oslo_config import cfg

from manila_lite.conf import numeric

OPTIONS = {
    'metrics': [
        cfg.StrOpt(
            'listen',
            default='127.0.0.1',
            help='Address on which each process serves its metrics for Prometheus.',
        ),
        cfg.PortOpt(
            'port',
            default=0,
            help='First port for metrics. Each process takes the first free port from here on, so that all processes of a '
            'host can share a configuration file. 0: no metrics.',
        ),
        numeric.Int(
            'ports',
            default=16,
            min=1,
            help='Number of ports for metrics, from the first one on. Configure Prometheus to read all of them.',
        ),
        cfg.BoolOpt(
            'database',
            default=True,
            help='Include metrics from the database: open operations, pools, usage, heartbeats. They are the same in all '
            'processes.',
        ),
        numeric.Float(
            'cache_seconds',
            default=15.0,
            min=1.0,
            help='Seconds for which values from the database are kept before they are read again. If reading takes more '
            'than a twentieth of this time, they are kept for twenty times the reading time.',
        ),
        numeric.Int(
            'max_rows',
            default=1000,
            min=1,
            help='Maximum number of pools, and of services, with metrics of their own.',
        ),
        numeric.Int(
            'projects',
            default=0,
            min=0,
            help='Number of projects with usage metrics of their own: those with the most gigabytes. 0: only the sum of '
            'all projects.',
        ),
        numeric.Int(
            'fullest_shares',
            default=0,
            min=0,
            help='Number of shares of each pool with a metric of their own: the fullest ones. 0: only sums. Each share is '
            'a time series for Prometheus.',
        ),
    ]
}
