# SPDX-License-Identifier: Apache-2.0
"""What a command of ``manila-manage`` is, and how it shows what it found."""

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml
from oslo_config import cfg

from manila_lite import context
from manila_lite.cmd import log_lines, setup
from manila_lite.db.engine import Database

#: Exit statuses: all is well; something is wrong, or was refused; the command or the configuration makes no sense.
GOOD, WRONG, USAGE = 0, 1, 2


@dataclasses.dataclass
class Call:
    """One run of a command."""

    conf: cfg.ConfigOpts
    db: Database
    args: argparse.Namespace

    def services(self) -> context.Services:
        """Return what a process works with: also a bus, which the caller closes."""
        return dataclasses.replace(setup.services(self.conf), db=self.db)

    def show(self, heads: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        """The rows stand on standard output as ``--format`` says: as a table of the ``heads``, or with all they have.

        Nothing in them steers the terminal: names and errors can be a tenant's words.
        """
        if self.args.format != 'table':
            found = json.dumps([dict(row) for row in rows], indent=2, default=str)
            print(found if self.args.format == 'json' else yaml.safe_dump(json.loads(found), sort_keys=False).strip())
            return
        found = [['' if row[head] is None else log_lines.escaped(str(row[head])) for head in heads] for row in rows]
        widths = [max([len(head), *(len(line[at]) for line in found)]) for at, head in enumerate(heads)]
        for line in (heads, *found):
            print('  '.join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of a command, as argparse takes it."""

    names: tuple[str, ...]
    options: Mapping[str, Any]


def argument(*names: str, **options: Any) -> Argument:
    """Return an argument; ``options`` are argparse's."""
    return Argument(names, options)


def one_of(*arguments: Argument) -> tuple[Argument, ...]:
    """Return spellings of an argument of which a call has one."""
    return arguments


#: Every listing has it; the second spelling is an old one.
FORMAT = argument('--format', '--format_output', dest='format', choices=['table', 'json', 'yaml'], default='table',
                  help='default: table')


@dataclasses.dataclass(frozen=True)
class Command:
    """``manila-manage CATEGORY NAME``, or without a name. The body's docstring is its help; it returns the exit status.

    ``logged``: it writes to the log as any process does. One that reads nothing but files need not be able to.
    """

    category: str
    name: str
    body: Callable[[Call], int]
    arguments: Sequence[Argument | tuple[Argument, ...]] = ()
    logged: bool = True


def natural(text: str) -> int:
    """Return a number that is not negative, for argparse."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def seconds(text: str) -> float:
    """Return a pause of more than nothing and less than an hour, for argparse."""
    value = float(text)
    if not 0 < value < 3600:
        raise ValueError(text)
    return value
