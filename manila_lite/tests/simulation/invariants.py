# SPDX-License-Identifier: Apache-2.0
"""Invariants that must hold after each commit, and when a step begins."""

from manila_lite.db.queries import operations
from manila_lite.tests.simulation import machine, plans
from manila_lite.tests.simulation.rows import changed, seconds

_CLAIM = {'owner', 'lease_expires_at', 'attempts'}
_ASKED = {'wanted', 'next_run_at'}


def moved(model, task, before, after, written):
    """Check a change of an operation's row by this thread."""
    ident, names = before.id, changed(before, after)
    said = f'{task.name} changed {", ".join(sorted(names))} '
    model.expect(before.state == operations.OPEN, ident, said + f'although it was {before.state}')
    if task.process.immune:
        model.expect(names <= _ASKED, ident, said + 'from outside')
        model.of[ident].asked = model.commits if model.asking else model.of[ident].asked
    elif after.owner == task.process.name and after.attempts == before.attempts + 1 and names <= _CLAIM:
        _claimed(model, task, before, after)
    elif names <= {'owner', 'lease_expires_at'} and after.owner is None and before.owner != task.process.name:
        model.expect(model.processes[before.owner].dead, ident, said + f'of {before.owner}, which lives')
    elif after.state == operations.PARKED and task not in model.executor:
        model.expect(model.of[ident].spoilt and before.owner is None, ident, said + 'and it could be read')
    else:
        _written_by_owner(model, task, before, after, said)
    _counted(model, task, before, after, said, written)
    if after.state != operations.OPEN:
        _ended(model, task, before, after, written)


def _claimed(model, task, before, after):
    known, ident = model.of[before.id], before.id
    now = seconds(after.lease_expires_at) - model.conf.lease
    model.expect(seconds(before.next_run_at) <= now, ident, 'was claimed before it was due')
    if before.lease_expires_at is not None:
        model.expect(seconds(before.lease_expires_at) < now, ident, f'was claimed while {before.owner} had a lease')
        holder = model.processes[before.owner]
        at_it = any(not one.ended and (hand.ident, hand.claim) == (ident, known.claims) for one, hand in model.executor.items())
        calm = at_it and model.faults.last < known.held and holder.offset == task.process.offset
        model.expect(not calm or holder.dead, ident,
                     f'was taken from {before.owner}, which lives and had all it needs to renew its lease')
    known.claims += 1
    known.held = _held(model, task, after)
    if before.undoing and after.attempts > model.conf.max_attempts:
        known.given_up.add(before.step)


def _held(model, task, row):
    """Return when the lease was written, by the true clock; its commit may be much later."""
    return seconds(row.lease_expires_at) - model.conf.lease - task.process.offset - machine.EPOCH.timestamp()


def _written_by_owner(model, task, before, after, said):
    ident, known = before.id, model.of[before.id]
    model.expect(before.owner == task.process.name, ident, said + f'but {before.owner} has it')
    hand = model.executor.get(task)
    if hand is not None:
        model.expect(hand.claim == known.claims, ident, said + 'of a later claim than its own')
        model.expect(not hand.cut, ident, said + 'and went on although the connection was lost')
    elif after.owner is not None:
        model.expect(changed(before, after) == {'lease_expires_at'}, ident, said + 'while it renewed leases')
    else:
        counted = 0 if known.met == 'refused' else 1
        model.expect(before.attempts - after.attempts == counted, ident, said + f'{known.met}, and the try counts otherwise')
        for other in model.executor.values():
            other.let_go |= (other.ident, other.claim) == (ident, known.claims)
    if after.owner is not None and before.lease_expires_at != after.lease_expires_at:
        known.held = _held(model, task, after)


def _counted(model, task, before, after, said, written):
    """Check that attempts are counted for each step."""
    ident, hand = before.id, model.executor.get(task)
    said += f'and had {before.attempts} tries, now {after.attempts}'
    most = model.conf.max_attempts
    if after.state == operations.OPEN and before.leg != after.leg:
        model.expect(after.attempts <= 1, ident, said)
    elif hand is not None and after.attempts != before.attempts:
        reason = {0: hand.last == 'again', 1: ('saved', ident) in written or (operations.DONE, ident) in written}
        model.expect(reason.get(after.attempts), ident, said)
    if hand is not None and hand.last == 'again' and not before.undoing and after.owner is None:
        model.expect(after.attempts == 0, ident, said + ', and was not yet to be done')
    if hand is None or before.leg == after.leg:
        return
    if after.undoing > before.undoing:
        _given_up(model, hand, before, most)
    if before.topic != after.topic:
        model.expect(hand.sent == ('undo' if before.undoing else 'do'), ident, 'was passed on although it was being undone')
        model.expect((after.step, after.undoing, after.owner) == (0, 0, None), ident, 'was passed on in the midst of it')
        model.of[ident].made.clear()
        model.of[ident].given_up.clear()


def _given_up(model, hand, before, most):
    model.expect(hand.last == 'final' or before.attempts >= most, before.id,
                 f'was given up at step {before.step} after {before.attempts} tries of {most}')


def _ended(model, task, before, after, written):
    ident, known = before.id, model.of[before.id]
    ends = [what for what, which in written if which == ident and what in (operations.DONE, operations.FAILED)]
    expected = [after.state] if after.state != operations.PARKED else []
    model.expect(ends == expected, ident, f'is {after.state}, and its plan wrote {ends}')
    where = (before.kind, before.topic)
    if after.state == operations.DONE:
        model.expect(not before.undoing, ident, 'is done although it was being undone')
        model.expect(known.made == set(range(plans.LAST[where] + 1)), ident, f'is done, and made only {known.made}')
        model.expect(known.began >= known.asked, ident, 'is done, and was not begun since it was asked for again')
    elif after.state == operations.FAILED:
        left = (known.made & plans.UNDONE[where]) - known.given_up
        model.expect(not left, ident, f'has failed, and left {left}')
        if not before.undoing:
            _given_up(model, model.executor[task], before, model.conf.max_attempts)
    else:
        often = before.attempts > model.conf.max_attempts * (1 if before.kind == plans.STRANGE else 2)
        model.expect(known.spoilt or often, ident, f'is set aside after {before.attempts} tries')


def written(model, task, before, what):
    """Check that only the owner of the claim writes its steps' results, and the end of an operation."""
    hand = model.executor[task]
    model.expect(before.owner == task.process.name and hand.claim == model.of[before.id].claims, before.id,
                 f'{task.name} wrote {what} and had lost it')
    if what in (operations.DONE, operations.FAILED):
        model.of[before.id].ended.append(what)
        now = model.rows[before.id]
        model.expect(now.state == what or now.wanted > 1, before.id, f'its plan wrote {what}, and it is {now.state}')
        model.expect(now.state == what or now.attempts == 1, before.id, f'it began again in try {now.attempts}')


def alone(model, task, hand):
    """Check that no two threads of a process have the same operation or serial, and that a lane has not too many."""
    others = [other for one, other in model.executor.items()
              if one is not task and not one.ended and one.process is task.process and other.busy]
    for other in others:
        model.expect(other.ident != hand.ident, hand.ident, f'two threads of {task.process.name} are at it')
        model.expect(other.serial is None or other.serial != hand.serial, hand.ident,
                     f'runs beside {model.known(other.ident)}, which has the same serial')
    model.expect(sum(other.lane == hand.lane for other in others) < hand.most, hand.ident, 'runs beside too many')


def begun(model, hand, room, at, way):
    """Check that the step is the operation's present one; a thread that lost its claim may begin one more at most."""
    row, ident = model.rows[hand.ident], hand.ident
    model.expect(not hand.let_go, ident, f'{way} of step {at} was begun, and its own process had let it go')
    model.expect(hand.well != (at, way), ident, f'{way} of step {at} was begun again although it had gone well')
    if model.is_late(hand):
        hand.late += 1
        model.expect(hand.late <= 1, ident, f'{way} of step {at} was begun long after the claim was lost')
        return
    model.expect(row.leg == (room, at, int(way == 'undo')), ident, f'{way} of step {at} was begun, and it stands at {row.leg}')
    model.expect(row.attempts <= model.conf.max_attempts, ident, f'{way} of step {at} was begun for time {row.attempts}')
