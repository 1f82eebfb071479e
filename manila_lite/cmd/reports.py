# SPDX-License-Identifier: Apache-2.0
"""Guru meditation: at SIGUSR2 a process tells what it is at: threads, configuration without secrets, work under way.

A handler runs in the midst of whatever the main thread was doing, which may hold any lock. So it only writes to a pipe,
and a thread that waits there makes the report, also when all others are stuck.
"""

import logging
import os
import signal
import threading
import time
from importlib import metadata
from typing import Any

from oslo_config import cfg
from oslo_reports import guru_meditation_report
from oslo_reports.models import base as models

from manila_lite import context

LOG = logging.getLogger(__name__)

_listener: tuple[int, int] | None = None        # pid, and the end of the pipe to write to


class _Version:
    """What oslo.reports wants to know of a product."""

    def vendor_string(self) -> str:
        return 'manila_lite'

    def product_string(self) -> str:
        return 'manila-lite'

    def version_string_with_package(self) -> str:
        return metadata.version('manila-lite')


def _under_way() -> models.ReportModel:
    now = time.monotonic()
    lines = [f'{task.what}: since {now - task.since:.1f} s, thread {task.thread}, request {task.ctx.request_id}, '
             f'project {task.ctx.project_id or "-"}, resource {task.ctx.resource_uuid or "-"}' for task in context.tasks()]
    return models.ReportModel({'work': '\n'.join(lines) or 'nothing'}, attached_view=lambda model: model['work'])


class Report(guru_meditation_report.TextGuruMeditation):
    """oslo.reports' sections, and the requests and operations under way in this process."""

    persistent_sections = [('Under way', _under_way)]


def catch() -> None:
    """SIGUSR2 asks for a report, in this process and in those forked from it. Call it in the main thread."""
    signal.signal(signal.SIGUSR2, _caught)


def _caught(signo: int, frame: Any) -> None:
    pid, pipe = _listener or (0, 0)
    if pid == os.getpid():
        os.write(pipe, b'.')


def listen(conf: cfg.ConfigOpts, name: str) -> None:
    """Reports that are asked for are made from now. Threads stay behind at a fork: call it in each process."""
    global _listener    # noqa: PLW0603 - a signal's handler has nothing else to go by
    if _listener is None or _listener[0] != os.getpid():
        read, write = os.pipe()
        threading.Thread(target=_serve, args=(read, conf, name), name='reports', daemon=True).start()
        _listener = (os.getpid(), write)
        _watch(conf, name)


def _serve(pipe: int, conf: cfg.ConfigOpts, name: str) -> None:
    while os.read(pipe, 1):
        # By itself it says on standard error what it cannot do, and goes on.
        Report.handle_signal(_Version(), f'{name}-{os.getpid()}', conf.oslo_reports.log_dir, None)


def _watch(conf: cfg.ConfigOpts, name: str) -> None:
    if conf.oslo_reports.file_event_handler:
        try:
            Report.setup_autorun(_Version(), f'{name}-{os.getpid()}', conf=conf, setup_signal=False)
        except OSError as bad:
            LOG.warning('[oslo_reports] file_event_handler: %s', bad)
