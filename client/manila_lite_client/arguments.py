# SPDX-License-Identifier: Apache-2.0
"""Commands whose arguments are a table."""

import argparse
from collections.abc import Mapping
from typing import Any, ClassVar

from osc_lib.command import command

#: The arguments of a command, in order, each with what argparse's ``add_argument`` takes for it.
Table = Mapping[str, Mapping[str, Any]]


class WithArguments(command.Command):
    """A command with the arguments of its table."""

    ARGUMENTS: ClassVar[Table] = {}

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        for name, options in self.ARGUMENTS.items():
            parser.add_argument(name, **options)
        return parser


def sort(text: str) -> tuple[str, str]:
    """Return the field and the direction that an argument names.

    :raises argparse.ArgumentTypeError: the direction is none.
    """
    key, _, direction = text.partition(':')
    if direction not in ('', 'asc', 'desc'):
        raise argparse.ArgumentTypeError(f'{direction!r} is no direction: write asc or desc')
    return key, direction or 'asc'


def count(text: str) -> int:
    """Return the number that an argument is.

    :raises argparse.ArgumentTypeError: it is none, or cannot be a number of rows.
    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number < 2**31:
        raise argparse.ArgumentTypeError(f'{text!r} is no number from 1 to {2**31 - 1}')
    return number
