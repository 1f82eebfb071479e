#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time from granting access until NFS-Ganesha grants it, on the linux driver, while shares are copied and ensured.

Everything in one process, SQLite; two backends in network namespaces of their own. Meanwhile a share full of random data
moves from one to the other and is called off, again and again, and all shares of the backend are ensured, again and again.
The baseline is what is allowed: 2 s, of the 10 that Nova waits. Ensuring leaves statuses alone here: a share that shows
``ensuring`` takes no rules, as the specification has it. Needs root and what tests/functional/linux needs.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import access
import product
import report

from manila_lite.tests.functional.linux import base

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
_OPTIONS = {'host': 'bench@beta', 'writable': False, 'nondisruptive': False, 'preserve_snapshots': True,
            'preserve_metadata': True}
_MIB = 1 << 20


@contextlib.contextmanager
def real() -> Iterator[product.Product]:
    """Yield a product with two linux backends, ``alpha`` and ``beta``; remove it afterwards with all its processes."""
    fabric = base.Fabric(alpha=1, beta=2)
    with product.product() as made:
        try:
            fabric.up()
            made.config.write_text(made.config.read_text().replace('driver = dummy\n', '').replace(
                'dummy_pool_size_gb = 1000000\n', '') + _CONFIG + ''.join(
                _BACKEND.format(name=name, other=other, state=made.state, space=fabric.name(name),
                                address=fabric.v4(name)) for name, other in (('alpha', 'beta'), ('beta', 'alpha'))))
            yield made
        finally:
            made.end()
            base.power_off(made.state, ('alpha.img', 'beta.img'))
            fabric.down()


def make(client: product.Client, gib: int = 1) -> str:
    """Return a new share on ``alpha``."""
    share = client.ask('POST', '/shares', {'share': {
        'size': gib, 'share_proto': 'NFS', 'scheduler_hints': {'only_host': 'bench@alpha'}}})['share']['id']
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
    path = '/services?host=bench%40alpha&binary=manila-share'
    while client.ask('GET', path)['services'][0]['ensuring']:
        threading.Event().wait(0.05)


class Load:
    """A function that is repeated with a client of its own until ``end``; ``done`` counts."""

    def __init__(self, port: int, act: Callable[..., None], *words: str):
        self._stop = threading.Event()
        self._failed: list[BaseException] = []
        self.done = 0
        self._thread = threading.Thread(target=self._run, args=(product.Client(port), act, words))
        self._thread.start()

    def _run(self, client: product.Client, act: Callable[..., None], words: tuple[str, ...]) -> None:
        try:
            while not self._stop.is_set():
                act(client, *words)
                self.done += 1
        except BaseException as error:
            self._failed.append(error)

    def end(self) -> None:
        """Stop the repetition.

        :raises BaseException: the error of the thread, if it failed.
        """
        self._stop.set()
        self._thread.join()
        for error in self._failed:
            raise error


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    shares, mebibytes, count = figures.pick((2, 8, 3), (20, 128, 60), (100, 512, 300))
    if lacks := base.missing():
        raise SystemExit(f'real storage needs {lacks}')
    with real() as made:
        made.start('all_in_one')
        client = made.answers()
        while len(client.ask('GET', '/scheduler-stats/pools')['pools']) < 2:
            threading.Event().wait(0.05)
        report.say(f'{shares} shares are made')
        share, moving, *_ = [make(client, mebibytes // 1024 + 1) for _ in range(shares)]
        fill(made, client, moving, mebibytes)
        access.grants(client, share, 2)
        idle = access.grants(client, share, count)
        report.say(f'{mebibytes} MiB are copied, and {shares} shares ensured, over and over')
        loads = [Load(made.port, move, moving), Load(made.port, ensure)]
        try:
            busy = access.grants(client, share, count)
        finally:
            for load in loads:
                load.end()
    allowed = figures.add('the time allowed', _ALLOWED, 'ms')
    for what, times in (('idle', idle), ('while shares move and are ensured', busy)):
        figures.add(f'{what}, p50', report.percentile(times, 0.5), 'ms', allowed)
        figures.add(f'{what}, p99', report.percentile(times, 0.99), 'ms', allowed,
                  most=None if figures.size == report.TINY else 1.0)
        figures.add(f'{what}, the longest', max(times), 'ms', allowed)
    figures.note(f'{count} grants each; meanwhile {loads[0].done} copies of {mebibytes} MiB, and {loads[1].done} times '
               f'{shares} shares ensured.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
