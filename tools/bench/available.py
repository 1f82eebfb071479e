#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from asking for a share until it is available: everything in one process, SQLite, the dummy backend.

The baseline is the time until the request is accepted, in the same run.
"""

import sys
import time

import product
import report


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    count = figures.pick(5, 60, 300)
    accepted, available = [], []
    with product.product() as made:
        made.start('all_in_one')
        client = made.answers()
        made.wait_for_pool(client)
        for number in range(count + 3):
            began = time.perf_counter()
            share_id = client.create()
            taken = time.perf_counter()
            client.wait(f'/shares/{share_id}', 'share', 'available')
            if number >= 3:     # caches are empty for the first ones
                accepted.append((taken - began) * 1e3)
                available.append((time.perf_counter() - began) * 1e3)
    base = figures.add('accepted, p50', report.percentile(accepted, 0.5), 'ms')
    figures.add('accepted, p99', report.percentile(accepted, 0.99), 'ms', base)
    figures.add('available, p50', report.percentile(available, 0.5), 'ms', base)
    figures.add('available, p99', report.percentile(available, 0.99), 'ms', base)


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
