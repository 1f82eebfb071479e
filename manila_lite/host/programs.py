# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine that run a program for us. A command line says nothing: every local user can choose one."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence

import psutil

from manila_lite.host.commands import ENV


def running(program: str, fits: Callable[[Sequence[str]], bool]) -> Iterator[psutil.Process]:
    """Yield our user's processes of a program whose words fit."""
    for process in psutil.process_iter():
        if is_ours(process, program, fits):
            yield process


def is_ours(process: psutil.Process, program: str, fits: Callable[[Sequence[str]], bool]) -> bool:
    """Say whether a process is our user's, runs the program, and has words that fit.

    The real user counts: a set-uid program has that of who started it, and smbd takes the rights of its clients.
    """
    with contextlib.suppress(psutil.Error, OSError):  # it may end at any time
        return process.uids().real == os.getuid() and fits(process.cmdline()) and _runs(process, program)
    return False


def _runs(process: psutil.Process, program: str) -> bool:
    """Say whether it is the program's file, or one that stood there before an upgrade; in a sandbox it has another path."""
    file = os.path.realpath(shutil.which(program, path=ENV['PATH']) or program)
    return process.exe() == file or os.path.samefile(f'/proc/{process.pid}/exe', file)
