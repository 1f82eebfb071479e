# SPDX-License-Identifier: Apache-2.0
"""Durable work: a row written with the resource, claimed with a lease, run step by step.

* ``begin`` writes the row in the caller's transaction; the wake-up on the bus is only a hint.
* A ``Runner`` claims rows of its queue, and an ``Executor`` runs their ``Plan``. After each step the
  position and data are saved; after a crash another claim goes on from there. ``do`` and ``undo`` may
  run twice, by a worker that lost its claim too: what a step writes itself, it writes behind ``Work.hold``.
* A step may raise ``Again`` (look later) or ``Final`` (undo backwards, then the plan's ``failed``). Any
  other error keeps the row, since the backend may still be at work, and tries again a bounded number
  of times; then it counts as final. So every operation ends.
* What cannot be carried out at all (a kind that nobody knows, data that cannot be read) is parked after
  the same number of tries: ``manila-manage doctor`` shows it.
"""

from manila_lite.operations.begin import Wake, backend_of, begin, begin_once
from manila_lite.operations.plans import CALM, FAST, WORK, Plan, Step, Work
from manila_lite.operations.runner import Runner

__all__ = ['CALM', 'FAST', 'WORK', 'Plan', 'Runner', 'Step', 'Wake', 'Work', 'backend_of', 'begin', 'begin_once']
