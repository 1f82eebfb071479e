# SPDX-License-Identifier: Apache-2.0
"""A command of ``manila-manage``: its arguments, and the output of its results."""

import argparse
import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from manila_lite import context
from manila_lite.cmd import log_lines, setup
from manila_lite.db.core.engine import Database

#: Exit statuses: all is well; something is wrong, or was refused; the command or the configuration makes no sense.
GOOD, WRONG, USAGE = 0, 1, 2


@dataclasses.dataclass
class Call:
    """One run of a command."""

    conf: cfg.ConfigOpts
    db: Database
    args: argparse.Namespace
    ended: contextlib.ExitStack

    def services(self) -> context.Services:
        """Return the services of a process. They include a bus, which is closed when the command has ended."""
        from manila_lite.rpc import transport  # most commands need no bus

        transport.set_defaults(self.conf, 'inproc://')
        services = dataclasses.replace(setup.services(self.conf), db=self.db)
        self.ended.callback(transport.cleanup)
        self.ended.callback(services.bus.close)
        return services

    def show(self, heads: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        """Print the rows in the format of ``--format``: as a table of the ``heads``, or with all their values.

        The output is escaped, so that it cannot steer the terminal: names and errors can come from tenants.
        """
        if self.args.format == 'table':
            print(table(heads, rows))
            return
        document = json.dumps([dict(row) for row in rows], indent=2, default=str)
        if self.args.format == 'yaml':
            import yaml  # few ask for it

            document = yaml.safe_dump(json.loads(document), sort_keys=False).strip()
        print(document)


def table(heads: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of the ``heads``, escaped."""
    lines = [
        ['' if row[head] is None else log_lines.escaped(str(row[head])) for head in heads] for row in rows
    ]
    widths = [max([len(head), *(len(line[at]) for line in lines)]) for at, head in enumerate(heads)]
    return '\n'.join(
        '  '.join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in (heads, *lines)
    )


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of a command, as argparse takes it."""

    names: tuple[str, ...]
    options: Mapping[str, Any]


def argument(*names: str, **options: Any) -> Argument:
    """Return an argument; ``options`` are those of argparse."""
    return Argument(names, options)


def one_of(*arguments: Argument) -> tuple[Argument, ...]:
    """Return alternatives, of which a call has exactly one."""
    return arguments


#: An argument of every listing; the second spelling is an old one.
FORMAT = argument(
    '--format',
    '--format_output',
    dest='format',
    choices=['table', 'json', 'yaml'],
    default='table',
    help='default: table',
)


@dataclasses.dataclass(frozen=True)
class Command:
    """``manila-manage CATEGORY NAME``, or without a name. The body's docstring is its help; it returns the exit status.

    ``logged``: write to the log as configured. Commands that only read files need no log.
    """

    category: str
    name: str
    body: Callable[[Call], int]
    arguments: Sequence[Argument | tuple[Argument, ...]] = ()
    logged: bool = True


def natural(text: str, most: int = 2**31 - 1) -> int:
    """Return a number that is not negative, and not over ``most``, for argparse."""
    number = int(text)
    if not 0 <= number <= most:
        raise ValueError(text)
    return number


def days(text: str) -> int:
    """Return a number of days, at most a century, for argparse: dates do not go back for ever."""
    return natural(text, 36500)


def seconds(text: str) -> float:
    """Return a number of seconds, above 0 and less than an hour, for argparse."""
    value = float(text)
    if not 0 < value < 3600:
        raise ValueError(text)
    return value
