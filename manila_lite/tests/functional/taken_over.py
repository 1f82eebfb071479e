# SPDX-License-Identifier: Apache-2.0
"""A worker whose operations are taken over by somebody else, each time just before it writes; and what it writes then.

The product has no hooks for this: what is wrapped here is wrapped for the service of one class of tests.
"""

import collections
import contextlib
import dataclasses
import datetime
import itertools
import sys
import threading
import types

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite import errors
from manila_lite.actions import share_bin
from manila_lite.api import versions
from manila_lite.db.models import operations
from manila_lite.tests.functional import base

#: Whose frames say nothing of where a transaction begins.
_PLUMBING = ('contextlib.py', 'db/core/engine.py', 'functional/taken_over.py')
_LEASE = datetime.timedelta(seconds=60)
_CHANGES = ('INSERT', 'UPDATE', 'DELETE')


@dataclasses.dataclass
class Run:
    """A worker at an operation: where it is, how often it was there, and what it wrote after it was taken over."""

    op: object
    at: tuple = ('begin',)
    seen: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    other: str = ''
    wrote: list = dataclasses.field(default_factory=list)

    def place(self):
        """Return where the transaction begins that the worker is about to begin."""
        frame = sys._getframe(2)
        while frame.f_code.co_filename.endswith(_PLUMBING):
            frame = frame.f_back
        site = (self.at, frame.f_code.co_filename, frame.f_lineno)
        self.seen[site] += 1
        return (self.op.id, self.op.topic, *site, self.seen[site])


class Robbed:
    """All workers of a service. What they do for a project is taken over once at each place: see ``watch``.

    ``tried``: the places. ``wrong``: what was written by who was taken over.
    """

    def __init__(self, service):
        self.project = self.refused = None
        self.tried = set()
        self.wrong = []
        self._db = service.services.db
        self._writer = self._db.writer
        self._own = threading.local()
        self._lock = threading.Lock()
        self._names = itertools.count(1)
        self._db.writer = self._begin
        for name, listener in (
            ('after_cursor_execute', self._executed),
            ('commit', self._committed),
            ('rollback', self._rolled_back),
        ):
            sa.event.listen(self._db.engine, name, listener)
        workers = {'scheduler': [service.scheduler], 'share': service.managers.values()}
        for role, found in workers.items():
            for one in found:
                executor = one.worker.runner.executor
                executor.plans = {kind: self._plan(role, plan) for kind, plan in executor.plans.items()}
                executor.run = self._ran(executor.run)

    def watch(self, project, refused=None):
        """From now on it is that project's turn, and nobody else's. ``refused``: (role, kind, step) of the operation
        whose step works, and is refused then.
        """
        self.project, self.refused, self.tried, self.wrong = project, refused, set(), []

    @property
    def _run(self):
        return getattr(self._own, 'run', None)

    # What the workers do

    def _ran(self, plain):
        def run(op, loaded=None):
            if op.project_id != self.project:
                return plain(op, loaded)
            mine = self._own.run = Run(op)
            try:
                return plain(op, loaded)
            finally:
                self._own.run = None
                if mine.other:
                    self._let_go(mine)

        return run

    def _plan(self, role, plan):
        steps = tuple(self._step((role, plan.kind, step.name), step) for step in plan.steps)
        return dataclasses.replace(plan, steps=steps)

    def _step(self, name, step):
        def do(work):
            self._is_at('do', name[-1])
            step.do(work)
            if name == self.refused and work.ctx.project_id == self.project:
                raise errors.Final('The step is refused, as ordered.')

        def undo(work):
            self._is_at('undo', name[-1])
            step.undo(work)

        # What ``many`` does is one transaction, with its own tests; here each operation runs alone.
        return dataclasses.replace(step, do=do, undo=undo if step.undo else None, many=None)

    def _is_at(self, *where):
        if self._run:
            self._run.at = where

    # Who takes over

    def _begin(self):
        run, whole = self._run, self._db._whole()
        # Within one that has begun nobody can take over: what follows is committed with its first statement, or not at all.
        if run and not run.other and not (whole and whole.begun):
            place = run.place()
            with self._lock:
                first = place not in self.tried
                self.tried.add(place)
            if first:
                self._take(run)
        return self._writer()

    def _take(self, run):
        """The operation is another's, as if the worker had stood still until its lease was over."""
        other = f'other-{next(self._names)}'
        with self._db._transaction() as conn:  # of its own, also before the first of several together
            taken = conn.execute(
                operations.update()
                .where(
                    operations.c.id == run.op.id,
                    operations.c.owner == run.op.owner,
                    operations.c.state == 'open',
                )
                .values(
                    owner=other,
                    lease_expires_at=timeutils.utcnow() + _LEASE,
                    attempts=operations.c.attempts + 1,
                )
            ).rowcount
        run.other = other if taken else ''

    def _let_go(self, run):
        """Who took over died at once; what he did does not count as a try."""
        with self._writer() as conn:
            left = conn.execute(
                operations.update()
                .where(operations.c.id == run.op.id, operations.c.owner == run.other)
                .values(
                    owner=None,
                    lease_expires_at=None,
                    attempts=operations.c.attempts - 2,
                    next_run_at=timeutils.utcnow(),
                )
            ).rowcount
        if not left:
            self.wrong.append(f'{run.op.kind} at {run.at}: its new owner lost it to the old one')

    # What is written

    def _executed(self, conn, cursor, statement, *_):
        if (
            self._run
            and self._run.other
            and statement.lstrip().upper().startswith(_CHANGES)
            and cursor.rowcount
        ):
            self._run.wrote.append(statement)

    def _committed(self, conn):
        run = self._run
        if run and run.other and run.wrote:
            self.wrong.append(f'{run.op.kind} at {run.at}, taken over, committed: {run.wrote}')
            run.wrote = []

    def _rolled_back(self, conn):
        if self._run:
            self._run.wrote = []


class Deployment:
    """A service in this process, as the subjects of the crash matrix use it."""

    BACKENDS = ('alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta')
    #: Those that make share servers, and take each other's in.
    SERVING = ('gamma', 'delta')
    #: Those that are evacuated to each other in the crash matrix. No other story moves a share there.
    EVACUATED = ('epsilon', 'zeta')

    def __init__(self, service):
        self.service = service
        self.state = service.state
        self.engine = sa.create_engine(
            service.conf.database.connection, poolclass=sa.NullPool, connect_args={'timeout': 60}
        )
        self.deferring = set()
        self.orders = types.SimpleNamespace(defer=self.deferring.add)

    def call(self, method, path, body=None, project='admin', version=None):
        """Send a request; returns (status, document)."""
        caller = base.Api(self.service.app, 'u', project)
        return caller.call(
            method, path, body, version=version, headers={versions.EXPERIMENTAL_HEADER: 'true'}
        )[:2]

    def ok(self, method, path, body=None, project='admin', version=None):
        """Send a request that must work; returns the document."""
        status, document = self.call(method, path, body, project, version)
        if status >= 400:
            raise AssertionError(f'{method} {path}: {status} {document}')
        return document

    @staticmethod
    def eventually(ready, what):
        """It is ready within so many seconds."""
        base.eventually(ready, what)

    @contextlib.contextmanager
    def unseen(self):
        """What projects delete that were named in ``deferring`` goes as if all deletion was deferred."""
        plain = share_bin.choose_deletion

        def choose_deletion(ctx, resource_type, host, *, force):
            deferred = 'defer', f'{resource_type}.deferred_delete'
            return (
                deferred if ctx.project_id in self.deferring else plain(ctx, resource_type, host, force=force)
            )

        share_bin.choose_deletion = choose_deletion
        try:
            yield
        finally:
            share_bin.choose_deletion = plain
            self.engine.dispose()
