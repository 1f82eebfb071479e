# SPDX-License-Identifier: Apache-2.0
"""Run tests, each run in a process forked with all libraries: their import is half of the time of a short run.

A line of standard input is a run, in JSON: its ``words`` are those of testtools.run, ``said`` the file for its output,
``limit`` in seconds. The answer is its exit code, or ``slow``. The first word of the command line is a module that
imports most of the libraries.
"""

import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys

from oslo_service import backend


def libraries(module: str) -> list[str]:
    """Return the other modules that the module imports and that are not ours, in the order of their import."""
    code = f'import sys, {module}; print(*(name for name in sys.modules if not name.startswith("manila_lite")))'
    return subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout.split()


def run(words: list[str], said: str, limit: float) -> str:
    """Return the exit code of the tests, or ``slow``. End all processes that are left in their group."""
    child = os.fork()
    if not child:
        _test(words, said)
    waiting = os.pidfd_open(child)
    try:
        done, _, _ = select.select([waiting], [], [], limit)
    finally:
        os.close(waiting)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return str(os.waitstatus_to_exitcode(status)) if done else 'slow'


def _test(words: list[str], said: str) -> None:
    os.setsid()
    out, nothing = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, out, out)):
        os.dup2(file, number)
    status = 1
    try:
        from testtools import run
        run.main(['testtools.run', *words], sys.stdout)
        status = 0
    except SystemExit as asked:
        status = int(asked.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    # The first library that imports oslo.service would choose eventlet otherwise.
    backend.init_backend(backend.BackendType.THREADING)
    for name in libraries(sys.argv[1]):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    for line in sys.stdin:
        print(run(**json.loads(line)), flush=True)


if __name__ == '__main__':
    main()
