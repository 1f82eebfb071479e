# SPDX-License-Identifier: Apache-2.0
"""States of clusters, nodes and mounts. Rows read as those of ``manila_lite/states.py``.

One operation brings a cluster from any state to what its rows ask for (``converge.py``); the verbs of a cluster only
say which status it shows meanwhile. After a crash the operation goes on at the step it had reached.
"""

from manila_lite.states import Crash, state_machine

_UNDER_WAY = 'Validating InfraUpdating Spawning Waiting Preparing Configuring Starting'
_SETTLED = 'Active Error'

# fmt: off    - tables are read by column
CLUSTER = state_machine(
    'cluster',
    'status',
    (
        #  verb        from                          during           ok        fail
        ('create', '', 'Validating', 'Active', 'Error', Crash.RESUME),
        ('arrange', _UNDER_WAY, 'InfraUpdating', 'Active', 'Error', Crash.RESUME),
        ('spawn', _UNDER_WAY, 'Spawning', 'Active', 'Error', Crash.RESUME),
        ('wait', _UNDER_WAY, 'Waiting', 'Active', 'Error', Crash.RESUME),
        ('prepare', _UNDER_WAY, 'Preparing', 'Active', 'Error', Crash.RESUME),
        ('configure', _UNDER_WAY, 'Configuring', 'Active', 'Error', Crash.RESUME),
        ('begin', _UNDER_WAY, 'Starting', 'Active', 'Error', Crash.RESUME),
        # Requests about an existing cluster. "update": other shares, or the same once more.
        ('update', _SETTLED, 'Configuring', 'Active', 'Error', Crash.RESUME),
        ('scale', 'Active', 'InfraUpdating', 'Active', 'Error', Crash.RESUME),
        ('scale_back', f'{_UNDER_WAY} {_SETTLED}', 'InfraUpdating', 'Active', 'Error', Crash.RESUME),
        ('delete', f'{_UNDER_WAY} {_SETTLED}', 'Deleting', None, 'Error', Crash.RESUME),
    ),
)

NODE = state_machine(
    'cluster_node',
    'state',
    (
        ('spawn', '', 'spawning', 'ready', 'error'),
        ('again', 'error', 'spawning', 'ready', 'error'),
        ('leave', 'spawning ready error leaving error_leaving', 'leaving', None, 'error_leaving'),
    ),
)

MOUNT = state_machine(
    'share_mount',
    'state',
    (
        ('mount', '', 'mounting', 'mounted', 'error'),
        ('again', 'mounted error error_unmounting', 'mounting', 'mounted', 'error'),
        (
            'unmount',
            'mounting mounted error unmounting error_unmounting',
            'unmounting',
            None,
            'error_unmounting',
        ),
    ),
)

# fmt: on

MACHINES = {one.resource_type: one for one in (CLUSTER, NODE, MOUNT)}
