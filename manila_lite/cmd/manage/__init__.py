# SPDX-License-Identifier: Apache-2.0
"""Administration on the machine itself, without the API: the schema, services, shares, and stuck operations.

Exit status: 0 success, 1 a problem was found or the command was refused, 2 the command or the configuration is invalid.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from manila_lite import errors, release
from manila_lite.cmd import log_lines, setup
from manila_lite.cmd.manage.categories import CATEGORIES, CategoryParser
from manila_lite.cmd.manage.command import USAGE, WRONG, Call
from manila_lite.db.core.engine import Database

#: The exit status of a program that was writing when its reader, such as "head", ended: 128 and the signal SIGPIPE.
_UNREAD = 141


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='manila-manage', description=__doc__)
    parser.add_argument('--version', action='version', version=release.FULL)
    parser.add_argument(
        '--config-file', action='append', default=[], help='configuration file; may be given more than once'
    )
    parser.add_argument('--config-dir', action='append', default=[], help='directory of configuration files')
    parsers = parser.add_subparsers(
        dest='category', metavar='COMMAND', required=True, parser_class=CategoryParser
    )
    for name, category in CATEGORIES.items():
        parsers.add_parser(name, category=name, help=category.help)
    return parser


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
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # Python writes what is left when it ends
        return _UNREAD
    return status if ended else USAGE


def _run(argv: Sequence[str]) -> int:
    args = _parser().parse_args(argv)
    log.register_options(cfg.CONF)
    cfg.CONF.set_default('use_stderr', True)  # standard output is for the command's results
    conf = setup.configure(
        [
            *(f'--config-file={name}' for name in args.config_file),
            *(f'--config-dir={name}' for name in args.config_dir),
        ],
        messages=False,
        logged=args.logged,
        program='manila-manage' if args.logged else None,
    )
    if args.category != 'db' or args.command != 'sync':
        logging.getLogger('alembic').setLevel(logging.WARNING)  # alembic logs each revision that it runs
    try:
        with contextlib.ExitStack() as ended:
            status: int = args.body(Call(conf, Database(conf, hurried=True), args, ended))
    except errors.BadConfig:
        raise
    except errors.ManilaLiteError as refused:
        print(f'manila-manage: {log_lines.escaped(str(refused))}', file=sys.stderr)
        return WRONG
    return status
