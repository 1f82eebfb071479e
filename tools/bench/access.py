#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from granting access until the rule is active, with nothing else to do, and while much else is done.

Everything in one process, SQLite. First with a dummy backend that takes 20 ms for each share, while many shares are being
made; the baseline is the idle case. Then until NFS-Ganesha grants it, with two backends of the linux driver in network
namespaces of their own. Meanwhile a share full of random data moves from one to the other and is called off, again and again,
and all shares of the backend are ensured, again and again. The baseline is what is allowed: 2 s, of the 10 that Nova waits.
Ensuring leaves statuses alone here: a share that shows ``ensuring`` takes no rules, as the specification has it. That part
needs root and what tests/functional/linux needs.
"""

import concurrent.futures
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import product
import report

from manila_lite.tests.functional.linux import base

_DELAY = 0.02
_ALLOWED = 2000.0
_CONFIG = """
[DEFAULT]
enabled_share_backends = alpha,beta
update_shares_status_on_ensure = false
"""
_BACKEND = """
[{name}]
driver = linux
linux_pool_path = {state}/{name}.img
linux_pool_size_gb = 20
linux_graceless = true
linux_netns = {space}
linux_export_ips = {address}
linux_peers = bench@{other}:{state}/manila_lite.conf
migration_driver_continue_update_interval = 0.2
"""
_OPTIONS = {
    'host': 'bench@beta',
    'writable': False,
    'nondisruptive': False,
    'preserve_snapshots': True,
    'preserve_metadata': True,
}
_MIB = 1 << 20


def grants(
    client: product.Client, share: str, count: int, go_on: Callable[[], bool] = lambda: True
) -> list[float]:
    """Grant one rule after the other while ``go_on`` says so; return the milliseconds until each was active."""
    times: list[float] = []
    while len(times) < count and go_on():
        number = len(times)
        grant = {'access_type': 'ip', 'access_to': f'10.{number % 200}.{number // 250}.{number % 250 + 1}'}
        began = time.perf_counter()
        rule = client.ask('POST', f'/shares/{share}/action', {'allow_access': grant})['access']['id']
        client.wait(f'/share-access-rules/{rule}', 'access', 'active', 'state')
        times.append((time.perf_counter() - began) * 1e3)
        client.ask('POST', f'/shares/{share}/action', {'deny_access': {'access_id': rule}})
    return times


@contextlib.contextmanager
def real() -> Iterator[product.Product]:
    """Yield a product with two linux backends, ``alpha`` and ``beta``; remove it afterwards with all its processes."""
    fabric = base.Fabric(alpha=1, beta=2)
    with contextlib.ExitStack() as last, product.Product() as made:
        last.callback(fabric.down)
        last.callback(base.power_off, made.state, ('alpha.img', 'beta.img'))
        last.callback(made.end)
        fabric.up()
        made.edit(product.BACKEND, '')
        backends = [
            _BACKEND.format(
                name=name, other=other, state=made.state, space=fabric.name(name), address=fabric.v4(name)
            )
            for name, other in (('alpha', 'beta'), ('beta', 'alpha'))
        ]
        made.config.write_text(made.config.read_text() + _CONFIG + ''.join(backends))
        yield made


def make(client: product.Client, gib: int = 1) -> str:
    """Return a new share on ``alpha``."""
    share = client.ask(
        'POST',
        '/shares',
        {'share': {'size': gib, 'share_proto': 'NFS', 'scheduler_hints': {'only_host': 'bench@alpha'}}},
    )['share']['id']
    client.wait(f'/shares/{share}', 'share', 'available', pause=0.02)
    return str(share)


def fill(made: product.Product, client: product.Client, share: str, mebibytes: int) -> None:
    """Fill the share with so many MiB of random data."""
    [instance] = client.ask('GET', f'/shares/{share}/instances')['share_instances']
    place: Path = made.state / 'alpha' / 'pool' / 'shares' / instance['id']
    for number in range(mebibytes):
        (place / f'file{number}').write_bytes(os.urandom(_MIB))


def move(client: product.Client, share: str) -> None:
    """Copy the share, and cancel the migration."""
    client.ask('POST', f'/shares/{share}/action', {'migration_start': _OPTIONS})
    client.wait(f'/shares/{share}', 'share', 'migration_driver_phase1_done', 'task_state', pause=0.05)
    client.ask('POST', f'/shares/{share}/action', {'migration_cancel': None})
    client.wait(f'/shares/{share}', 'share', 'migration_cancelled', 'task_state', pause=0.05)
    client.wait(f'/shares/{share}', 'share', 'available', pause=0.05)


def ensure(client: product.Client) -> None:
    """Ensure all shares of the backend."""
    client.ask('POST', '/services/ensure', {'host': 'bench@alpha'})
    await_ensured(client)


def await_ensured(client: product.Client) -> None:
    """Wait until no ensuring of the backend's shares is going on."""
    path = '/services?host=bench%40alpha&binary=manila-share'
    while client.ask('GET', path)['services'][0]['ensuring']:
        time.sleep(0.05)


def on_dummy(figures: report.Report) -> None:
    """Measure beside shares that are made, and add the lines."""
    shares, count = figures.pick((5, 3), (150, 30), (1000, 200))
    with product.Product() as made, concurrent.futures.ThreadPoolExecutor(1) as thread:
        made.knobs(f'create_share:delay={_DELAY}')
        made.start('all_in_one')
        made.ready()
        client = made.client()
        share = client.create()
        client.wait(f'/shares/{share}', 'share', 'available')
        grants(client, share, 2)
        idle = grants(client, share, count)
        report.say(f'{shares} shares are asked for')

        def create() -> None:
            other = made.client()
            made_shares = [other.create() for _ in range(shares)]
            other.wait(f'/shares/{made_shares[-1]}', 'share', 'available', pause=0.05)

        creating = thread.submit(create)
        busy = grants(client, share, 100 * count, lambda: not creating.done())
        creating.result()
    base_line = None
    for what, times in (('idle', idle), (f'while {shares} shares are made', busy)):
        for part in (0.5, 0.99):
            line = figures.add(f'{what}, p{part * 100:.0f}', report.percentile(times, part), 'ms', base_line)
            base_line = base_line or line
    figures.note(f'{len(busy)} grants while shares were made')


def on_linux(figures: report.Report) -> None:
    """Measure beside copies and ensuring, and add the lines."""
    shares, mebibytes, count = figures.pick((2, 8, 3), (20, 128, 60), (100, 512, 300))
    with real() as made:
        made.start('all_in_one')
        made.ready(2)
        client = made.client()
        report.say(f'{shares} shares are made')
        share, moving, *_ = [make(client, mebibytes // 1024 + 1) for _ in range(shares)]
        fill(made, client, moving, mebibytes)
        grants(client, share, 2)
        idle = grants(client, share, count)
        report.say(f'{mebibytes} MiB are copied, and {shares} shares ensured, over and over')
        movers, ensurers = made.client(), made.client()
        loads = [product.Repeated(lambda: move(movers, moving)), product.Repeated(lambda: ensure(ensurers))]
        try:
            busy = grants(client, share, count)
        finally:
            for load in loads:
                load.end()
    allowed = figures.add('the time allowed on linux', _ALLOWED, 'ms')
    for what, times in (('linux, idle', idle), ('linux, while shares move and are ensured', busy)):
        figures.add(f'{what}, p50', report.percentile(times, 0.5), 'ms', allowed)
        figures.add(
            f'{what}, p99',
            report.percentile(times, 0.99),
            'ms',
            allowed,
            most=None if figures.size == report.TINY else 1.0,
        )
        figures.add(f'{what}, the longest', max(times), 'ms', allowed)
    figures.note(
        f'On linux {count} grants each; meanwhile {loads[0].done} copies of {mebibytes} MiB, and {loads[1].done} '
        f'times {shares} shares ensured.'
    )


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    on_dummy(figures)
    if lacks := base.missing():
        figures.note(f'Nothing was measured on linux: real storage needs {lacks}')
    else:
        on_linux(figures)


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
