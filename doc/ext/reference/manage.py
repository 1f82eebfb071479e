# SPDX-License-Identifier: Apache-2.0
"""``manila-manage``, from its table of commands."""

from collections.abc import Iterator

from manila_lite.cmd.manage.categories import CATEGORIES, commands
from manila_lite.cmd.manage.command import Argument, Command
from reference import rst


def lines() -> Iterator[str]:
    """Yield each command with its arguments."""
    for name, category in CATEGORIES.items():
        yield from rst.heading(f'manila-manage {name}', '-')
        yield f'{category.help[0].upper()}{category.help[1:]}.'
        for command in commands(name):
            yield from _command(command)


def _command(command: Command) -> Iterator[str]:
    if command.name:
        yield from rst.heading(f'{command.category} {command.name}', '^')
    yield from (*(rst.plain(line.strip()) for line in (command.body.__doc__ or '').splitlines()), '')
    if command.arguments:
        yield from rst.table(
            ('argument', 'what it is'),
            [
                _row(one)
                for found in command.arguments
                for one in (found if isinstance(found, tuple) else (found,))
            ],
            (30, 70),
        )


def _row(one: Argument) -> tuple[str, str]:
    names = rst.codes(one.names)
    if 'choices' in one.options:
        names += f' ({" or ".join(map(str, one.options["choices"]))})'
    return names, rst.plain(str(one.options.get('help') or '').replace('%%', '%'))
