# SPDX-License-Identifier: Apache-2.0
"""Arguments of the commands of manila_lite, as their own parsers have them."""

import argparse
import sys
from collections.abc import Iterator
from importlib import metadata
from unittest import mock

from manila_lite.cmd.manage.categories import CategoryParser


class _Caught(BaseException):
    """The parser of a command, which was about to print its help."""

    def __init__(self, parser: argparse.ArgumentParser):
        super().__init__()
        self.parser = parser


def commands() -> list[metadata.EntryPoint]:
    """Return the commands of manila_lite, in the order of their names."""
    found = metadata.entry_points(group='console_scripts')
    return sorted(
        (entry for entry in found if entry.module.startswith('manila_lite.')), key=lambda entry: entry.name
    )


def of(entry: metadata.EntryPoint) -> argparse.ArgumentParser:
    """Return the parser of a command. Call it once in a process: options of oslo.config are global."""

    def caught(parser: argparse.ArgumentParser, file: object = None) -> None:
        raise _Caught(parser)

    main = entry.load()
    with (
        mock.patch.object(argparse.ArgumentParser, 'print_help', caught),
        mock.patch.object(sys, 'argv', [entry.name, '--help']),
    ):
        try:
            main()
        except _Caught as done:
            return done.parser
    raise AssertionError(f'{entry.name} --help printed no help')


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of a parser, without those that hide their help and those of subcommands."""
    return [
        action for action in parser._actions if action.help != argparse.SUPPRESS and not subparsers_in(action)
    ]


def subparsers_in(action: argparse.Action) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of subcommands by name, or nothing if the argument is no subcommand."""
    return dict(action.choices) if isinstance(action, argparse._SubParsersAction) else {}


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the subcommands by name."""
    return {name: one for action in parser._actions for name, one in subparsers_in(action).items()}


def walk(
    parser: argparse.ArgumentParser, *path: str
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yield the parser and those of all its subcommands, each with its path."""
    if isinstance(parser, CategoryParser):
        parser.fill()
    yield path, parser
    for name, one in subparsers(parser).items():
        yield from walk(one, *path, name)
