# SPDX-License-Identifier: Apache-2.0
"""A command of the product that stops at ordered places: python -m manila_lite.tests.crash.victim ROLE OPTION...

The product has no hooks for this: the wrappers are made in this process.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import ctypes
import dataclasses
import importlib
import os
import signal
import sys
from typing import Any

from manila_lite import errors, engine
from manila_lite.actions import share_bin
from manila_lite.drivers import load
from manila_lite.engine import executor
from manila_lite.rpc import clients
from manila_lite.tests.crash import places
from manila_lite.tests.crash.faulty import Faulty
from manila_lite.tests.crash.orders import Orders

_PR_SET_PDEATHSIG = 1
#: The module, whose name in the package is that of its function.
_BEGIN = importlib.import_module('manila_lite.engine.begin')


def _step(orders: Orders, role: str, kind: str, step: Any) -> Any:
    def at(what: str) -> str:
        return places.name(role, kind, what, step.name)

    def do(work: Any) -> None:
        project = work.ctx.project_id
        orders.reach(project, at(places.BEFORE))
        try:
            if orders.of(project).get('fail') == at(places.FAILS):
                raise errors.Final('The step is refused, as ordered.')
            step.do(work)
        except errors.Final:
            orders.reach(project, at(places.RAISED))
            raise
        orders.reach(project, at(places.AFTER))

    def undo(work: Any) -> None:
        orders.reach(work.ctx.project_id, at(places.UNDO))
        step.undo(work)
        orders.reach(work.ctx.project_id, at(places.UNDONE))

    def many(works: Any) -> None:
        free = [work for work in works if not _alone(orders, work.ctx.project_id)]
        if not free:
            return
        _reach_all(orders, free, places.name(role, kind, places.TOGETHER))
        step.many(free)
        _reach_all(orders, free, places.name(role, kind, places.PASSED))

    return dataclasses.replace(
        step, do=do, undo=undo if step.undo else None, many=many if step.many else None
    )


def _alone(orders: Orders, project: str | None) -> bool:
    """Say whether an operation is held or refused in a step of its own."""
    given = orders.of(project)
    return bool(given) and given.get('hold', '').rpartition(': ')[2] not in (places.TOGETHER, places.PASSED)


def _reach_all(orders: Orders, works: Any, place: str) -> None:
    for work in works:
        orders.reach(work.ctx.project_id, place)


def _plan(orders: Orders, role: str, plan: Any) -> Any:
    def done(conn: Any, work: Any) -> None:
        plan.done(conn, work)
        orders.reach(work.ctx.project_id, places.name(role, plan.kind, places.DONE))

    def failed(conn: Any, work: Any, error: Exception) -> None:
        plan.failed(conn, work, error)
        orders.reach(work.ctx.project_id, places.name(role, plan.kind, places.FAILED))

    def done_many(conn: Any, works: Any) -> None:
        plan.done_many(conn, works)
        _reach_all(orders, works, places.name(role, plan.kind, places.DONE))

    def prepare(conn: Any, works: Any) -> None:
        plan.prepare(conn, works)
        _reach_all(orders, works, places.name(role, plan.kind, places.LOADED))

    steps = tuple(_step(orders, role, plan.kind, step) for step in plan.steps)
    return dataclasses.replace(
        plan,
        steps=steps,
        done=done,
        failed=failed,
        done_many=done_many if plan.done_many else None,
        prepare=prepare if plan.prepare else None,
    )


def _wrap_executor(orders: Orders, role: str) -> None:
    make, run = executor.Executor.__init__, executor.Executor.run

    def made(self: Any, services: Any, owner: str, plans: Any, *more: Any) -> None:
        make(self, services, owner, {kind: _plan(orders, role, plan) for kind, plan in plans.items()}, *more)

    def ran(self: Any, op: Any, loaded: Any = None) -> Any:
        again = run(self, op, loaded)
        orders.reach(op.project_id, places.name(role, op.kind, places.ENDED))
        return again

    executor.Executor.__init__ = made
    executor.Executor.run = ran


def _wrap_wake(orders: Orders, role: str) -> None:
    send, transmit = engine.Wake.send, clients.Bus._send

    def sent(self: Any, ctx: Any) -> None:
        orders.reach(ctx.project_id, places.committed(role))
        send(self, ctx)

    def transmitted(self: Any, receiver: Any, news: Any) -> None:
        for _ in range(orders.copies(role)):
            transmit(self, receiver, news)

    engine.Wake.send = sent
    clients.Bus._send = transmitted


def _wrap_begin(orders: Orders, role: str) -> None:
    def wrapped(plain: Any) -> Any:
        def call(conn: Any, ctx: Any, *args: Any, **more: Any) -> Any:
            wake = plain(conn, ctx, *args, **more)
            orders.reach(ctx.project_id, places.uncommitted(role))
            return wake

        return call

    # Modules have imported these functions by name, or will do so.
    wrappers = {
        id(plain): wrapped(plain) for plain in (_BEGIN.begin, _BEGIN.begin_once, _BEGIN.begin_many_once)
    }
    for name, module in list(sys.modules.items()):
        if name.startswith('manila_lite.'):
            for attribute, value in list(vars(module).items()):
                if id(value) in wrappers:
                    setattr(module, attribute, wrappers[id(value)])


def _wrap_choose_deletion(orders: Orders) -> None:
    plain = share_bin.choose_deletion

    def choose_deletion(ctx: Any, resource_type: str, host: Any, *, force: bool) -> tuple[str, str]:
        if orders.defers(ctx.project_id):
            return 'defer', f'{resource_type}.deferred_delete'
        return plain(ctx, resource_type, host, force=force)

    share_bin.choose_deletion = choose_deletion


def main() -> int:
    """Run the command of a role, wrapped."""
    _, role, *options = sys.argv
    # The kernel kills this process when its parent ends in any way.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        return 1
    orders = Orders.given()
    _wrap_executor(orders, role)
    _wrap_wake(orders, role)
    if role in ('api', 'scheduler'):
        _wrap_begin(orders, role)
    if role == 'api':
        _wrap_choose_deletion(orders)
    load.load_class = lambda name: Faulty
    sys.argv = [f'manila-{role}', *options]
    status: int = importlib.import_module(f'manila_lite.cmd.{role}').main()
    return status


if __name__ == '__main__':
    sys.exit(main())
