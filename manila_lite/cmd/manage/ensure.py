# SPDX-License-Identifier: Apache-2.0
"""``manila-manage ensure``: progress of the check of all shares of a backend. Nothing is changed."""

from collections.abc import Sequence
from typing import Any

from manila_lite import errors
from manila_lite.cmd.manage.command import Call, Command, argument, seconds
from manila_lite.cmd.manage.watch import Progress, fraction, watch
from manila_lite.db.queries import ensure, services
from manila_lite.db.queries import operations as rows


def follow(call: Call) -> int:
    """Show the progress of the newest check of all shares of a backend until it ends. Nothing is changed.

    A terminal shows a bar; other output gets a line for each change. Exit status: 0 every share was checked, 1 some shares
    could not be checked or are broken, 130 Ctrl-C was pressed (the check continues).
    """
    host = call.args.host.partition('#')[0]
    with call.db.reader() as conn:
        service = services.get(conn, host, 'manila-share')
        runs = rows.list_of_resource(conn, str(service.id), ensure.KIND)
    if not runs:
        raise errors.NotFound(f'There is no recent check of the shares on host {host}.')
    operation_id = runs[-1].id

    def look() -> Progress:
        with call.db.reader() as conn:
            op = rows.get(conn, operation_id)
        if op is None:
            raise errors.NotFound('The record of that check was deleted, because it ended long ago.')
        return progress(op)

    return watch(look, call.args.every)


def progress(op: Any) -> Progress:
    """Return the progress of a check, from its operation's row."""
    figures = op.data.get('progress') or {}
    total, done, broken = figures.get('total'), figures.get('done'), figures.get('broken')
    percent = 100 * (done or 0) // total if total else None
    texts = [fraction(done, total, 'shares'), *(f'{figures[name]} {name}'
                                                for name in ('repaired', 'skipped', 'broken', 'failed') if figures.get(name))]
    detail = ', '.join(filter(None, texts))
    if op.state == rows.DONE:
        hint = '\n'.join([*([f'{broken} are broken: their owners have a message.'] if broken else []), *_repairs(op),
                          *_configuration(op)])
        now = Progress('checked', 100, detail, hint=hint, ended=not broken)
    elif op.state == rows.OPEN:
        left = figures.get('seconds_left')
        now = Progress('checking', percent, detail, None if left is None else round(left))
    else:
        now = Progress('failed', percent, detail, hint='\n'.join([op.error or '', *_configuration(op)]), ended=False)
    return now


def _repairs(op: Any) -> list[str]:
    """Return a line for each repaired share in the operation's data."""
    return [f'{share_id}: {" ".join(words)}' for share_id, words in op.data.get('repairs', {}).items()]


#: Lines about options of the backend's section that differ from the values that were in use.
_CHANGED = {'applied': 'new values in use: {}', 'restart': 'changed, but in use only after a restart of the backend: {}'}


def _configuration(op: Any) -> list[str]:
    changes = op.data.get('configuration') or {}
    return [line.format(', '.join(changes[name])) for name, line in _CHANGED.items() if changes.get(name)]


COMMANDS: Sequence[Command] = (
    Command('ensure', 'watch', follow, [
        argument('host', help='backend, as host@backend'),
        argument('--every', type=seconds, default=1.0, metavar='SECONDS', help='seconds between two updates; default: 1')]),
)
