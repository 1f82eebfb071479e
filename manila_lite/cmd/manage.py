# SPDX-License-Identifier: Apache-2.0
"""``manila-manage``: what an operator does on the machine itself, beside the API."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import argparse
import datetime
import json
import sys
from collections.abc import Callable, Iterable, Sequence

from oslo_config import cfg
from oslo_utils import timeutils

from manila_lite.cmd import setup
from manila_lite.db import messages, migrate, operations, services
from manila_lite.db.engine import Database

Body = Callable[[cfg.ConfigOpts, Database, argparse.Namespace], int]


def _sync(conf: cfg.ConfigOpts, db: Database, args: argparse.Namespace) -> int:
    """Bring the schema to the newest revision (or the one given)."""
    migrate.upgrade(db, args.revision or 'head')
    print(f'The schema is at {migrate.current(db)}.')
    return 0


def _version(conf: cfg.ConfigOpts, db: Database, args: argparse.Namespace) -> int:
    """Print the revision that the schema is at."""
    print(migrate.current(db) or 'none')
    return 0


def _stamp(conf: cfg.ConfigOpts, db: Database, args: argparse.Namespace) -> int:
    """Let the schema count as being at a revision, without changing it."""
    migrate.stamp(db, args.revision)
    return 0


def _purge(conf: cfg.ConfigOpts, db: Database, args: argparse.Namespace) -> int:
    """Delete finished operations older than a number of days, and expired messages."""
    with db.writer() as conn:
        gone = operations.purge(conn, timeutils.utcnow() - datetime.timedelta(days=args.age_in_days))
        expired = messages.expire(conn)
    print(f'{gone} finished operations and {expired} expired messages are gone.')
    return 0


def _services(conf: cfg.ConfigOpts, db: Database, args: argparse.Namespace) -> int:
    """List the services with their state."""
    with db.reader() as conn:
        rows = services.list_services(conn)
    up = conf.service_down_time
    _show(args.format_output, ('binary', 'host', 'zone', 'status', 'state', 'heartbeat'), (
        (row.binary, row.host, row.zone or '', 'disabled' if row.disabled else 'enabled',
         'up' if services.is_up(row.heartbeat_at, row.stopped, up) else 'down', str(row.heartbeat_at or '')) for row in rows))
    return 0


def _show(form: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    found = [dict(zip(heads, row, strict=True)) for row in rows]
    if form == 'json':
        print(json.dumps(found, indent=2))
        return
    widths = [max([len(head), *(len(row[head]) for row in found)]) for head in heads]
    for line in (heads, *([row[head] for head in heads] for row in found)):
        print('  '.join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


_Arguments = list[tuple[list[str], dict]]
_REVISION: _Arguments = [(['revision'], {'help': 'revision of the schema'})]

#: category, command, what it does, its arguments
COMMANDS: list[tuple[str, str, Body, _Arguments]] = [
    ('db', 'sync', _sync, [(['revision'], {'nargs': '?', 'help': 'default: the newest'})]),
    ('db', 'version', _version, []),
    ('db', 'stamp', _stamp, _REVISION),
    ('db', 'purge', _purge, [(['age_in_days'], {'type': int, 'help': 'keep what ended within these days'})]),
    ('service', 'list', _services, [(['--format_output'], {'choices': ['table', 'json'], 'default': 'table'})]),
]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='manila-manage', description=__doc__)
    parser.add_argument('--config-file', action='append', default=[], help='configuration file; may be repeated')
    parser.add_argument('--config-dir', action='append', default=[], help='directory of configuration files')
    categories = parser.add_subparsers(dest='category', required=True)
    made: dict[str, argparse._SubParsersAction] = {}
    for category, name, body, arguments in COMMANDS:
        if category not in made:
            made[category] = categories.add_parser(category).add_subparsers(dest='command', required=True)
        command = made[category].add_parser(name, help=body.__doc__, description=body.__doc__)
        command.set_defaults(body=body)
        for names, options in arguments:
            command.add_argument(*names, **options)
    return parser


def main() -> int:
    """Run the command."""
    return setup.run(_main)


def _main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(argv)
    conf = setup.configure([*(f'--config-file={name}' for name in args.config_file),
                            *(f'--config-dir={name}' for name in args.config_dir)], transport_url='inproc://')
    return args.body(conf, Database(conf), args)


if __name__ == '__main__':
    sys.exit(main())
