# SPDX-License-Identifier: Apache-2.0
"""``manila-manage evacuate``: show where everything on a backend or a host would go, move it there, and show the progress."""

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TextIO

from oslo_utils import uuidutils

from manila_lite import context, errors
from manila_lite.cmd import log_lines
from manila_lite.cmd.manage import machines
from manila_lite.cmd.manage.command import FORMAT, GOOD, USAGE, WRONG, Call, Command, argument, seconds
from manila_lite.cmd.manage.watch import STOPPED, Progress, fraction, watch
from manila_lite.db.queries import evacuation
from manila_lite.db.queries import operations as rows
from manila_lite.operation_data.evacuation import Evacuate
from manila_lite.workflow import evacuation as workflow

#: Number of resources whose reasons are printed.
_MOST = 20
#: Columns of the plan. The name of a share server is that of its share network.
_HEADS = ('resource_type', 'name', 'id', 'size', 'shares', 'from', 'to', 'clients')


def start(call: Call) -> int:
    """Move all share servers and shares off a backend, or off all backends of a host.

    The plan is shown first: where everything would go, and what cannot move. Then a question is asked, unless --yes is
    given. The backends get no new shares from then on, and stay disabled afterwards. Clients of share servers notice a
    pause; shares without share servers get other export paths.

    Ctrl-C ends the display and not the evacuation, which goes on in the scheduler: see "evacuate watch" and "evacuate stop".
    Exit status: 0 the host is empty, or with --dry-run everything on it can move; 1 something stays, or nothing was begun;
    2 there was nobody to answer the question; 130 Ctrl-C was pressed.
    """
    return _start(call, [])


def _start(call: Call, switches: Sequence[Mapping[str, Any]]) -> int:
    """Show the plan, with these switches of backends to other machines, ask, and do it."""
    status, plan = _plan(call, switches)
    if call.args.dry_run or plan is None:
        return status
    if plan.left and not plan.plan and not switches:
        _say(call, 'Nothing can move, so nothing was begun.')
        return WRONG
    if not call.args.yes and (declined := _decline(call, plan.plan or switches)) is not None:
        return declined
    switched = machines.run(call, _out(call)) if switches else GOOD
    return max(switched, _show(call, _begin(call, dry_run=False), _out(call)))


def _plan(call: Call, switches: Sequence[Mapping[str, Any]]) -> tuple[int, Evacuate | None]:
    """Make the plan and print it. Return the exit status, and the data of the operation; None if there is no plan."""
    operation_id = _begin(call, dry_run=True)
    status = _show(call, operation_id, _out(call))
    with call.db.reader() as conn:
        op = rows.get(conn, operation_id)
        data = Evacuate.from_json(op.data) if op else None
        names = evacuation.names(conn, data.plan) if data else {}
    if status > WRONG or op is None or data is None or op.state != rows.DONE:
        return status, None
    moves = [
        *switches,
        *(
            {'name': names.get(resource_id, ''), 'id': resource_id, **move}
            for resource_id, move in data.plan.items()
        ),
    ]
    if moves or call.args.format != 'table':
        call.show(_HEADS, moves)
    if not moves and not data.left:
        _say(call, 'There is nothing to move.')
    return status, data


def _decline(call: Call, moves: Collection[Any]) -> int | None:
    """Ask whether to go on. Return the exit status if not, else None."""
    if not sys.stdin.isatty():
        print('manila-manage: nothing was begun, since nobody can answer here; add --yes', file=sys.stderr)
        return USAGE
    host = log_lines.escaped(call.args.host)
    question = f'Move all this off {host} now?' if moves else f'Disable {host}, so that it stays empty?'
    print(f'{question} [y/N] ', end='', file=sys.stderr, flush=True)
    try:
        if input().strip().lower() in ('y', 'yes'):
            return None
    except EOFError:
        pass
    except KeyboardInterrupt:
        return STOPPED
    _say(call, 'Nothing was begun.')
    return WRONG


def _out(call: Call) -> TextIO:
    """Return the file for texts: in formats for programs, standard output has only the plan."""
    return sys.stdout if call.args.format == 'table' else sys.stderr


def _say(call: Call, text: str) -> None:
    print(text, file=_out(call), flush=True)


def _begin(call: Call, *, dry_run: bool) -> str:
    args = call.args
    wish = workflow.Wish(
        to=tuple(args.to),
        any_zone=args.any_zone,
        writable=args.writable,
        nondisruptive=args.nondisruptive,
        by_host=args.by_host,
        at_once=args.at_once,
        dry_run=dry_run,
    )
    operation_id = str(workflow.request(context.admin(call.services()), args.host, wish))
    print(f'operation {operation_id}', file=sys.stderr, flush=True)
    return operation_id


def follow(call: Call) -> int:
    """Show the progress of an evacuation until it ends. Nothing is changed.

    With a host or a backend, it is the newest one; with an operation id it can be a plan, too. Exit status as of
    "evacuate start".
    """
    if uuidutils.is_uuid_like(call.args.run):
        return _show(call, call.args.run)
    with call.db.reader() as conn:
        op = evacuation.newest(conn, call.args.run)
    if op is None:
        raise errors.NotFound(f'There is no recent evacuation of {call.args.run}.')
    print(f'operation {op.id}', file=sys.stderr, flush=True)
    return _show(call, str(op.id))


def stop(call: Call) -> int:
    """Stop an evacuation: begin no more migrations.

    Those that are under way go on. The backends stay disabled: "openstack share service set --enable" enables them.
    """
    workflow.stop(context.admin(call.services()), call.args.host)
    print(
        f'{call.args.host} is not evacuated any further. Migrations that are under way go on; its backends stay disabled.'
    )
    return GOOD


def _show(call: Call, operation_id: str, out: TextIO | None = None) -> int:
    ended: list[Evacuate] = []

    def read_progress() -> Progress:
        with call.db.reader() as conn:
            op = rows.get(conn, operation_id)
            data = Evacuate.from_json(op.data) if op is not None and op.kind == evacuation.KIND else None
            names = evacuation.names(conn, list(data.left)[:_MOST]) if data else {}
        if op is None or data is None:
            raise errors.NotFound(
                f'Operation {operation_id} is no evacuation, or its record was deleted, because it ended '
                'long ago.'
            )
        if op.state != rows.OPEN:
            ended.append(data)
        return progress(op, data, names)

    status = watch(read_progress, call.args.every, out)
    for data in ended:
        if not data.dry_run:
            _tell_disabled(call, data.host, out)
    return status


def _tell_disabled(call: Call, host: str, out: TextIO | None) -> None:
    """Say which backends of the host get no new shares now, and how they get some again."""
    with call.db.reader() as conn:
        backends = evacuation.disabled_backends(conn, host)
    for backend in backends:
        print(
            f'{log_lines.escaped(backend)} is disabled and gets no new shares. To enable it: '
            f'openstack share service set --enable {log_lines.escaped(backend)} manila-share',
            file=out,
            flush=True,
        )


def progress(op: Any, data: Evacuate, names: Mapping[str, str]) -> Progress:
    """Return the progress of an evacuation or of its plan, from its operation's row and data. ``names``: by id."""
    figures, dry_run = data.progress, data.dry_run
    detail = ', '.join(
        filter(
            None,
            (
                fraction(None if figures.total is None else figures.done, figures.total, 'resources'),
                *(
                    f'{count} {name}'
                    for name, count in (('moving', figures.moving), ('left', figures.left))
                    if count
                ),
            ),
        )
    )
    percent, left = figures.percent, figures.seconds_left
    if op.state == rows.OPEN:
        return Progress('planning' if dry_run else 'evacuating', percent, detail, left)
    stays = _stays(op, data.left, names)
    if op.state == rows.DONE and not dry_run:
        # A reason can be left, of a resource that was deleted meanwhile.
        return Progress('empty', 100, detail, ended=True)
    if op.state == rows.DONE:
        return Progress('planned', 100, detail, hint='\n'.join(stays), ended=not stays)
    return Progress(
        'stopped' if op.error_code == workflow.STOPPED else 'failed',
        percent,
        detail,
        hint='\n'.join([op.error or '', *stays]),
        ended=False,
    )


def _stays(op: Any, left: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    """Return a line for each resource that cannot move, up to a number."""
    more = [f'and {len(left) - _MOST} more; see GET /v2/operations/{op.id}'] if len(left) > _MOST else []
    return [
        *(
            f'{_called(resource_id, names)} stays: {reason}'
            for resource_id, reason in list(left.items())[:_MOST]
        ),
        *more,
    ]


def _called(resource_id: str, names: Mapping[str, str]) -> str:
    """Return the name with the id, or the id alone if there is no name."""
    name = names.get(resource_id)
    return f'{log_lines.escaped(name)} ({resource_id})' if name else resource_id


_EVERY = argument(
    '--every', type=seconds, default=1.0, metavar='SECONDS', help='seconds between two updates; default: 1'
)


def _at_once(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= workflow.MOST_AT_ONCE:
        raise argparse.ArgumentTypeError(f'give a number from 1 to {workflow.MOST_AT_ONCE}')
    return int(text)


def drain(call: Call) -> int:
    """Take everything off a host, in whichever way each backend and each share allows.

    A machine that serves backends with failover lets go of them, and other machines serve them within seconds; until --undo,
    it serves them only if no other machine can. Everything else moves: the driver of the destination moves share servers and
    shares that it can. Its host copies the files of other shares, if it can reach both sides; during the last part of that,
    or all of it, clients can only read. This is "evacuate start" with --by-host: see there for the question, the display and
    the exit status.
    """
    if call.args.undo:
        return machines.undo(call)
    names = machines.look_up(call)
    switches = machines.moves(names)
    if names.plain or not names.backends:
        return _start(call, switches)
    if switches or call.args.format != 'table':
        call.show(_HEADS, switches)
    if not switches:
        _say(call, f'{names.machine} serves no backend with failover.')
    if call.args.dry_run:
        return GOOD
    if not call.args.yes and (declined := _decline(call, switches)) is not None:
        return declined
    return machines.run(call, _out(call))


_HOW = (
    argument(
        '--to',
        action='append',
        default=[],
        metavar='PLACE',
        help='host, backend or pool that may be a destination; may be given more than once; default: all others in '
        'the same availability zone',
    ),
    argument('--any-zone', action='store_true', help='also move to other availability zones'),
    argument('--writable', action='store_true', help='only where clients can write during the copy'),
    argument('--nondisruptive', action='store_true', help='only where clients do not notice the move'),
    argument(
        '--at-once',
        type=_at_once,
        default=workflow.AT_ONCE,
        metavar='N',
        help=f'migrations at the same time; default: {workflow.AT_ONCE}',
    ),
    argument('--dry-run', action='store_true', help='only show the plan'),
    argument('--yes', action='store_true', help='do not ask'),
    FORMAT,
    _EVERY,
)
COMMANDS: Sequence[Command] = (
    Command(
        'evacuate',
        'start',
        start,
        [
            argument('host', help='backend as host@backend, or a host with all its backends'),
            argument(
                '--by-host',
                action='store_true',
                help='let the host of the destination copy shares and share servers that its driver cannot move',
            ),
            *_HOW,
        ],
    ),
    Command(
        'host',
        'drain',
        drain,
        [
            argument(
                'host',
                help='machine of backends with failover, or one of these as machine@backend; or a host with all its '
                'backends, or a backend as host@backend',
            ),
            argument(
                '--undo', action='store_true', help='let the machine serve backends with failover again'
            ),
            argument(
                '--no-copies', action='store_false', dest='by_host', help='move nothing by a copy of the host'
            ),
            *_HOW,
        ],
    ),
    Command(
        'evacuate', 'watch', follow, [argument('run', help='operation id, or the host or backend'), _EVERY]
    ),
    Command(
        'evacuate',
        'stop',
        stop,
        [argument('host', help='the host or backend, as it was given to "evacuate start"')],
    ),
)
