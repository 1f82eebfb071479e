# SPDX-License-Identifier: Apache-2.0
"""Changes of share servers in use. Every backend is asked first; one "no" means that nothing changes."""

import dataclasses
import time
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from oslo_log import log
from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, retry
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import services, share_networks, share_server_queries
from manila_lite.operation_data.share_servers import ChangeServer, CheckServers

LOG = log.getLogger(__name__)

#: Seconds between polls for the backends' answers.
_POLL_INTERVAL = 0.1


@dataclasses.dataclass(frozen=True)
class Change:
    """A kind of change: the operations that ask a backend (``ask``) and make the change (``do``).

    ``capability``: the capability that a server needs. ``what``: the change in words, after "cannot be". ``denied``:
    the error code of a refusal.
    """

    ask: str
    do: str
    capability: str
    what: str
    denied: str


SUBNET = Change(
    'subnet.check',
    'share_server.add_subnet',
    'network_allocation_update_support',
    'given the subnet',
    'subnet_denied',
)
SECURITY_SERVICE = Change(
    'security_service.check',
    'share_server.update_security_service',
    'security_service_update_support',
    'updated with the security service',
    'security_service_denied',
)

#: Operations that change a server because its network changes; an administrator's reset ends them.
DOING = tuple(change.do for change in (SUBNET, SECURITY_SERVICE))


Data = TypeVar('Data', bound=CheckServers)


@dataclasses.dataclass(frozen=True)
class UpdateCheck(Generic[Data]):
    """A question to backends: whether these servers (rows) of the network can be changed.

    ``about`` identifies the question among all of its kind; ``data`` is what the backends need to know, but for the key and
    the servers. ``request``: the id of a request whose answers are its own; without one the answers are kept for all that ask
    the same.
    """

    change: Change
    network_id: str
    about: str
    servers: tuple[Any, ...]
    data: Data
    request: str = ''

    @property
    def hosts(self) -> list[str]:
        """The backends to be asked."""
        return sorted({server.host for server in self.servers})

    def key(self, host: str) -> str:
        """Return the key that marks the question to one backend, and its answer."""
        return f'{self.request}@{host}' if self.request else f'{self.network_id}/{self.about}@{host}'[:255]

    def unique_key(self, host: str) -> str:
        """Return the key of which one question at a time may be open: one of all requests for this very change."""
        return f'change:{self.network_id}/{self.about}@{host}'[:255] if self.request else self.key(host)


def in_use(conn: Connection, servers: Iterable[Any]) -> tuple[Any, ...]:
    """Return those of these servers (rows) that a change is for: without those that failed and hold nothing.

    They wait for their deletion, and get no share before an administrator sets them to active.
    """
    known = tuple(servers)
    broken = [server.id for server in known if server.status != 'active']
    failed = share_server_queries.filter_failed(conn, broken) if broken else ()
    return tuple(server for server in known if server.id not in failed)


def must_be_healthy(conn: Connection, ctx: RequestContext, question: UpdateCheck[Any]) -> None:
    """Refuse a change if a server, share or backend that it touches is not healthy.

    :raises errors.Conflict: one is not healthy; the message names it.
    """
    change = question.change
    for server in question.servers:
        if server.status != 'active':
            raise errors.WrongState(f'Share server {server.id} is {server.status}, not active.')
        if not getattr(server, change.capability):
            raise errors.Conflict(
                f'Share server {server.id} cannot be {change.what}: it has no {change.capability}.',
                code='servers_in_use',
            )
    for host in question.hosts:
        row = services.get(conn, host, 'manila-share')
        if not services.is_up(row, ctx.conf.service_down_time):
            raise errors.Conflict(
                f'The backend of share servers {_servers_on(question, host)} is down.', code='backend_down'
            )
    share = share_server_queries.find_unhealthy_share(conn, [server.id for server in question.servers])
    if share is not None:
        raise errors.WrongState(
            f'Share {share.id} is {share.status} and its access rules are {share.access_rules_status}; '
            'every share of the share servers must be available, its rules active.'
        )


def _servers_on(question: UpdateCheck[Any], host: str) -> str:
    return ', '.join(server.id for server in question.servers if server.host == host)


@retry
def begin_checks(ctx: RequestContext, question: UpdateCheck[Any]) -> None:
    """Begin to ask every backend that has not been asked yet.

    :raises errors.Conflict: another request for the same change waits for the backends.
    """
    with ctx.db.writer() as conn:
        share_networks.lock(
            conn, question.network_id, states.SHARE_NETWORK.statuses
        )  # concurrent requests take turns
        known = _checks_by_host(conn, question)
        if question.request:
            _must_be_first(conn, question)
        for host in question.hosts:
            if host not in known:
                _begin_check(conn, ctx, question, host)


def _begin_check(conn: Connection, ctx: RequestContext, question: UpdateCheck[Any], host: str) -> None:
    engine.begin(
        conn,
        ctx,
        question.change.ask,
        'share_network',
        question.network_id,
        topic='share',
        host=host,
        lane=engine.FAST,
        unique_key=question.unique_key(host),
        data=dataclasses.replace(
            question.data,
            key=question.key(host),
            servers=[server.id for server in question.servers if server.host == host],
        ),
    )


def _must_be_first(conn: Connection, question: UpdateCheck[Any]) -> None:
    """Refuse a change that another request is about to make: it would only wait to be refused after the other's."""
    mine = {question.key(host) for host in question.hosts}
    pending = {question.unique_key(host) for host in question.hosts}
    for row in rows.list_of_resource(conn, question.network_id, question.change.ask):
        if row.unique_key in pending and CheckServers.from_json(row.data).key not in mine:
            raise errors.Conflict(
                f'Another request for the same change of share network {question.network_id} is being '
                'answered.',
                code='same_change_pending',
            )


def _checks_by_host(conn: Connection, question: UpdateCheck[Any]) -> dict[str, Any]:
    keys = {question.key(host): host for host in question.hosts}
    asked = rows.list_of_resource(conn, question.network_id, question.change.ask)
    return {keys[key]: row for row in asked if (key := CheckServers.from_json(row.data).key) in keys}


@retry
def get_answers(ctx: RequestContext, question: UpdateCheck[Any]) -> dict[str, bool | None]:
    """Return each backend's answer: yes, no, or None for not yet."""
    with ctx.db.reader() as conn:
        checks = _checks_by_host(conn, question)
    return {host: _answer(checks.get(host)) for host in question.hosts}


def _answer(check: Any) -> bool | None:
    """Return the answer that the row of a check has, if there is one."""
    return None if check is None or check.state == rows.OPEN else bool(check.state == rows.DONE)


def ask_backends(ctx: RequestContext, question: UpdateCheck[Any], *, reset: bool) -> dict[str, bool | None]:
    """Ask the backends and return their answers, as ``answers`` does. ``reset``: ask again."""
    if reset:
        forget(ctx, question)
    begin_checks(ctx, question)
    return get_answers(ctx, question)


@retry
def forget(ctx: RequestContext, question: UpdateCheck[Any]) -> None:
    """Delete the question and its answers."""
    with ctx.db.writer() as conn:
        rows.delete(conn, [row.id for row in _checks_by_host(conn, question).values()])


@retry
def _forget_older(ctx: RequestContext, question: UpdateCheck[Any]) -> None:
    """Delete the answers of a question that a change has just asked anew. A question that is still open is kept."""
    with ctx.db.writer() as conn:
        rows.delete(
            conn, [row.id for row in _checks_by_host(conn, question).values() if row.state != rows.OPEN]
        )


def must_be_possible(ctx: RequestContext, question: UpdateCheck[Data]) -> dict[str, Data]:
    """Refuse a change unless every backend says yes now. Not for use in a transaction.

    Return the data of each backend's answer. The request asks for itself: it reads no answer that was given to another,
    and deletes none that another waits for.

    :raises errors.Conflict: a backend said no, or did not answer for ``[api] subnet_check_timeout`` seconds; or another
        request makes the same change.
    :raises errors.WrongState: another request changes the share servers.
    :raises errors.Busy: too many requests wait for backends; no backend was asked.
    """
    if not question.servers:
        return {}
    own = dataclasses.replace(question, request=uuidutils.generate_uuid())
    with ctx.waiting('backends'):
        begin_checks(ctx, own)
        try:
            checks = _wait_for_answers(ctx, own)
        finally:
            forget(ctx, own)
    _forget_older(ctx, question)
    for host in question.hosts:
        if _answer(checks.get(host)) is not True:
            reason = _reason(ctx, checks.get(host))
            LOG.warning(
                '%s: share servers on %s cannot be %s: %s',
                question.network_id,
                host,
                question.change.what,
                getattr(checks.get(host), 'error', None) or reason,
            )
            raise denied(question, (host,), reason)
    return {host: type(question.data).from_json(row.data) for host, row in checks.items()}


def denied(question: UpdateCheck[Any], hosts: Iterable[str], reason: str) -> errors.Conflict:
    """Return the refusal of a change that the servers on these backends cannot take."""
    servers = ', '.join(_servers_on(question, host) for host in hosts)
    return errors.Conflict(
        f'Share servers {servers} cannot be {question.change.what}: {reason.rstrip(".")}.',
        code=question.change.denied,
    )


def _reason(ctx: RequestContext, check: Any) -> str:
    """Return the reason of an answer that is not yes: the driver's sentence for users, or the full text for administrators."""
    if check is not None and (told := rows.get_reason(check)):
        return told
    if check is None or not check.error:
        return 'its backend did not answer in time'
    return (
        f'its backend failed to check it ({check.error})'
        if ctx.is_admin
        else 'its backend failed to check it'
    )


def _wait_for_answers(ctx: RequestContext, question: UpdateCheck[Any]) -> dict[str, Any]:
    """Return the rows of the checks when all answers are yes, one is no, or the timeout is over.

    :raises errors.WrongState: another request changes the share servers meanwhile.
    """
    end = time.monotonic() + ctx.conf.api.subnet_check_timeout
    while True:
        checks = _read_checks(ctx, question)
        answers = [_answer(checks.get(host)) for host in question.hosts]
        if None not in answers or False in answers or time.monotonic() >= end:
            return checks
        time.sleep(_POLL_INTERVAL)


@retry
def _read_checks(ctx: RequestContext, question: UpdateCheck[Any]) -> dict[str, Any]:
    with ctx.db.reader() as conn:
        if rows.is_any_open(conn, [f'server:{server.id}' for server in question.servers]):
            raise errors.WrongState(
                f'The share servers of share network {question.network_id} are being changed by another '
                'request.'
            )
        return _checks_by_host(conn, question)


def begin(conn: Connection, ctx: RequestContext, question: UpdateCheck[Any], data: ChangeServer) -> None:
    """Begin the change: network and servers go to ``network_change``, with one operation for each server.

    Without servers nothing is done.

    :raises errors.WrongState: one of the servers is not active any more.
    """
    if not question.servers:
        return
    server_ids = [server.id for server in question.servers]
    transitions.begin(conn, states.SHARE_NETWORK, 'change', question.network_id)
    if transitions.begin_many(conn, states.SHARE_SERVER, 'change', server_ids) != len(server_ids):
        raise errors.WrongState('The share servers changed in the meantime; try again.')
    for server in question.servers:
        engine.begin(
            conn,
            ctx,
            question.change.do,
            'share_server',
            server.id,
            topic='share',
            host=server.host,
            mutex_key=f'server:{server.id}',
            unique_key=f'server:{server.id}',
            data=data,
            owner=server.project_id,
        )


def must_be_unchanged(question: UpdateCheck[Any], now: UpdateCheck[Any]) -> None:
    """Refuse a change if the network's servers are not those that the backends were asked about.

    :raises errors.WrongState: the servers changed.
    """
    if now.servers != question.servers:
        raise errors.WrongState('The share servers changed in the meantime; try again.')
