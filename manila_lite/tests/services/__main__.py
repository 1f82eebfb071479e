# SPDX-License-Identifier: Apache-2.0
"""Run a command with private servers: python -m manila_lite.tests.services --database postgresql -- COMMAND..."""

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence

import psutil

from manila_lite.tests import waiting
from manila_lite.tests.services import broker, daemon, databases, places

_DATABASES = {'sqlite': None, 'postgresql': databases.PostgreSQL, 'mariadb': databases.MariaDB}
_TRANSPORTS = {'inproc': None, 'rabbit': broker.RabbitMQ}


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python -m manila_lite.tests.services', description=__doc__)
    parser.add_argument('--database', choices=_DATABASES, default='sqlite')
    parser.add_argument('--transport', choices=_TRANSPORTS, default='inproc')
    parser.add_argument('command', nargs='+', metavar='COMMAND')
    return parser.parse_args(words)


def _servers(stack: contextlib.ExitStack, chosen: argparse.Namespace) -> dict[str, str]:
    """Start the chosen servers, which run until the stack is closed. Return the variables with their URLs."""
    variables = {}
    if database := _DATABASES[chosen.database]:
        variables[places.DATABASE] = stack.enter_context(database()).url
    if bus := _TRANSPORTS[chosen.transport]:
        running = stack.enter_context(bus())
        variables |= {places.TRANSPORT: running.url, places.BROKER_ADMIN: running.admin_url}
    return variables


def _run(command: Sequence[str], variables: dict[str, str]) -> int:
    """Run the command to its end, or end it on a signal; return its exit status as a shell would."""
    with subprocess.Popen(command, env=os.environ | variables) as process:
        try:
            status = process.wait()
        except BaseException:
            _end(process.pid)
            raise
    return status if status >= 0 else 128 - status


def _end(pid: int, patience: float = waiting.LIMIT) -> None:
    """End the process and all its children: by SIGTERM, and by SIGKILL after ``patience`` seconds."""
    with contextlib.suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        family = [first, *first.children(recursive=True)]
        for how, seconds in ((psutil.Process.terminate, patience), (psutil.Process.kill, 10)):
            for one in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    how(one)
            _, family = psutil.wait_procs(family, seconds)


def main(words: Sequence[str]) -> int:
    """Run the command with its servers; return its exit status, or 77 if a server is not installed."""
    chosen = _arguments(words)
    daemon.exit_on_signals()
    with contextlib.ExitStack() as stack:
        try:
            variables = _servers(stack, chosen)
        except daemon.Missing as missing:
            print(f'{parts_of(chosen)}: {missing}', file=sys.stderr)
            return daemon.MISSING
        return _run(chosen.command, variables)


def parts_of(chosen: argparse.Namespace) -> str:
    """Return the names of the chosen servers."""
    return f'{chosen.database} and {chosen.transport}'


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
