# SPDX-License-Identifier: Apache-2.0
"""Durable work: how many hands, how long a claim holds, when to give up."""

from oslo_config import cfg

OPERATIONS = [
    cfg.IntOpt('workers', default=12, min=1, help='Operations that one backend or scheduler works on at a time.'),
    cfg.IntOpt('fast_workers', default=6, min=1, help='Further hands that only change access rules, so that a grant '
                                                      'never waits behind a copy.'),
    cfg.IntOpt('reserved_hands', default=33, min=0, max=90,
               help='Percent of the hands of each kind (workers, fast_workers) that are kept for projects of which nothing '
                    'runs there, so that one with slow work cannot hold all of them. More, if projects wait for each '
                    'other all the same; 0, if there is only one project.'),
    cfg.FloatOpt('lease', default=30.0, min=2.0, help='Seconds after which the work of a process that vanished is '
                                                      'taken over. Renewed at a third of it.'),
    cfg.FloatOpt('poll_interval', default=2.0, min=0.1, mutable=True,
                 help='Seconds between looks for work whose wake-up was lost.'),
    cfg.IntOpt('max_attempts', default=4, min=1, mutable=True,
               help='Tries of a step that fails for no stated reason, before the operation is undone.'),
    cfg.FloatOpt('retry_delay', default=1.0, min=0.0, mutable=True,
                 help='Seconds before the second try; doubled for each further one.'),
    cfg.FloatOpt('keep_finished', default=7 * 24.0, mutable=True,
                 help='Hours that finished operations are kept for inspection.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('operations', OPERATIONS)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)

