#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each kind of process weighs: memory (its share, with its children), time to start, processor time when idle.

The baseline is one Python process that has only imported the libraries that all of them need.
"""

import subprocess
import sys
import time

import product
import psutil
import report

#: Imports that every service needs.
_BARE = (
    'import sys, manila_lite.cmd, oslo_config.cfg, oslo_log.log, oslo_messaging, oslo_db.sqlalchemy.enginefacade, '
    'sqlalchemy, pecan; print("up", flush=True); sys.stdin.read()'
)
_PARTS = {
    'manila-lite': 'all_in_one',
    'manila-api': 'api',
    'manila-scheduler': 'scheduler',
    'manila-share': 'share',
}
_TICK = 1e3 / product.TICKS


def memory(process: psutil.Process) -> float:
    """Return MiB of the process and its children; shared memory counts in parts."""
    return sum(one.memory_full_info().pss for one in product.family(process)) / 2**20


def bare() -> tuple[float, float]:
    """Return MiB and processor seconds of the baseline."""
    with psutil.Popen(
        [sys.executable, '-c', _BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        measured = memory(process), sum(process.cpu_times()[:2])
        process.stdin.close()
        return measured


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    idle = figures.pick(0.5, 4, 30)
    size, begun = bare()
    base = figures.add('bare imports, memory', size, 'MiB')
    base_start = figures.add('bare imports, start', begun * 1e3, 'ms of processor time')
    for name, part in _PARTS.items():
        report.say(name)
        with product.Product() as made:
            process = made.start(part)
            if part in ('all_in_one', 'api'):
                made.until(made.answers, 'the API answers')
            else:
                made.until(lambda: made.has_service(f'manila-{part}'), f'{part} comes up')  # noqa: B023 - called here
            figures.add(f'{name}, memory', memory(process), 'MiB', base)
            figures.add(
                f'{name}, start', product.processor_time(process) * 1e3, 'ms of processor time', base_start
            )
            time.sleep(figures.pick(0, 1, 5))  # until the work of the start is done
            began = product.processor_time(process)
            time.sleep(idle)
            used = product.processor_time(process) - began
            figures.add(f'{name}, idle', used / idle * 100, '% of a core')
    figures.note(f'Idle was watched for {idle} s; the system counts in steps of {_TICK:g} ms.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
