# SPDX-License-Identifier: Apache-2.0
"""Options of operations: number of threads, time of a claim, and end of retries."""

from manila_lite.conf import numeric

OPERATIONS = [
    numeric.Int(
        'workers',
        default=12,
        min=1,
        max=numeric.THREADS,
        help='Maximum number of operations that one backend or scheduler runs at the same time.',
    ),
    numeric.Int(
        'fast_workers',
        default=6,
        min=1,
        max=numeric.THREADS,
        help='Number of further threads, for changes of access rules only. Such a change never waits for a copy.',
    ),
    numeric.Int(
        'reserved_workers',
        default=33,
        min=0,
        max=90,
        deprecated_name='reserved_hands',
        help='Percentage of the threads of each kind (workers, fast_workers) that is kept for projects without a '
        'running operation there, so that one project with slow work cannot occupy all threads. Raise it if '
        'projects still wait for each other. 0: for a cloud with one project.',
    ),
    numeric.Float(
        'lease',
        default=30.0,
        min=2.0,
        max=numeric.WEEK,
        help='Seconds after which another worker takes over the operations of a dead process. The lease is renewed '
        'after a third of this time.',
    ),
    numeric.Float(
        'failover_lease',
        default=6.0,
        min=6.0,
        max=numeric.WEEK,
        help='Seconds after which another host takes over a backend with several hosts, if the one that serves it does not '
        'renew its lease. It does so after a quarter of this time, and lets go of the storage by itself when a fifth is '
        'left. Raise it if the database, or the hosts, may be silent for longer than half of it.',
    ),
    numeric.Float(
        'max_clock_difference',
        default=5.0,
        min=0.5,
        max=3600,
        help='Seconds by which the clock of a host may differ from that of the database. A service with a clock that '
        'differs by more claims no work, and goes on by itself once its clock is right. Leases are times of '
        'these clocks: set it to a fifth of "lease" at most.',
    ),
    numeric.Float(
        'poll_interval',
        default=2.0,
        min=0.1,
        mutable=True,
        help='Seconds between two searches for operations whose wake-up was lost.',
    ),
    numeric.Int(
        'max_attempts',
        default=4,
        min=1,
        max=20,
        mutable=True,
        help='Maximum number of tries of a step that fails without a stated reason. Then the operation is undone.',
    ),
    numeric.Float(
        'retry_delay',
        default=1.0,
        min=0.0,
        max=3600,
        mutable=True,
        help='Seconds before the second try. The delay doubles with each further try.',
    ),
    numeric.Float(
        'finished_retention_hours',
        default=7 * 24.0,
        min=0,
        max=numeric.DECADE_IN_HOURS,
        mutable=True,
        deprecated_name='keep_finished',
        help='Hours for which finished operations are kept for inspection.',
    ),
]

OPTIONS = {'operations': OPERATIONS}
