# SPDX-License-Identifier: Apache-2.0
"""Guru meditation reports, made at SIGUSR2: threads, configuration without secrets, requests and operations under way.

A signal handler interrupts the main thread, which may hold any lock. So the handler only writes to a pipe. A thread
that waits there makes the report, also when all others are stuck.
"""

import logging
import os
import signal
import threading
import time
from typing import Any

from oslo_config import cfg
from oslo_reports import guru_meditation_report
from oslo_reports.models import base as models

from manila_lite import context, release

LOG = logging.getLogger(__name__)

_listener: tuple[int, int] | None = None        # pid, and the write end of the pipe


class _Version:
    """The description of the product that oslo.reports asks for."""

    def vendor_string(self) -> str:
        return 'manila_lite'

    def product_string(self) -> str:
        return 'manila-lite'

    def version_string_with_package(self) -> str:
        return release.VERSION


def _under_way() -> models.ReportModel:
    now = time.monotonic()
    lines = [f'{task.what}: since {now - task.since:.1f} s, thread {task.thread}, request {task.ctx.request_id}, '
             f'project {task.ctx.project_id or "-"}, resource {task.ctx.resource_uuid or "-"}' for task in context.tasks()]
    return models.ReportModel({'work': '\n'.join(lines) or 'nothing'}, attached_view=lambda model: model['work'])


class Report(guru_meditation_report.TextGuruMeditation):
    """oslo.reports' sections, and the requests and operations under way in this process."""

    persistent_sections = [('Under way', _under_way)]


def install_signal_handler() -> None:
    """Install the handler of SIGUSR2, in this process and in those forked from it. Call it in the main thread."""
    signal.signal(signal.SIGUSR2, _caught)


def _caught(signo: int, frame: Any) -> None:
    pid, pipe = _listener or (0, 0)
    if pid == os.getpid():
        os.write(pipe, b'.')


def listen(conf: cfg.ConfigOpts, name: str) -> None:
    """Make reports when asked, from now on. Threads do not survive a fork: call it in each process."""
    global _listener    # noqa: PLW0603 - a signal's handler has nothing else to go by
    if _listener is None or _listener[0] != os.getpid():
        read, write = os.pipe()
        threading.Thread(target=_serve, args=(read, conf, name), name='reports', daemon=True).start()
        _listener = (os.getpid(), write)
        _watch(conf, name)


def _serve(pipe: int, conf: cfg.ConfigOpts, name: str) -> None:
    while os.read(pipe, 1):
        # a report that fails is printed on standard error, and does not end the thread
        Report.handle_signal(_Version(), f'{name}-{os.getpid()}', conf.oslo_reports.log_dir, None)


def _watch(conf: cfg.ConfigOpts, name: str) -> None:
    if conf.oslo_reports.file_event_handler:
        try:
            Report.setup_autorun(_Version(), f'{name}-{os.getpid()}', conf=conf, setup_signal=False)
        except OSError as bad:
            LOG.warning('[oslo_reports] file_event_handler: %s', bad)
