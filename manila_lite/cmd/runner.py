# SPDX-License-Identifier: Apache-2.0
"""The runner of services as threads of this process, until a signal ends it."""

import faulthandler
import logging
import os
import select
import signal
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from manila_lite import errors
from manila_lite.cmd import log_lines, log_outages, watchdog

LOG = logging.getLogger(__name__)

_ENDING = (signal.SIGTERM, signal.SIGINT)


class ConfigFiles:
    """The configuration files, read again at SIGHUP: options marked as mutable change at once, the others at a restart."""

    def __init__(self, conf: Any):
        self._conf = conf

    def start(self) -> None:
        """Do nothing: the files were read before."""

    def stop(self) -> None:
        """Do nothing: no resource is held."""

    def reload(self) -> None:
        """Apply the mutable options; the log names the others. :raises ConfigFileParseError: nothing was changed."""
        self._conf.mutate_config_files()
        # oslo.config clears its cache of values before it reads the files, not after: a thread that reads an option
        # meanwhile would keep the old value for good. Registering options, even none, clears the cache again.
        self._conf.register_opts([])
        log_lines.escape_all()  # oslo.log may have read its own file anew
        log_outages.install(self._conf)


class Runnable(Protocol):
    """The interface of services for the runner; ``reload()`` is called at SIGHUP where there is one."""

    def start(self) -> None:
        """Start working before this returns. :raises BadConfig: it cannot start, and the operator must do something."""

    def stop(self) -> None:
        """Take no new work, and finish the work under way before this returns."""


class _Signals:
    """The signals received, in order.

    Python runs handlers in the main thread only, and does not wake that thread if the kernel gave the signal to
    another; a blocked ``queue.get()`` would then miss it. So the interpreter writes each number to a pipe, from any
    thread.
    """

    def __init__(self) -> None:
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for signo in (*_ENDING, signal.SIGHUP):
            signal.signal(signo, lambda _signo, _frame: None)

    def has_end(self) -> bool:
        """Say whether the end was asked for; other signals received so far are dropped. Does not block."""
        while select.select([self._read], [], [], 0)[0]:
            if self.get() in _ENDING:
                return True
        return False

    def get(self) -> int:
        """Wait for the next signal, and return it."""
        return os.read(self._read, 1)[0]


def run(services: Sequence[Runnable], drain: int = 60) -> int:
    """Run the services: start them in order, and stop them in reverse order; return the exit status.

    SIGTERM and SIGINT end the run. A second SIGINT, or ``drain`` seconds, end the process at once, the latter with a
    print of each thread's stack. That timer goes on after the return, so that no thread can keep the process alive:
    exit then. Until the end there is a watchdog.
    """
    signals = _Signals()
    started: list[Runnable] = []
    watch = watchdog.Watchdog()
    watch.start()
    try:
        if _start(services, started, signals):
            _serve(services, signals)
        status = 0
    except errors.BadConfig as error:
        print(f'Cannot start: {error}', file=sys.stderr, flush=True)
        status = 1
    except Exception as error:
        LOG.exception('Cannot start')
        log_lines.tell('cannot start', error)
        status = 1
    watch.stop()
    return _stop(started, drain) or status


def _start(services: Sequence[Runnable], started: list[Runnable], signals: _Signals) -> bool:
    for service in services:
        if signals.has_end():
            return False
        service.start()
        started.append(service)
    return True


def _serve(services: Sequence[Runnable], signals: _Signals) -> None:
    while True:
        signo = signals.get()
        if signo in _ENDING:
            LOG.info('%s: draining', signal.Signals(signo).name)
            return
        if signo == signal.SIGHUP:
            for service in services:
                _reload(service)


def _reload(service: Any) -> None:
    reload = getattr(service, 'reload', None)
    if reload is None:
        return
    try:
        reload()
    except Exception:
        LOG.exception('%s: reload failed, the old configuration stays in use', _name(service))


def _stop(started: list[Runnable], drain: int) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    faulthandler.dump_traceback_later(
        drain, exit=True, file=2
    )  # works without the main thread and the interpreter's lock
    status = 0
    for service in reversed(started):
        LOG.debug('%s: stopping', _name(service))
        try:
            service.stop()
        except Exception as error:
            LOG.exception('%s: failed to stop', _name(service))
            log_lines.tell(f'{_name(service)} failed to stop', error)
            status = 1
    return status


def _name(service: Any) -> str:
    return getattr(service, 'name', type(service).__name__)
