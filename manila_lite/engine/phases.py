# SPDX-License-Identifier: Apache-2.0
"""Names of the steps of plans, for processes that show operations and do not have the plans."""

#: By kind, at the backend: the names of the functions. A kind that is not listed has one step, called like the verb.
STEPS: dict[str, tuple[str, ...]] = {
    'share_server.create': ('allocate_all', 'configure'),
    'share_server.delete': ('teardown', 'free'),
    'share_server.manage': ('keep_addresses', 'take_over'),
    'share_server.unmanage': ('let_go', 'forget_addresses'),
    'share_server.add_subnet': ('allocate', 'add'),
    'share_server.migrate': ('reserve', 'freeze', 'start', 'copy', 'wait', 'cut_over'),
    'share_group.create': ('provide', 'fill'),
    'share_group_snapshot.create': ('quiet', 'take'),
    'share_group_snapshot.delete': ('quiet', 'throw_away'),
    'share_backup.create': ('start', 'copy'),
    'share_backup.restore': ('start_back', 'copy_back'),
    'share.migrate': ('provide', 'freeze', 'start', 'copy', 'wait', 'cut_over'),
    'replica.create': ('provide', 'make'),
    'replica.access': ('told',),
    'replica.promote': ('quiesce', 'promote'),
    'share_server.release': ('delete_moved', 'teardown', 'free'),
}
#: The step while the scheduler places the resource.
PLACING = 'place'


def steps(kind: str) -> tuple[str, ...]:
    """Return the names of the steps of a kind of operation."""
    return STEPS.get(kind) or (kind.partition('.')[2],)


def now(kind: str, topic: str, step: int) -> str:
    """Return the name of the step that runs now or next."""
    names = steps(kind)
    return PLACING if topic == 'scheduler' else names[min(step, len(names) - 1)]
