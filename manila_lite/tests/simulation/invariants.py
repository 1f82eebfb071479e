# SPDX-License-Identifier: Apache-2.0
"""Invariants that must hold after each commit, and when a step begins."""

from manila_lite.db.queries import operations
from manila_lite.tests.simulation import environment, plans
from manila_lite.tests.simulation.rows import changed, seconds

_CLAIM = {'owner', 'lease_expires_at', 'attempts', 'steps'}
_ASKED = {'requested_count', 'next_run_at'}


def row_changed(model, task, before, after, written):
    """Check a change of an operation's row by this thread."""
    names = changed(before, after)
    said = f'{task.name} changed {", ".join(sorted(names))} '
    model.expect(before.state == operations.OPEN, before.id, said + f'although it was {before.state}')
    if task.process.immune:
        model.expect(names <= _ASKED, before.id, said + 'from outside')
        model.facts[before.id].asked = model.commits if model.asking else model.facts[before.id].asked
    elif after.owner == task.process.name and after.attempts == before.attempts + 1 and names <= _CLAIM:
        _claimed(model, task, before, after)
    elif names <= {'owner', 'lease_expires_at'} and after.owner is None and before.owner != task.process.name:
        model.expect(model.processes[before.owner].dead, before.id, said + f'of {before.owner}, which lives')
    elif after.state == operations.PARKED and task not in model.workers:
        model.expect(
            model.facts[before.id].unreadable and before.owner is None,
            before.id,
            said + 'and it could be read',
        )
    else:
        _written_by_owner(model, task, before, after, said)
    _counted(model, task, before, after, said, written)
    if after.state != operations.OPEN:
        _ended(model, task, before, after, written)


def _claimed(model, task, before, after):
    facts = model.facts[before.id]
    now = seconds(after.lease_expires_at) - model.conf.lease
    model.expect(seconds(before.next_run_at) <= now, before.id, 'was claimed before it was due')
    if before.lease_expires_at is not None:
        model.expect(
            seconds(before.lease_expires_at) < now, before.id, f'was claimed while {before.owner} had a lease'
        )
        holder = model.processes[before.owner]
        worked_on = any(
            not one.ended and (worker.operation_id, worker.claim) == (before.id, facts.claims)
            for one, worker in model.workers.items()
        )
        undisturbed = worked_on and model.faults.last < facts.held and holder.offset == task.process.offset
        model.expect(
            not undisturbed or holder.dead,
            before.id,
            f'was taken from {before.owner}, which lives and had all it needs to renew its lease',
        )
    model.expect(
        before.steps in (None, after.steps), before.id, f'had steps {before.steps}, and has {after.steps}'
    )
    facts.claims += 1
    facts.met = ''
    facts.claim_of[task.process.name] = facts.claims
    facts.held = _held(model, task, after)
    if before.undoing and after.attempts > model.conf.max_attempts:
        facts.given_up.add(before.step)


def _held(model, task, row):
    """Return when the lease was written, by the true clock; its commit may be much later."""
    return (
        seconds(row.lease_expires_at) - model.conf.lease - task.process.offset - environment.EPOCH.timestamp()
    )


def _written_by_owner(model, task, before, after, said):
    facts = model.facts[before.id]
    model.expect(before.owner == task.process.name, before.id, said + f'but {before.owner} has it')
    worker = model.worker_on(task, before.id)
    if worker is not None:
        model.expect(worker.claim == facts.claims, before.id, said + 'of a later claim than its own')
        model.expect(not worker.cut, before.id, said + 'and went on although the connection was lost')
    elif after.owner is not None:
        model.expect(
            changed(before, after) == {'lease_expires_at'}, before.id, said + 'while it renewed leases'
        )
    else:
        counted = 0 if facts.met == 'refused' else 1
        model.expect(
            before.attempts - after.attempts == counted,
            before.id,
            said + f'{facts.met}, and the try counts otherwise',
        )
        for other in model.workers.values():
            other.released |= (other.operation_id, other.claim) == (before.id, facts.claims)
    if after.owner is not None and before.lease_expires_at != after.lease_expires_at:
        facts.held = _held(model, task, after)


def _counted(model, task, before, after, said, written):
    """Check that attempts are counted for each step."""
    worker = model.worker_on(task, before.id)
    said += f'and had {before.attempts} tries, now {after.attempts}'
    most = model.conf.max_attempts
    if after.state == operations.OPEN and before.leg != after.leg:
        model.expect(after.attempts <= 1, before.id, said)
    elif worker is not None and after.attempts != before.attempts:
        reason = {
            # It waits, or begins anew for whoever asked for it once more.
            0: worker.last == 'again' or before.requested_count > 1,
            1: ('saved', before.id) in written or (operations.DONE, before.id) in written,
        }
        model.expect(reason.get(after.attempts), before.id, said)
    if worker is not None and worker.last == 'again' and not before.undoing and after.owner is None:
        model.expect(after.attempts == 0, before.id, said + ', and was not yet to be done')
    if worker is None or before.leg == after.leg:
        return
    if after.undoing > before.undoing:
        _given_up(model, worker, before, most)
    if before.topic != after.topic:
        way = 'undo' if before.undoing else 'do'
        model.expect(worker.sent == way, before.id, 'was passed on although it was being undone')
        model.expect(
            (after.step, after.undoing, after.owner) == (0, 0, None),
            before.id,
            'was passed on in the midst of it',
        )
        model.facts[before.id].made.clear()
        model.facts[before.id].given_up.clear()


def _given_up(model, worker, before, most):
    model.expect(
        worker.last == 'final' or before.attempts >= most,
        before.id,
        f'was given up at step {before.step} after {before.attempts} tries of {most}',
    )


def _ended(model, task, before, after, written):
    facts = model.facts[before.id]
    ends = [
        what for what, which in written if which == before.id and what in (operations.DONE, operations.FAILED)
    ]
    expected = [after.state] if after.state != operations.PARKED else []
    model.expect(ends == expected, before.id, f'is {after.state}, and its plan wrote {ends}')
    where = (before.kind, before.topic)
    if after.state == operations.DONE:
        model.expect(not before.undoing, before.id, 'is done although it was being undone')
        model.expect(
            facts.made == set(range(plans.LAST[where] + 1)), before.id, f'is done, and made only {facts.made}'
        )
        model.expect(
            facts.began >= facts.asked, before.id, 'is done, and was not begun since it was asked for again'
        )
    elif after.state == operations.FAILED:
        left = (facts.made & plans.UNDONE[where]) - facts.given_up
        model.expect(not left, before.id, f'has failed, and left {left}')
        if not before.undoing:
            _given_up(model, model.worker_on(task, before.id), before, model.conf.max_attempts)
    else:
        often = before.attempts > model.conf.max_attempts * (1 if before.kind == plans.STRANGE else 2)
        model.expect(facts.unreadable or often, before.id, f'is set aside after {before.attempts} tries')


def written(model, task, before, what):
    """Check that only the owner of the claim writes its steps' results, and the end of an operation."""
    worker = model.worker_on(task, before.id)
    model.expect(
        before.owner == task.process.name and worker.claim == model.facts[before.id].claims,
        before.id,
        f'{task.name} wrote {what} and had lost it',
    )
    if what in (operations.DONE, operations.FAILED):
        model.facts[before.id].ended.append(what)
        now = model.rows[before.id]
        model.expect(
            now.state == what or now.requested_count > 1,
            before.id,
            f'its plan wrote {what}, and it is {now.state}',
        )
        model.expect(
            now.state == what or now.attempts == 1, before.id, f'it began again in try {now.attempts}'
        )


def no_other_thread(model, task, worker):
    """Check that no two threads of a process have the same operation or mutex key, and that a lane has not too many."""
    others = [
        other
        for one, other in model.workers.items()
        if one is not task and not one.ended and one.process is task.process and other.busy
    ]
    for other in others:
        model.expect(
            other.operation_id != worker.operation_id,
            worker.operation_id,
            f'two threads of {task.process.name} are at it',
        )
        model.expect(
            other.mutex_key is None or other.mutex_key != worker.mutex_key,
            worker.operation_id,
            f'runs beside {model.name_of(other.operation_id)}, which has the same mutex key',
        )
    model.expect(
        sum(other.lane == worker.lane for other in others) < worker.most,
        worker.operation_id,
        'runs beside too many',
    )


def step_begun(model, worker, topic, at, way):
    """Check that the step is the operation's present one; a thread that lost its claim may begin one more at most."""
    row, operation_id = model.rows[worker.operation_id], worker.operation_id
    model.expect(
        not worker.released, operation_id, f'{way} of step {at} was begun, and its own process had let it go'
    )
    model.expect(
        worker.well != (at, way),
        operation_id,
        f'{way} of step {at} was begun again although it had gone well',
    )
    if model.is_late(worker):
        worker.late += 1
        model.expect(
            worker.late <= 1, operation_id, f'{way} of step {at} was begun long after the claim was lost'
        )
        return
    model.expect(
        row.leg == (topic, at, int(way == 'undo')),
        operation_id,
        f'{way} of step {at} was begun, and it stands at {row.leg}',
    )
    model.expect(
        row.name == plans.name(at), operation_id, f'{way} of step {at} was begun, and it stands at {row.name}'
    )
    model.expect(
        row.attempts <= model.conf.max_attempts,
        operation_id,
        f'{way} of step {at} was begun for time {row.attempts}',
    )
