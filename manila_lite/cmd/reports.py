# SPDX-License-Identifier: Apache-2.0
"""Guru meditation reports, made at SIGUSR2: threads, configuration without secrets, requests and operations under way.

A signal handler interrupts the main thread, which may hold any lock. So the handler only writes to a pipe. A thread
that waits there makes the report, also when all others are stuck.

The content is imported for the first report: it takes 2 MiB, and most processes never make one.
"""

import logging
import os
import signal
import threading
from typing import Any

from oslo_config import cfg

LOG = logging.getLogger(__name__)

_listener: tuple[int, int] | None = None  # pid, and the write end of the pipe


def install_signal_handler() -> None:
    """Install the handler of SIGUSR2, in this process and in those forked from it. Call it in the main thread."""
    signal.signal(signal.SIGUSR2, _caught)


def _caught(signo: int, frame: Any) -> None:
    pid, pipe = _listener or (0, 0)
    if pid == os.getpid():
        os.write(pipe, b'.')


def listen(conf: cfg.ConfigOpts, name: str) -> None:
    """Make reports when asked, from now on. Threads do not survive a fork: call it in each process."""
    global _listener  # noqa: PLW0603 - a signal's handler has nothing else to go by
    if _listener is None or _listener[0] != os.getpid():
        read, write = os.pipe()
        threading.Thread(target=_serve, args=(read, conf, name), name='reports', daemon=True).start()
        _listener = (os.getpid(), write)
        _watch(conf, name)


def _serve(pipe: int, conf: cfg.ConfigOpts, name: str) -> None:
    while os.read(pipe, 1):
        from manila_lite.cmd import guru_meditation as content

        # a report that fails is printed on standard error, and does not end the thread
        content.Report.handle_signal(
            content.Version(), f'{name}-{os.getpid()}', conf.oslo_reports.log_dir, None
        )


def _watch(conf: cfg.ConfigOpts, name: str) -> None:
    if conf.oslo_reports.file_event_handler:
        from manila_lite.cmd import guru_meditation as content

        try:
            content.Report.setup_autorun(
                content.Version(), f'{name}-{os.getpid()}', conf=conf, setup_signal=False
            )
        except OSError as bad:
            LOG.warning('[oslo_reports] file_event_handler: %s', bad)
