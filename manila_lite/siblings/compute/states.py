# SPDX-License-Identifier: Apache-2.0
"""Statuses of servers and of shares attached to them, in the form of ``manila_lite.states``."""

import dataclasses

from manila_lite.states import Crash, StateMachine, state_machine

_SETTLED = 'active stopped suspended error'
_BUSY = 'building starting stopping rebooting hard_rebooting suspending resuming rebuilding resizing imaging'

# fmt: off    - tables are read by column
SERVER = state_machine(
    'server',
    'status',
    (
        #  verb         from                 during            ok           fail
        ('create', '', 'building', 'active', 'error', Crash.RESUME),
        ('start', 'stopped error', 'starting', 'active', 'error', Crash.RESUME),
        ('stop', 'active error', 'stopping', 'stopped', 'error', Crash.RESUME),
        ('reboot', 'active', 'rebooting', 'active', 'error', Crash.RESUME),
        ('hard_reboot', _SETTLED, 'hard_rebooting', 'active', 'error', Crash.RESUME),
        ('suspend', 'active', 'suspending', 'suspended', 'error', Crash.RESUME),
        ('resume', 'suspended', 'resuming', 'active', 'error', Crash.RESUME),
        # Two verbs each: for a stopped server, and for a running one (``_on``), which is off meanwhile. A failed image
        # changes nothing.
        ('rebuild', 'stopped error', 'rebuilding', 'stopped', 'error', Crash.RESUME),
        ('rebuild_on', 'active', 'rebuilding', 'active', 'error', Crash.RESUME),
        ('resize', 'stopped', 'resizing', 'stopped', 'error', Crash.RESUME),
        ('resize_on', 'active', 'resizing', 'active', 'error', Crash.RESUME),
        ('image', 'stopped', 'imaging', 'stopped', 'stopped', Crash.RESUME),
        ('image_on', 'active', 'imaging', 'active', 'error', Crash.RESUME),
        # From any status: the work under way is given up.
        ('delete', f'{_SETTLED} {_BUSY}', 'deleting', None, 'error', Crash.RESUME),
    ),
)

ATTACHMENT = state_machine(
    'share_attachment',
    'status',
    (
        ('attach', '', 'attaching', 'inactive', 'error', Crash.RESUME),
        # Together with its server. "retry": an attachment in error is tried again at the next start.
        ('start', 'inactive', 'inactive', 'active', 'error', Crash.RESUME),
        ('retry', 'error', 'inactive', 'active', 'error', Crash.RESUME),
        # The device is gone with the guest; or it broke, and the guest cannot use the share until it is started anew.
        ('stop', 'active', 'active', 'inactive', 'error', Crash.RESUME),
        ('detach', 'attaching inactive active error', 'detaching', None, 'error', Crash.RESUME),
    ),
    waits='inactive active',
)

# fmt: on

#: Every machine, by resource type.
MACHINES: dict[str, StateMachine] = {one.resource_type: one for one in (SERVER, ATTACHMENT)}

#: Statuses in which a guest may run, now or soon: the host's resources for it stay.
ON = frozenset({'active', *_BUSY.split()}) - {'building'}


@dataclasses.dataclass(frozen=True)
class Shown:
    """A status in the terms of Nova's clients: status of the API, of the machine, of the task, of the power (1 on, 4 off)."""

    status: str
    vm_state: str
    task_state: str | None
    power_state: int


SHOWN = {
    'building': Shown('BUILD', 'building', 'spawning', 0),
    'active': Shown('ACTIVE', 'active', None, 1),
    'stopped': Shown('SHUTOFF', 'stopped', None, 4),
    'suspended': Shown('SUSPENDED', 'suspended', None, 4),
    'error': Shown('ERROR', 'error', None, 0),
    'starting': Shown('SHUTOFF', 'stopped', 'powering-on', 4),
    'stopping': Shown('ACTIVE', 'active', 'powering-off', 1),
    'rebooting': Shown('REBOOT', 'active', 'rebooting', 1),
    'hard_rebooting': Shown('HARD_REBOOT', 'active', 'rebooting_hard', 1),
    'suspending': Shown('ACTIVE', 'active', 'suspending', 1),
    'resuming': Shown('SUSPENDED', 'suspended', 'resuming', 4),
    'rebuilding': Shown('REBUILD', 'active', 'rebuilding', 4),
    'resizing': Shown('RESIZE', 'active', 'resize_migrating', 4),
    'imaging': Shown('SHUTOFF', 'stopped', 'image_snapshot', 4),
    'deleting': Shown('ACTIVE', 'active', 'deleting', 0),
}
