# SPDX-License-Identifier: Apache-2.0
"""The statuses of each resource, and the verbs that change them."""

from collections.abc import Iterable, Iterator

from manila_lite import states
from reference import rst

_HEADS = ('verb', 'from', 'during', 'when it worked', 'when it failed', 'after a crash')


def lines() -> Iterator[str]:
    """Yield a section for each resource, and the meaning of the last column."""
    for machine in states.MACHINES.values():
        yield from _machine(machine)
    yield from rst.heading('After a crash', '-')
    yield from (f'* {mark.name.lower()}: {mark.value}.' for mark in states.Crash)


def _machine(machine: states.StateMachine) -> Iterator[str]:
    yield from rst.heading(machine.resource_name.capitalize(), '-')
    yield from (f'Column ``{machine.column}``.', '')
    yield from rst.table(
        _HEADS,
        (
            (
                verb.name,
                _listed(verb.allowed, 'nothing: makes the row'),
                verb.during,
                verb.ok or 'gone',
                verb.fail,
                verb.crash.name.lower(),
            )
            for verb in machine.verbs.values()
        ),
    )
    if machine.born:
        yield from (
            f'A new row is {machine.born}: making one takes no work, and neither does removing it.',
            '',
        )
    if machine.waits:
        yield from (f'Nothing runs in {_listed(machine.waits)}: it ends when somebody wants it to.', '')
    if machine.resettable:
        yield from (f'An administrator may set by hand: {_listed(machine.resettable)}.', '')
    for verb in machine.verbs.values():
        begin = _listed(verb.allowed, '(new)').replace(', ', ' | ')
        yield from (
            '::',
            '',
            f'    {begin}',
            f'      --{verb.name}--> {verb.during}',
            f'        --worked--> {verb.ok or "(gone)"}',
            f'        --failed--> {verb.fail}',
            '',
        )


def _listed(statuses: Iterable[str], none: str = 'nothing') -> str:
    return ', '.join(sorted(statuses)) or none
