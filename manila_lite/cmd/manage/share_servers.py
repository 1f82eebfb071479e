# SPDX-License-Identifier: Apache-2.0
"""``manila-manage share_server``: recorded capabilities of share servers. No backend is contacted."""

from collections.abc import Sequence
from typing import Any

from oslo_utils import strutils

from manila_lite import errors
from manila_lite.cmd.manage.command import FORMAT, GOOD, Call, Command, argument
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_server_capabilities


def update_capabilities(call: Call) -> int:
    """Set or clear recorded capabilities of share servers, after an update of their driver. The driver is not asked.

    The record of a share server keeps the capabilities that its backend had at its creation. Either all named share servers are
    changed, or, if one does not exist, none. Exit status 1: no share server was found, or a named one was not.
    """
    if not (call.args.share_servers or call.args.host):
        raise errors.Invalid('Name share servers with --share_servers, or their host with --host.')
    with call.db.writer() as conn:
        servers = _get_servers(conn, call.args.share_servers, call.args.host)
        changes = [_as_shown(row, call.args) for row in servers]
        if not call.args.dry_run:
            share_server_capabilities.write(
                conn, [row.id for row in servers], call.args.capabilities, call.args.value
            )
    call.show(('id', 'host', 'result'), changes)
    if call.args.format == 'table':
        count = sum(one['changed'] for one in changes)
        print(
            f'{count} of {errors.count(len(servers), "share server")} {"would be" if call.args.dry_run else "were"} changed.'
        )
    return GOOD


def _get_servers(conn: Connection, server_ids: Sequence[str] | None, host: str | None) -> list[Any]:
    """Return the share servers with these ids or on this host.

    :raises errors.NotFound: one of the ids is unknown, or there is no server.
    """
    servers = share_server_capabilities.find(conn, server_ids, host)
    if missing := sorted(set(server_ids or ()) - {row.id for row in servers}):
        raise errors.NotFound(
            f'There are no share servers {", ".join(missing)}{f" on {host}" if host else ""}; '
            'nothing was changed.'
        )
    if not servers:
        raise errors.NotFound(f'There are no share servers on {host}; nothing was changed.')
    return servers


def _as_shown(row: Any, args: Any) -> dict[str, Any]:
    differs = [name for name in args.capabilities if getattr(row, name) != args.value]
    result = f'{", ".join(differs)}: {not args.value} -> {args.value}' if differs else 'is so already'
    return {
        'id': row.id,
        'host': row.host,
        'result': result,
        'changed': bool(differs),
        'dry_run': args.dry_run,
    }


def id_list(text: str) -> list[str]:
    """Return the names in a list with commas, each once, for argparse."""
    names = list(dict.fromkeys(part.strip() for part in text.split(',') if part.strip()))
    if not names:
        raise ValueError(text)
    return names


def capability_list(text: str) -> list[str]:
    """Return the capabilities in a list with commas, each once, for argparse."""
    names = id_list(text)
    if set(names) - set(share_server_capabilities.NAMES):
        raise ValueError(text)
    return names


def boolean(text: str) -> bool:
    """Return the truth value of a word, for argparse; ``bool`` would take "False" for true."""
    return strutils.bool_from_string(text, strict=True)


COMMANDS: Sequence[Command] = (
    Command(
        'share_server',
        'update_share_server_capabilities',
        update_capabilities,
        [
            argument(
                '--share_servers',
                type=id_list,
                metavar='ID,ID',
                help='ids of share servers, separated by commas',
            ),
            argument(
                '--host',
                metavar='HOST',
                help='all share servers of this host or host@backend; with --share_servers: only those of it',
            ),
            argument(
                '--capabilities',
                type=capability_list,
                required=True,
                metavar='NAME,NAME',
                help=f'one or more of {", ".join(share_server_capabilities.NAMES)}',
            ),
            argument('--value', type=boolean, required=True, metavar='BOOLEAN', help='True or False'),
            argument('--dry-run', action='store_true', help='only show the changes'),
            FORMAT,
        ],
    ),
)
