# SPDX-License-Identifier: Apache-2.0
"""The table of the categories of ``manila-manage``. The modules of a category are imported when it is used, not before."""

import argparse
import importlib
from typing import Any, NamedTuple

from manila_lite.cmd.manage.command import Command


class Category(NamedTuple):
    """A category: its help, and the modules of this package with its commands."""

    help: str
    modules: tuple[str, ...]


#: Every category, as the help shows them.
CATEGORIES = {
    'db': Category('schema, old rows, copy to another database', ('database', 'copy_database')),
    'doctor': Category('problems of resources and operations, and their repair', ('doctor',)),
    'service': Category('services and their heartbeats', ('hosts',)),
    'host': Category('backends', ('hosts', 'machines', 'evacuate')),
    'share': Category('records of shares', ('shares',)),
    'share_server': Category('records of share servers', ('share_servers',)),
    'share_backup': Category('records of backups', ('share_backups',)),
    'migration': Category('migrations of share servers and shares', ('migration',)),
    'ensure': Category('checks of all shares of a backend', ('ensure',)),
    'evacuate': Category('moves everything off a backend or a host', ('evacuate',)),
    'top': Category('the service at a glance', ('top',)),
    'watch': Category('changes as they come', ('events',)),
    'secret': Category('secrets in the database, and their keys', ('secrets',)),
    'config': Category('configuration', ('options',)),
    'version': Category('installed release', ('options',)),
    'cephfs': Category('repairs of the clusters of CephFS backends', ('cephfs',)),
    'logs': Category('log files of this machine', ('logs',)),
    'shell': Category('Python with the configuration, the database and an administrator context', ('shell',)),
}


def commands(*categories: str) -> list[Command]:
    """Return the commands of the categories, by default of all. Their modules are imported."""
    return [
        command
        for name in categories or CATEGORIES
        for module in CATEGORIES[name].modules
        for command in importlib.import_module(f'manila_lite.cmd.manage.{module}').COMMANDS
        if command.category == name
    ]


class CategoryParser(argparse.ArgumentParser):
    """The parser of a category. It is filled when the category is used."""

    def __init__(self, *, category: str, **options: Any):
        super().__init__(**options)
        self._category = category
        self._filled = False

    def fill(self) -> None:
        """Add the commands of the category, once."""
        if self._filled:
            return
        self._filled = True
        found = commands(self._category)
        named, unnamed = [one for one in found if one.name], [one for one in found if not one.name]
        for command in unnamed:
            self.description = None if named else command.body.__doc__
            _add(self, command)
        if named:
            parsers = self.add_subparsers(
                dest='command', metavar='COMMAND', required=not unnamed, parser_class=argparse.ArgumentParser
            )
            for command in named:
                said = command.body.__doc__ or ''
                _add(parsers.add_parser(command.name, help=said.splitlines()[0], description=said), command)

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        """Fill the parser, and parse."""
        self.fill()
        return super().parse_known_args(*args, **options)


def _add(parser: argparse.ArgumentParser, command: Command) -> None:
    parser.set_defaults(body=command.body, logged=command.logged)
    for arguments in command.arguments:
        group = parser.add_mutually_exclusive_group(required=True) if isinstance(arguments, tuple) else parser
        for one in arguments if isinstance(arguments, tuple) else (arguments,):
            group.add_argument(*one.names, **one.options)
