# SPDX-License-Identifier: Apache-2.0
"""Operations: durable work. A row is written with the resource, claimed with a lease, and run step by step.

* ``begin`` writes the row in the caller's transaction; the wake-up on the bus is only a hint.
* A ``Runner`` claims rows of its queue, and an ``Executor`` runs their ``Plan``. After each step the position and data
  are saved; after a crash another claim goes on from there. ``do`` and ``undo`` may run twice, also by a worker that
  lost its claim: a step writes its own rows behind ``Work.hold``.
* A step may raise ``Again`` (try later) or ``Final`` (undo backwards, then the plan's ``failed``). Any other error
  keeps the row, since the backend may still be at work, and the step is tried again a bounded number of times. Then the
  error counts as final. So every operation ends.
* Operations that wait together are claimed together, and a plan may let them share statements: ``Step.many``,
  ``Plan.prepare`` and ``Plan.done_many``. A failure there lets each go on alone. Only first tries do anything together.
* Steps have names, and the row keeps those of its plan. A newer release goes on at the step of the same name.
* An operation that cannot be run at all (its kind or its step is not known, its data cannot be read) is parked after
  the same number of tries: ``manila-manage doctor`` shows it.
"""

from manila_lite.engine.begin import Wake, backend_of, begin, begin_once, wake_up
from manila_lite.engine.plans import EXCLUSIVE, FAST, PLACE, WORK, Plan, Step, Work, nothing
from manila_lite.engine.runner import Runner

__all__ = [
    'EXCLUSIVE',
    'FAST',
    'PLACE',
    'WORK',
    'Plan',
    'Runner',
    'Step',
    'Wake',
    'Work',
    'backend_of',
    'begin',
    'begin_once',
    'nothing',
    'wake_up',
]
