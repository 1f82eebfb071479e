# SPDX-License-Identifier: Apache-2.0
"""The context of a request: caller, request id and services of the process. Also the current task of each thread."""

import contextlib
import dataclasses
import functools
import operator
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast
from urllib.parse import quote

from oslo_context import context

from manila_lite.thread_reserve import ThreadReserve

#: Characters that a word of the log may have.
_LONGEST = 255
#: Attributes that policy judges a caller by, beside its roles.
_CREDENTIALS = operator.attrgetter(
    'user_id',
    'user_domain_id',
    'system_scope',
    'domain_id',
    'project_id',
    'project_domain_id',
    'is_admin_project',
    'service_user_id',
    'service_user_domain_id',
    'service_project_id',
    'service_project_domain_id',
)
#: Attributes that may change after a line was logged.
_CHANGING = operator.attrgetter('project_id', 'is_admin', 'resource_uuid')


@dataclasses.dataclass(frozen=True)
class Services:
    """The services that one process gives to every request in it: configuration, database, bus and policy enforcer.

    ``make_enforcer``: makes the enforcer. ``turns``: limits how many of its requests may wait for other services at a time.
    """

    conf: Any
    db: Any = None
    bus: Any = None
    make_enforcer: Callable[[], Any] = lambda: None
    turns: ThreadReserve = dataclasses.field(default_factory=ThreadReserve)

    @functools.cached_property
    def enforcer(self) -> Any:
        """The policy enforcer. It is made at its first use: only an API needs it for sure."""
        return self.make_enforcer()


class RequestContext(context.RequestContext):
    """A caller with roles in a project, or manila_lite itself (``admin``). Log lines name it only within ``working``."""

    #: The caller's project. Policy lets a caller without one do nothing that needs it.
    project_id: str

    def __init__(self, *args: Any, services: Services | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        #: None only where nothing but the caller's identity is asked for.
        self.services = cast(Services, services)
        self._logged: tuple[Any, dict[str, Any]] = (None, {})

    def update_store(self) -> None:
        """Do nothing: otherwise a thread of a pool would log for ever with the first context that was made in it."""

    def get_logging_values(self) -> dict[str, Any]:
        """Return the values for log lines, each as one word: a line break in an id from a caller would end the line.

        They are kept, since oslo.log asks twice for each line.
        """
        state = _CHANGING(self)
        if self._logged[0] != state:
            self._logged = (
                state,
                {
                    name: _word(value) if isinstance(value, str) and name != 'user_identity' else value
                    for name, value in super().get_logging_values().items()
                },
            )
        return self._logged[1]

    def credentials(self) -> tuple[Any, ...]:
        """Return all that policy judges the caller by."""
        return *_CREDENTIALS(self), tuple(self.roles), tuple(self.service_roles)

    @property
    def conf(self) -> Any:
        """The configuration object of this process."""
        return self.services.conf

    @property
    def db(self) -> Any:
        """The database: ``with ctx.db.writer() as conn``."""
        return self.services.db

    @property
    def bus(self) -> Any:
        """The bus that carries wake-ups."""
        return self.services.bus

    def can(self, rule: str, target: dict[str, Any] | None = None) -> bool:
        """Say whether policy allows ``rule`` on ``target`` (default: a resource of the caller's own project)."""
        if target:
            return bool(self.services.enforcer.enforce(rule, target, self.to_policy_values()))
        own = {'project_id': self.project_id, 'user_id': self.user_id}
        return bool(self.services.enforcer.decide(rule, self, own, own=True))

    def sees(self, project_id: str | None) -> bool:
        """Say whether the caller may see the project's resources."""
        return self.is_admin or project_id == self.project_id

    def waiting(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Return a context manager for the time in which the request waits for another service.

        The request must not wait outside of it. ``what``: the services, in the plural, for the message.

        :raises errors.Busy: too many requests wait, of this project or of all.
        """
        return self.services.turns.work(self.project_id or self.user_id, what)

    def elevated(self) -> 'RequestContext':
        """Return the same caller as administrator, for manila_lite's own reads."""
        return RequestContext(
            user_id=self.user_id,
            project_id=self.project_id,
            roles=['admin', 'member', 'reader'],
            is_admin=True,
            request_id=self.request_id,
            services=self.services,
            overwrite=False,
        )


def admin(services: Services, project_id: str | None = None, user_id: str | None = None) -> RequestContext:
    """Return manila_lite's own context, for timers and start-up. Messages and operations are of the project, if it is given."""
    return RequestContext(
        project_id=project_id,
        user_id=user_id,
        is_admin=True,
        roles=['admin', 'member', 'reader'],
        services=services,
        overwrite=False,
    )


def member(
    services: Services, project_id: str | None, user_id: str | None, request_id: str | None = None
) -> RequestContext:
    """Return the context of a plain member of the project, for work of the service by a standing wish of an owner."""
    return RequestContext(
        project_id=project_id,
        user_id=user_id,
        request_id=request_id,
        is_admin=False,
        roles=['member', 'reader'],
        services=services,
        overwrite=False,
    )


def of_operation(operation: Any, services: Services) -> RequestContext:
    """Return the context of an operation's row: its owner and request, with administrator's rights, about its resource."""
    return RequestContext(
        user_id=operation.user_id,
        project_id=operation.project_id,
        request_id=operation.request_id,
        resource_uuid=operation.resource_id,
        is_admin=True,
        roles=['admin', 'member', 'reader'],
        services=services,
        overwrite=False,
    )


@dataclasses.dataclass(frozen=True)
class Task:
    """The current task of a thread, its context, and its start (seconds of the monotonic clock)."""

    what: str
    ctx: RequestContext
    thread: str
    since: float


_tasks: dict[int, Task] = {}  # by thread; each thread writes its own entry only


@contextlib.contextmanager
def working(ctx: RequestContext, what: str) -> Iterator[None]:
    """Let log lines of the thread carry request, project and resource of ``ctx``; afterwards those of before, if any."""
    thread_id = threading.get_ident()
    before, task = context.get_current(), _tasks.get(thread_id)
    _tasks[thread_id] = Task(what, ctx, f'#{thread_id} {threading.current_thread().name}', time.monotonic())
    _log_as(ctx)
    try:
        yield
    finally:
        _log_as(before)
        if task is None:
            del _tasks[thread_id]
        else:
            _tasks[thread_id] = task


def known_as(ctx: RequestContext) -> None:
    """Replace the context of the thread's current task."""
    thread_id = threading.get_ident()
    if thread_id in _tasks:
        _tasks[thread_id] = dataclasses.replace(_tasks[thread_id], ctx=ctx)
        _log_as(ctx)


def tasks() -> list[Task]:
    """Return the tasks of this process's threads, the oldest first. Takes no lock: for reports about stuck processes."""
    return sorted(_tasks.copy().values(), key=lambda task: task.since)


def _word(value: str) -> str:
    if value.isprintable() and ' ' not in value and len(value) <= _LONGEST:
        return value
    return ''.join(
        one if one.isprintable() and one != ' ' else quote(one, errors='replace') for one in value[:_LONGEST]
    )


def _log_as(ctx: context.RequestContext | None) -> None:
    context._request_store.context = ctx  # noqa: SLF001 - oslo.context has no way to forget one
