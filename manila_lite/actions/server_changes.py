# SPDX-License-Identifier: Apache-2.0
"""A change for share servers in use: every backend is asked first; one "no" means that nothing changes."""

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from oslo_log import log

from manila_lite import errors, operations, states
from manila_lite.context import RequestContext
from manila_lite.db import operations as rows
from manila_lite.db import services, serving, share_networks, transitions
from manila_lite.db.engine import retry

LOG = log.getLogger(__name__)

#: Seconds between looks for the backends' answers.
_LOOK = 0.1


@dataclasses.dataclass(frozen=True)
class Change:
    """A way to change servers: the operations that ask a backend and that do it, and what a server must be capable of.

    ``what``: the change in words, after "cannot be".
    """

    ask: str
    do: str
    capability: str
    what: str
    denied: str


SUBNET = Change('subnet.check', 'share_server.add_subnet', 'network_allocation_update_support', 'given the subnet',
                'subnet_denied')
SECURITY_SERVICE = Change('security_service.check', 'share_server.update_security_service',
                          'security_service_update_support', 'told of the security service', 'security_service_denied')

#: What may be under way on a server because its network changes; an administrator's reset ends it.
DOING = tuple(change.do for change in (SUBNET, SECURITY_SERVICE))


@dataclasses.dataclass(frozen=True)
class Question:
    """Can the servers (rows) of the network be changed so?

    ``about`` tells one question from all others of the kind; ``data`` is what the backends have to know.
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
        """What marks the question to one backend, and its answer."""
        return f'{self.network_id}/{self.about}@{host}'[:255]


def must_be_healthy(conn: Any, ctx: RequestContext, question: Question) -> None:
    """Every server, share and backend that the change touches is well.

    :raises errors.Conflict: one is not; the message names it.
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
            raise errors.Conflict(f'The backend of share servers {_on(question, host)} is down.', code='backend_down')
    share = serving.unwell(conn, [server.id for server in question.servers])
    if share is not None:
        raise errors.WrongState(f'Share {share.id} is {share.status} and its access rules are {share.access_rules_status}; '
                                'every share of the share servers must be available, its rules active.')


def _on(question: Question, host: str) -> str:
    return ', '.join(server.id for server in question.servers if server.host == host)


@retry
def ask(ctx: RequestContext, question: Question) -> None:
    """Every backend is being asked, unless it is already or has answered."""
    with ctx.db.writer() as conn:
        share_networks.hold(conn, question.network_id, states.SHARE_NETWORK.statuses)   # two who ask do so in turn
        known = _asked(conn, question)
        wakes = [_ask_one(conn, ctx, question, host) for host in question.hosts if host not in known]
    for wake in wakes:
        wake.send(ctx)


def _ask_one(conn: Any, ctx: RequestContext, question: Question, host: str) -> operations.Wake:
    return operations.begin(
        conn, ctx, question.change.ask, 'share_network', question.network_id, topic='share', host=host,
        lane=operations.FAST, open_key=question.key(host),
        data={**question.data, 'key': question.key(host),
              'servers': [server.id for server in question.servers if server.host == host]})


def _asked(conn: Any, question: Question) -> dict[str, Any]:
    keys = {question.key(host): host for host in question.hosts}
    return {keys[row.data['key']]: row for row in rows.of(conn, question.network_id, question.change.ask)
            if row.data.get('key') in keys}


@retry
def answers(ctx: RequestContext, question: Question) -> dict[str, bool | None]:
    """Return what each backend says: yes, no, or nothing yet."""
    with ctx.db.reader() as conn:
        found = _asked(conn, question)
    return {host: None if host not in found or found[host].state == rows.OPEN else found[host].state == rows.DONE
            for host in question.hosts}


def asked(ctx: RequestContext, question: Question, *, reset: bool) -> dict[str, bool | None]:
    """Return what each backend says, as ``answers``, after they were asked; ``reset``: asked anew."""
    if reset:
        forget(ctx, question)
    ask(ctx, question)
    return answers(ctx, question)


@retry
def forget(ctx: RequestContext, question: Question) -> None:
    """The question was never asked."""
    with ctx.db.writer() as conn:
        rows.remove(conn, [row.id for row in _asked(conn, question).values()])


def must_be_possible(ctx: RequestContext, question: Question) -> None:
    """Every backend has said yes just now. Not for use in a transaction.

    :raises errors.Conflict: one said no, or nothing for ``[api] subnet_check_timeout`` seconds.
    :raises errors.Busy: too many requests wait for backends; nobody was asked.
    """
    if not question.servers:
        return
    with ctx.waiting('backends'):
        said = _heard(ctx, question)
    with ctx.db.reader() as conn:
        why = {host: row.error for host, row in _asked(conn, question).items()}
    forget(ctx, question)
    for host, answer in said.items():
        if answer is not True:
            reason = why.get(host) if answer is False else 'its backend did not answer in time'
            LOG.warning('%s: share servers on %s cannot be %s: %s', question.network_id, host, question.change.what, reason)
            raise errors.Conflict(f'Share servers {_on(question, host)} cannot be {question.change.what}: {reason}.',
                                  code=question.change.denied)


def _heard(ctx: RequestContext, question: Question) -> dict[str, bool | None]:
    """Return what the backends say, asked anew, as soon as that is enough or time is over."""
    forget(ctx, question)
    ask(ctx, question)
    end = time.monotonic() + ctx.conf.api.subnet_check_timeout
    while None in (said := answers(ctx, question)).values() and False not in said.values() and time.monotonic() < end:
        time.sleep(_LOOK)
    return said


def begin(conn: Any, ctx: RequestContext, question: Question, data: Mapping[str, Any]) -> list[operations.Wake]:
    """Network and servers stand in ``network_change``, and each server will be changed. Without servers nothing is.

    :raises errors.WrongState: one of them is not active any more.
    """
    if not question.servers:
        return []
    idents = [server.id for server in question.servers]
    transitions.begin(conn, states.SHARE_NETWORK, 'change', question.network_id)
    if transitions.begin_many(conn, states.SHARE_SERVER, 'change', idents) != len(idents):
        raise errors.WrongState('The share servers changed in the meantime; try again.')
    return [operations.begin(conn, ctx, question.change.do, 'share_server', server.id, topic='share', host=server.host,
                             serial=f'server:{server.id}', open_key=f'server:{server.id}',
                             data={'network_id': question.network_id, **data})
            for server in question.servers]


def must_be_the_same(question: Question, now: Question) -> None:
    """The servers are those that the backends were asked about.

    :raises errors.WrongState: they are not.
    """
    if now.servers != question.servers:
        raise errors.WrongState('The share servers changed in the meantime; try again.')
