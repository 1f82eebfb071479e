# SPDX-License-Identifier: Apache-2.0
"""All shares of a backend are as they should be: checked, repaired and told anew, batch by batch.

One operation per backend goes over its shares by instance id, whoever wants it: an administrator, a start, a changed
configuration, the clock. Its data keep how far it is, so that another process goes on there. Only a run that was asked
for over the API touches statuses: a share shows ``ensuring`` while its batch is at the backend. What the backend fails
for is looked at again in ever smaller batches, so that one share keeps none from being ensured.
"""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_log import log

from manila_lite import errors, kinds, states
from manila_lite.db import ensuring, services, transitions
from manila_lite.db.engine import Connection
from manila_lite.manager import ensured, servers
from manila_lite.operations import Plan, Step, Work
from manila_lite.rpc import notices

LOG = log.getLogger(__name__)

#: Shares in one call of the driver at most; and what part of those for which it failed is in one of the next.
BATCH, _PART = 250, 8
#: Who asked: an administrator, a start of the service, a change of the backend's fingerprint, the clock.
API, START, CHANGED, INTERVAL = 'api', 'start', 'changed', 'interval'

#: What no backend is asked about: it may not have it yet, or not any more, or is known not to serve it.
_NOT_SERVED = frozenset({'creating', 'creating_from_snapshot', 'migrating_to', 'deleting', 'error', 'error_deleting',
                         'manage_starting', 'manage_error', 'unmanage_starting', 'deferred_deleting',
                         'error_deferred_deleting', 'replication_change'})
_IN_ERROR = frozenset({'error', 'error_deleting', 'error_deferred_deleting', 'manage_error', 'unmanage_error'})
_MARK = states.SHARE['ensure']


@dataclasses.dataclass(frozen=True)
class Batch:
    """Some shares, as drivers see them; ``marked`` show that they are being ensured. ``last`` is where the next begins."""

    targets: Sequence[kinds.EnsureTarget]
    marked: frozenset[str]
    skipped: int
    last: str


def ensure(work: Work) -> None:
    """Every share of the backend was asked about, and what the backend said is stored.

    :raises errors.Again: later: the process stops, or the backend failed for some.
    :raises errors.Final: it failed for some too often.
    """
    manager = work.service
    _begin(work)
    mended: dict[str, tuple[str, ...]] = {}
    down = servers.restore(manager, mended)
    while (batch := _take(work)) is not None:
        results, why = _ask(manager, batch, down)
        ensured.store(work, batch, _with_servers(batch, results, mended), why, touches=_touches(work),
                      again=work.data['why'] == API)
    _look_again(work, down)


def _touches(work: Work) -> bool:
    """Say whether the run may change statuses."""
    own = work.service.section.update_shares_status_on_ensure
    return work.data['why'] == API and (work.ctx.conf.update_shares_status_on_ensure if own is None else own)


def _passed_over(work: Work) -> tuple[frozenset[str], frozenset[str]]:
    """Return the statuses that are not looked at, and those that are only counted.

    After a start also what is busy must be mounted and exported: its own work goes on with that.
    """
    if work.data['why'] == START:
        return _NOT_SERVED, frozenset()
    return _IN_ERROR, states.SHARE.transient


def _begin(work: Work) -> None:
    """What a process that is gone left is put back, and a new round has begun if one is wanted."""
    data, host = work.data, work.op.host
    first = 'progress' not in data
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        transitions.settle(conn, states.SHARE, ensuring.marked(conn, host), _MARK.during, _MARK.ok)
        if data.get('round') != work.op.wanted:
            # What comes behind this place was not looked at yet: the round goes on there, and ends here.
            only = data.get('only') if first else None
            data.update(round=work.op.wanted, until='' if only else data.get('after', ''), wrapped=False, only=only, left=[],
                        broken=[], repairs={}, passes=1, began=time.time(), visited=False,
                        fingerprint=fingerprint(work.service))
            data.setdefault('after', '')
            total = len(only) if only is not None else ensuring.count(conn, host, _passed_over(work)[0])
            data['progress'] = dict.fromkeys(('done', 'skipped', 'broken', 'failed', 'repaired', 'updated'), 0) | {
                'total': total, 'seconds_left': None}
        work.save(conn)
        if first:
            LOG.info('%s: %s shares are ensured (%s)', host, data['progress']['total'], data['why'])
            _say(work, 'start')


def fingerprint(manager: Any) -> str | None:
    """Return what stands for the backend's configuration, or nothing if it does not say or cannot."""
    try:
        return ensured.digest(manager.driver.fingerprint())
    except Exception:
        LOG.exception('[%s] the backend does not say what its shares depend on', manager.name)
        return None


def _take(work: Work) -> Batch | None:
    """The next shares show that they are being ensured, if they are to. Return them, or nothing when all had their turn.

    :raises errors.Again: the process stops; the next one goes on here.
    """
    if not work.service.worker.runner.may_claim():
        raise errors.Again(0.0)
    skip = _passed_over(work)[1]
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        rows = _next(conn, work)
        free = [row.instance_id for row in rows if row.status in _MARK.allowed] if _touches(work) else []
        marked = frozenset(free)
        if free and transitions.begin_many(conn, states.SHARE, 'ensure', free) < len(free):
            marked = frozenset(ensuring.marked(conn, work.op.host))
    if not rows:
        return None
    mine = [row for row in rows if row.status not in skip and (row.instance_id in marked or row.instance_id not in free)]
    return Batch(ensured.targets(work.ctx.db, mine), marked, len(rows) - len(mine), rows[-1].instance_id)


def _next(conn: Connection, work: Work) -> Sequence[Any]:
    data, without = work.data, _passed_over(work)[0]
    while data['only'] is not None:
        size = min(BATCH, max(1, len(data['only']) // _PART))
        idents = [ident for ident in data['only'] if ident > data['after']][:size]
        rows = ensuring.named(conn, work.op.host, idents, without)
        if rows or not idents:
            return rows
        data['after'] = idents[-1]
    rows = ensuring.after(conn, work.op.host, data['after'], BATCH, without, data['until'] if data['wrapped'] else '')
    if not rows and data['until'] and not data['wrapped']:
        data.update(after='', wrapped=True)
        rows = ensuring.after(conn, work.op.host, '', BATCH, without, data['until'])
    return rows


def _ask(manager: Any, batch: Batch, down: set[str]) -> tuple[Mapping[str, kinds.EnsureResult], str]:
    """Return what the backend says of the batch, by instance id, and why it says nothing of some."""
    ready = [target for target in batch.targets if not (target.share.server and target.share.server.id in down)]
    why = 'Its share server does not run.' if len(ready) < len(batch.targets) else 'The backend said nothing of it.'
    if not ready:
        return {}, why
    try:
        return {ident: result for ident, result in manager.driver.ensure_shares(ready).items()
                if isinstance(result, kinds.EnsureResult)}, why
    except Exception as bad:
        LOG.exception('[%s] %s shares could not be ensured', manager.name, len(ready))
        return {}, errors.told(bad)


def _with_servers(batch: Batch, results: Mapping[str, kinds.EnsureResult],
                  mended: Mapping[str, tuple[str, ...]]) -> Mapping[str, kinds.EnsureResult]:
    """Return the results with what was repaired of a share server told of each share on it."""
    words = {target.share.id: mended.get(target.share.server.id, ()) for target in batch.targets if target.share.server}
    return {ident: dataclasses.replace(result, repaired=(*words[ident], *result.repaired)) if words.get(ident) else result
            for ident, result in results.items()}


def _look_again(work: Work, down: set[str]) -> None:
    """Nothing is left over.

    :raises errors.Again: something is, and is tried once more.
    :raises errors.Final: something is, and was tried often enough.
    """
    data, conf = work.data, work.ctx.conf.operations
    data['visited'] = True
    data['progress'].update(failed=len(data['left']), seconds_left=None)
    if not (data['left'] or down):
        return
    if data['passes'] < conf.max_attempts:
        data.update(only=sorted(data['left']), left=[], after='', passes=data['passes'] + 1)
        raise errors.Again(conf.retry_delay * 2 ** (data['passes'] - 2))
    what = [f'{len(found)} {noun}' for found, noun in ((data['left'], 'shares'), (down, 'share servers')) if found]
    raise errors.Final(f'{" and ".join(what)} could not be ensured. {data.get("last_error", "")}'.strip())


# Its end ------------------------------------------------------------------------------------------

def done(conn: Connection, work: Work) -> None:
    """The service shows that it is done, and remembers with which configuration."""
    data = work.data
    services.set_ensuring(conn, work.op.host, False, ensured_at=ensured.now(), ensured_as=data['fingerprint'])
    data['after'] = ''          # if it was asked for meanwhile, everything has its turn once more
    work.save(conn)
    LOG.info('%s: all shares were ensured: %s', work.op.host, data['progress'])
    _say(work, 'end')


def failed(conn: Connection, work: Work, error: Exception) -> None:
    """Every share that the backend failed for is as it was, its owner is told, and the service shows no run."""
    services.set_ensuring(conn, work.op.host, False)
    idents = ensuring.marked(conn, work.op.host)
    transitions.settle(conn, states.SHARE, idents, _MARK.during, _MARK.fail)
    work.save(conn)
    ensured.tell_of_failure(conn, work, {*idents, *work.data.get('left', ())}, again=work.data['why'] == API)
    _say(work, 'error', error=errors.told(error))


def _say(work: Work, event: str, **more: Any) -> None:
    notices.emit(work.ctx, f'share.ensure.{event}', {
        'host': work.op.host, 'why': work.data['why'], **work.data.get('progress', {}),
        'repairs': work.data.get('repairs', {}), **more}, host=work.op.host)


PLANS = [Plan(ensuring.KIND, (Step(ensure),), done, failed)]
