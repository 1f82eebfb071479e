# SPDX-License-Identifier: Apache-2.0
"""What can be seen of a process: its metrics here; oslo.reports' and osprofiler's options stand in their own groups."""

from oslo_config import cfg
from oslo_reports import opts as reports_opts
from osprofiler import opts as profiler_opts

METRICS = [
    cfg.StrOpt('listen', default='127.0.0.1', help='Address on which each process shows its metrics to Prometheus.'),
    cfg.PortOpt('port', default=0, help='First port for metrics; 0 shows none. Each process takes the first one that is '
                                        'free from here on, so that all processes of a host can share a file.'),
    cfg.IntOpt('ports', default=16, min=1, help='How many ports from the first one on may be taken. Prometheus is told to '
                                                'look at all of them.'),
    cfg.BoolOpt('database', default=True, help='Also show what is read from the database: open operations, pools, usage, '
                                               'heartbeats. It is the same whichever process is asked.'),
    cfg.FloatOpt('cache_seconds', default=15.0, min=1.0,
                 help='What was read from the database is shown for so long before it is read again; for longer where '
                      'reading it takes more than a twentieth of that.'),
    cfg.IntOpt('max_rows', default=1000, min=1, help='Most pools, and most services, that are shown one by one.'),
    cfg.IntOpt('projects', default=0, min=0, help='Show the usage of so many projects, those with the most gigabytes. '
                                                  'By default only the sum of all projects.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('metrics', METRICS)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Ours, oslo.reports' and osprofiler's options are registered on ``conf``."""
    conf.register_opts(METRICS, group='metrics')
    reports_opts.set_defaults(conf)
    for _, options in profiler_opts.list_opts():
        for option in options:
            # It may hold a password, and osprofiler does not say so.
            option.secret = option.secret or option.dest == 'connection_string'
    profiler_opts.set_defaults(conf)
