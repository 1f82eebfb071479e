# SPDX-License-Identifier: Apache-2.0
"""Changes of share servers in use. Every backend is asked first; one "no" means that nothing changes."""

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from oslo_log import log

from manila_lite import engine, errors, states
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, retry
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import services, share_networks, share_server_queries

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


SUBNET = Change('subnet.check', 'share_server.add_subnet', 'network_allocation_update_support', 'given the subnet',
                'subnet_denied')
SECURITY_SERVICE = Change('security_service.check', 'share_server.update_security_service',
                          'security_service_update_support', 'updated with the security service', 'security_service_denied')

#: Operations that change a server because its network changes; an administrator's reset ends them.
DOING = tuple(change.do for change in (SUBNET, SECURITY_SERVICE))


@dataclasses.dataclass(frozen=True)
class UpdateCheck:
    """A question to backends: whether these servers (rows) of the network can be changed.

    ``about`` identifies the question among all of its kind; ``data`` is what the backends need to know.
    """

    change: Change
    network_id: str
    about: str
    servers: tuple[Any, ...]
    data: Mapping[str, Any]

    @property
    def hosts(self) -> list[str]:
        """The backends to be asked."""
        return sorted({server.host for server in self.servers})

    def key(self, host: str) -> str:
        """Return the key that marks the question to one backend, and its answer."""
        return f'{self.network_id}/{self.about}@{host}'[:255]


def must_be_healthy(conn: Connection, ctx: RequestContext, question: UpdateCheck) -> None:
    """Refuse a change if a server, share or backend that it touches is not healthy.

    :raises errors.Conflict: one is not healthy; the message names it.
    """
    change = question.change
    for server in question.servers:
        if server.status != 'active':
            raise errors.WrongState(f'Share server {server.id} is {server.status}, not active.')
        if not getattr(server, change.capability):
            raise errors.Conflict(f'Share server {server.id} cannot be {change.what}: it has no {change.capability}.',
                                  code='servers_in_use')
    for host in question.hosts:
        row = services.get(conn, host, 'manila-share')
        if not services.is_up(row.heartbeat_at, row.stopped, ctx.conf.service_down_time):
            raise errors.Conflict(f'The backend of share servers {_servers_on(question, host)} is down.', code='backend_down')
    share = share_server_queries.find_unhealthy_share(conn, [server.id for server in question.servers])
    if share is not None:
        raise errors.WrongState(f'Share {share.id} is {share.status} and its access rules are {share.access_rules_status}; '
                                'every share of the share servers must be available, its rules active.')


def _servers_on(question: UpdateCheck, host: str) -> str:
    return ', '.join(server.id for server in question.servers if server.host == host)


@retry
def begin_checks(ctx: RequestContext, question: UpdateCheck) -> None:
    """Begin to ask every backend that has not been asked yet."""
    with ctx.db.writer() as conn:
        share_networks.lock(conn, question.network_id, states.SHARE_NETWORK.statuses)   # concurrent requests take turns
        known = _checks_by_host(conn, question)
        wakes = [_begin_check(conn, ctx, question, host) for host in question.hosts if host not in known]
    for wake in wakes:
        wake.send(ctx)


def _begin_check(conn: Connection, ctx: RequestContext, question: UpdateCheck, host: str) -> engine.Wake:
    return engine.begin(
        conn, ctx, question.change.ask, 'share_network', question.network_id, topic='share', host=host,
        lane=engine.FAST, open_key=question.key(host),
        data={**question.data, 'key': question.key(host),
              'servers': [server.id for server in question.servers if server.host == host]})


def _checks_by_host(conn: Connection, question: UpdateCheck) -> dict[str, Any]:
    keys = {question.key(host): host for host in question.hosts}
    return {keys[row.data['key']]: row for row in rows.list_of_resource(conn, question.network_id, question.change.ask)
            if row.data.get('key') in keys}


@retry
def get_answers(ctx: RequestContext, question: UpdateCheck) -> dict[str, bool | None]:
    """Return each backend's answer: yes, no, or None for not yet."""
    with ctx.db.reader() as conn:
        checks = _checks_by_host(conn, question)
    return {host: _answer(checks.get(host)) for host in question.hosts}


def _answer(check: Any) -> bool | None:
    """Return the answer that the row of a check has, if there is one."""
    return None if check is None or check.state == rows.OPEN else bool(check.state == rows.DONE)


def ask_backends(ctx: RequestContext, question: UpdateCheck, *, reset: bool) -> dict[str, bool | None]:
    """Ask the backends and return their answers, as ``answers`` does. ``reset``: ask again."""
    if reset:
        forget(ctx, question)
    begin_checks(ctx, question)
    return get_answers(ctx, question)


@retry
def forget(ctx: RequestContext, question: UpdateCheck) -> None:
    """Delete the question and its answers."""
    with ctx.db.writer() as conn:
        rows.delete(conn, [row.id for row in _checks_by_host(conn, question).values()])


def must_be_possible(ctx: RequestContext, question: UpdateCheck) -> None:
    """Refuse a change unless every backend says yes now. Not for use in a transaction.

    :raises errors.Conflict: a backend said no, or did not answer for ``[api] subnet_check_timeout`` seconds.
    :raises errors.Busy: too many requests wait for backends; no backend was asked.
    """
    if not question.servers:
        return
    with ctx.waiting('backends'):
        answers = _wait_for_answers(ctx, question)
    with ctx.db.reader() as conn:
        why = {host: row.error for host, row in _checks_by_host(conn, question).items()}
    forget(ctx, question)
    for host, answer in answers.items():
        if answer is not True:
            reason = why.get(host) if answer is False else 'its backend did not answer in time'
            LOG.warning('%s: share servers on %s cannot be %s: %s', question.network_id, host, question.change.what, reason)
            raise errors.Conflict(f'Share servers {_servers_on(question, host)} cannot be {question.change.what}: '
                                  f'{str(reason).rstrip(".")}.',
                                  code=question.change.denied)


def _wait_for_answers(ctx: RequestContext, question: UpdateCheck) -> dict[str, bool | None]:
    """Ask the backends again. Return their answers when all are yes, one is no, or the timeout is over."""
    forget(ctx, question)
    begin_checks(ctx, question)
    end = time.monotonic() + ctx.conf.api.subnet_check_timeout
    while True:
        answers = get_answers(ctx, question)
        if None not in answers.values() or False in answers.values() or time.monotonic() >= end:
            return answers
        time.sleep(_POLL_INTERVAL)


def begin(conn: Connection, ctx: RequestContext, question: UpdateCheck, data: Mapping[str, Any]) -> list[engine.Wake]:
    """Begin the change: network and servers go to ``network_change``, with one operation for each server.

    Without servers nothing is done.

    :raises errors.WrongState: one of the servers is not active any more.
    """
    if not question.servers:
        return []
    server_ids = [server.id for server in question.servers]
    transitions.begin(conn, states.SHARE_NETWORK, 'change', question.network_id)
    if transitions.begin_many(conn, states.SHARE_SERVER, 'change', server_ids) != len(server_ids):
        raise errors.WrongState('The share servers changed in the meantime; try again.')
    return [engine.begin(conn, ctx, question.change.do, 'share_server', server.id, topic='share', host=server.host,
                         serial=f'server:{server.id}', open_key=f'server:{server.id}',
                         data={'network_id': question.network_id, **data})
            for server in question.servers]


def must_be_unchanged(question: UpdateCheck, now: UpdateCheck) -> None:
    """Refuse a change if the network's servers are not those that the backends were asked about.

    :raises errors.WrongState: the servers changed.
    """
    if now.servers != question.servers:
        raise errors.WrongState('The share servers changed in the meantime; try again.')
