#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from granting access until the rule is active, with nothing else to do, and while many shares are being made.

Everything in one process, SQLite; the dummy backend takes 20 ms for each share. The baseline is the idle case.
"""

import sys
import threading
import time

import product
import report

_DELAY = 0.02


def grants(client: product.Client, share: str, count: int, go_on: threading.Event | None = None) -> list[float]:
    """Grant one rule after the other; return the milliseconds until each was active."""
    times = []
    for number in range(count):
        if go_on is not None and not go_on.is_set():
            break
        grant = {'access_type': 'ip', 'access_to': f'10.{len(times) % 200}.{number // 250}.{number % 250 + 1}'}
        began = time.perf_counter()
        rule = client.ask('POST', f'/shares/{share}/action', {'allow_access': grant})['access']['id']
        client.wait(f'/share-access-rules/{rule}', 'access', 'active', 'state')
        times.append((time.perf_counter() - began) * 1e3)
        client.ask('POST', f'/shares/{share}/action', {'deny_access': {'access_id': rule}})
    return times


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    shares, count = figures.pick((5, 3), (150, 30), (1000, 200))
    with product.product() as made:
        made.knobs(f'create_share:delay={_DELAY}')
        made.start('all_in_one')
        client = made.answers()
        made.wait_for_pool(client)
        share = client.create()
        client.wait(f'/shares/{share}', 'share', 'available')
        grants(client, share, 2)
        idle = grants(client, share, count)
        report.say(f'{shares} shares are asked for')
        busy_now = threading.Event()
        busy_now.set()

        def job() -> None:
            other = product.Client(made.port)
            made_shares = [other.create() for _ in range(shares)]
            other.wait(f'/shares/{made_shares[-1]}', 'share', 'available', pause=0.05)
            busy_now.clear()

        worker = threading.Thread(target=job)
        worker.start()
        busy = grants(client, share, 100 * count, busy_now)
        worker.join()
    base = figures.add('idle, p50', report.percentile(idle, 0.5), 'ms')
    figures.add('idle, p99', report.percentile(idle, 0.99), 'ms', base)
    figures.add(f'while {shares} shares are made, p50', report.percentile(busy, 0.5), 'ms', base)
    figures.add(f'while {shares} shares are made, p99', report.percentile(busy, 0.99), 'ms', base)
    figures.note(f'{len(busy)} grants while shares were made')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
