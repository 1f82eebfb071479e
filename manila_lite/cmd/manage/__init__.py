# SPDX-License-Identifier: Apache-2.0
"""Administration on the machine itself, without the API: the schema, services, shares, and stuck operations.

Exit status: 0 success, 1 a problem was found or the command was refused, 2 the command or the configuration is invalid.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from manila_lite import errors, release
from manila_lite.cmd import log_lines, setup
from manila_lite.cmd.manage import (copy_database, database, doctor, ensure, evacuate, events, hosts, logs, machines, migration,
                                    options, secrets, share_backups, share_servers, shares, shell, top)
from manila_lite.cmd.manage.command import USAGE, WRONG, Call, Command
from manila_lite.db.core.engine import Database

#: Every command, as the help shows them.
COMMANDS: tuple[Command, ...] = (*database.COMMANDS, *copy_database.COMMANDS, *doctor.COMMANDS, *hosts.COMMANDS,
                                *machines.COMMANDS,
                                *shares.COMMANDS, *share_servers.COMMANDS, *share_backups.COMMANDS, *migration.COMMANDS,
                                *ensure.COMMANDS, *evacuate.COMMANDS, *top.COMMANDS, *events.COMMANDS, *secrets.COMMANDS,
                                *options.COMMANDS, *logs.COMMANDS, *shell.COMMANDS)

#: Descriptions of the categories.
CATEGORIES = {'db': 'schema, old rows, copy to another database', 'service': 'services and their heartbeats',
              'host': 'backends', 'share': 'records of shares', 'share_server': 'records of share servers',
              'share_backup': 'records of backups',
              'migration': 'migrations of share servers and shares', 'ensure': 'checks of all shares of a backend',
              'evacuate': 'moves everything off a backend or a host',
              'top': 'the service at a glance', 'watch': 'changes as they come',
              'secret': 'secrets in the database, and their keys',
              'config': 'configuration', 'version': 'installed release',
              'logs': 'log files of this machine',
              'shell': 'Python with the configuration, the database and an administrator context'}


#: The exit status of a program that was writing when its reader, such as "head", ended: 128 and the signal SIGPIPE.
_UNREAD = 141


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='manila-manage', description=__doc__)
    parser.add_argument('--version', action='version', version=release.VERSION)
    parser.add_argument('--config-file', action='append', default=[], help='configuration file; may be given more than once')
    parser.add_argument('--config-dir', action='append', default=[], help='directory of configuration files')
    categories = parser.add_subparsers(dest='category', metavar='COMMAND', required=True)
    made: dict[str, argparse._SubParsersAction] = {}
    named = {command.category for command in COMMANDS if command.name}
    for command in COMMANDS:
        said = {'help': command.body.__doc__.splitlines()[0], 'description': command.body.__doc__}
        if command.category not in made and command.category in named:
            category = categories.add_parser(command.category, help=CATEGORIES[command.category])
            made[command.category] = category.add_subparsers(dest='command', metavar='COMMAND', required=bool(command.name))
            if not command.name:
                _fill(category, command)
                continue
        _fill(made[command.category].add_parser(command.name, **said) if command.name
              else categories.add_parser(command.category, **said), command)
    return parser


def _fill(parser: argparse.ArgumentParser, command: Command) -> None:
    parser.set_defaults(body=command.body, logged=command.logged)
    for arguments in command.arguments:
        group = parser.add_mutually_exclusive_group(required=True) if isinstance(arguments, tuple) else parser
        for one in arguments if isinstance(arguments, tuple) else (arguments,):
            group.add_argument(*one.names, **one.options)


def main() -> int:
    """Run the command; returns its exit status."""
    ended = []

    def body(argv: Sequence[str]) -> int:
        ended.append(_run(argv))
        sys.stdout.flush()
        return ended[0]

    try:
        status = setup.run(body)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())      # Python writes what is left when it ends
        return _UNREAD
    return status if ended else USAGE


def _run(argv: Sequence[str]) -> int:
    args = _parser().parse_args(argv)
    log.register_options(cfg.CONF)
    cfg.CONF.set_default('use_stderr', True)        # standard output is for the command's results
    conf = setup.configure([*(f'--config-file={name}' for name in args.config_file),
                            *(f'--config-dir={name}' for name in args.config_dir)],
                           transport_url='inproc://', logged=args.logged, program='manila-manage' if args.logged else None)
    if args.body is not database.sync:
        logging.getLogger('alembic').setLevel(logging.WARNING)      # alembic logs each revision that it runs
    try:
        return args.body(Call(conf, Database(conf, hurried=True), args))
    except errors.BadConfig:
        raise
    except errors.ManilaLiteError as refused:
        print(f'manila-manage: {log_lines.escaped(str(refused))}', file=sys.stderr)
        return WRONG
