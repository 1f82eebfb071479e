# SPDX-License-Identifier: Apache-2.0
"""``manila-manage ensure``: begin a check of the shares of a backend, and show its progress."""

import sys
from collections.abc import Sequence
from typing import Any

from oslo_utils import uuidutils

from manila_lite import context, errors
from manila_lite.cmd.manage.command import Call, Command, argument, seconds
from manila_lite.cmd.manage.watch import Progress, fraction, watch
from manila_lite.db.queries import ensure, services
from manila_lite.db.queries import operations as rows
from manila_lite.operation_data.ensure import EnsureShares, Figures
from manila_lite.workflow import ensure as workflow

#: Number of shares whose reasons are printed.
_MOST = 20


def follow(call: Call) -> int:
    """Show the progress of a check of all shares of a backend until it ends. Nothing is changed.

    With the id of its operation, this is the check that you requested: the header Operation-Id of the answer has the id.
    With a host, it is the newest check, whoever began it; the id is printed to stderr.

    A terminal shows a bar; other output gets a line for each change. Exit status: 0 every share was checked, 1 some shares
    could not be checked or are broken, 130 Ctrl-C was pressed (the check continues).
    """
    return show(
        call, call.args.run if uuidutils.is_uuid_like(call.args.run) else _newest(call, call.args.run)
    )


def start(call: Call) -> int:
    """Check and repair the shares of a backend, of a pool, or of a share server, or one share, and show the progress.

    With --dry-run nothing is repaired; the output says what would be. Exit status as of "ensure watch".
    """
    host, pool = workflow.backend_and_pool(call.args.host)
    if pool and (call.args.share or call.args.server):
        raise errors.Invalid('host: cannot name a pool beside --share or --server.')
    operation_id = workflow.request(
        context.admin(call.services()),
        host,
        workflow.Part(call.args.share, call.args.server, pool, call.args.dry_run),
    )
    print(f'operation {operation_id}', file=sys.stderr, flush=True)
    return show(call, operation_id)


def _newest(call: Call, host: str) -> str:
    """Return the id of the newest check of a backend, and print it.

    :raises errors.NotFound: there is none.
    """
    host = host.partition('#')[0]
    with call.db.reader() as conn:
        service = services.get(conn, host, 'manila-share')
        runs = rows.list_of_resource(conn, str(service.id), ensure.KIND)
    if not runs:
        raise errors.NotFound(f'There is no recent check of the shares on host {host}.')
    print(
        f'operation {runs[-1].id} ({EnsureShares.from_json(runs[-1].data).why})', file=sys.stderr, flush=True
    )
    return str(runs[-1].id)


def show(call: Call, operation_id: str) -> int:
    """Show the progress of a check until it ends. Return the exit status.

    :raises errors.NotFound: there is no such check.
    """

    def read_progress() -> Progress:
        with call.db.reader() as conn:
            op = rows.get(conn, operation_id)
        if op is None or op.kind != ensure.KIND:
            raise errors.NotFound(
                f'Operation {operation_id} is no check of shares, or its record was deleted, because it '
                'ended long ago.'
            )
        return progress(op)

    return watch(read_progress, call.args.every)


def progress(op: Any) -> Progress:
    """Return the progress of a check, from its operation's row."""
    data = EnsureShares.from_json(op.data)
    percent, left, broken, detail = _figures(data.progress) if data.progress else (None, None, 0, '')
    if op.state == rows.DONE:
        heard = '.' if data.dry_run else ': their owners have a message.'
        hint = '\n'.join(
            [
                *([f'{broken} are broken{heard}'] if broken else []),
                *_repairs(data),
                *_reasons(op, data),
                *_configuration(data),
            ]
        )
        now = Progress('inspected' if data.dry_run else 'checked', 100, detail, hint=hint, ended=not broken)
    elif op.state == rows.OPEN:
        now = Progress('checking', percent, detail, None if left is None else round(left))
    else:
        hint = '\n'.join([op.error or '', *_reasons(op, data), *_configuration(data)])
        now = Progress('failed', percent, detail, hint=hint, ended=False)
    return now


def _figures(figures: Figures) -> tuple[int | None, float | None, int, str]:
    """Return the percentage, the seconds that are left, the number of broken shares, and all figures in words."""
    counts = {
        'repaired': figures.repaired,
        'skipped': figures.skipped,
        'broken': figures.broken,
        'failed': figures.failed,
    }
    texts = [
        fraction(figures.done, figures.total, 'shares'),
        *(f'{count} {name}' for name, count in counts.items() if count),
    ]
    percent = 100 * figures.done // figures.total if figures.total else None
    return percent, figures.seconds_left, figures.broken, ', '.join(filter(None, texts))


def _repairs(data: EnsureShares) -> list[str]:
    """Return a line for each repaired share in the operation's data."""
    would = 'would be repaired: ' if data.dry_run else ''
    return [f'{share_id}: {would}{" ".join(words)}' for share_id, words in data.repairs.items()]


def _reasons(op: Any, data: EnsureShares) -> list[str]:
    """Return a line for each share and share server that could not be ensured, up to a number."""
    whys = {**data.servers, **data.reasons}
    more = [f'and {len(whys) - _MOST} more; see GET /v2/operations/{op.id}'] if len(whys) > _MOST else []
    return [*(f'{resource_id}: {why}' for resource_id, why in list(whys.items())[:_MOST]), *more]


#: Lines about options of the backend's section that differ from the values that were in use.
_CHANGED = {
    'applied': 'new values in use: {}',
    'restart': 'changed, but in use only after a restart of the backend: {}',
}


def _configuration(data: EnsureShares) -> list[str]:
    changes = data.configuration.changes if data.configuration else {}
    would = 'would be: ' if data.dry_run else ''
    return [
        would + line.format(', '.join(changes[name])) for name, line in _CHANGED.items() if changes.get(name)
    ]


COMMANDS: Sequence[Command] = (
    Command(
        'ensure',
        'start',
        start,
        [
            argument('host', help='backend or pool, as host@backend or host@backend#pool'),
            argument('--share', metavar='ID', help='only this share'),
            argument('--server', metavar='ID', help='only the shares of this share server'),
            argument('--dry-run', action='store_true', help='repair nothing; print the repairs that are due'),
            argument(
                '--every',
                type=seconds,
                default=1.0,
                metavar='SECONDS',
                help='seconds between two updates; default: 1',
            ),
        ],
    ),
    Command(
        'ensure',
        'watch',
        follow,
        [
            argument('run', help='operation id, or host@backend for the newest check'),
            argument(
                '--every',
                type=seconds,
                default=1.0,
                metavar='SECONDS',
                help='seconds between two updates; default: 1',
            ),
        ],
    ),
)
