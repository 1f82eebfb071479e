# SPDX-License-Identifier: Apache-2.0
"""The order in which transactions take the locks of rows, so that no two wait for each other.

A transaction that changes rows of several of these tables, or locks them, begins with the one that comes first here. Of one
table it takes the rows in the order of their ids. New rows count for nothing: nobody waits for them. A row at the top of what
belongs together keeps others away from all of it, so that below it the order does not matter:

* of a share group (``share_groups.lock``): its members, and its snapshots.
* of a share network (``share_networks.lock``): its subnets, its share servers and their addresses. The end of a share server
  holds the network, too, for subnet and network go with the last of their servers.
* of a share (``access.lock``, ``snapshots.lock_share``, or the begin of a verb): its instances, rules, snapshots and itself.

``functional/database/test_lock_order.py`` looks at what a busy service does. A conflict that happens all the same is repeated
(``conflicts.py``).

The row of an operation is outside of this order: a worker takes it first in a step (``Work.hold``) and last at an end. No other
worker wants it. Requests do that end operations (``actions/superseding.py``), or have one run again.
"""

ORDER = (
    'share_groups',
    'share_networks',
    'security_services',
    'share_instances',
    'share_group_snapshots',
    'shares',
    'share_servers',
    'share_network_subnets',
    # Requests of a project wait for its quota, and those of a pool for its capacity: they hold them for as short as possible.
    'quota_locks',
    'pools',
)

#: Pairs of tables that some transactions lock in this order, against that above, and why that is no danger.
ELSEWHERE = {
    (
        'pools',
        'share_instances',
    ): 'The scheduler places a share where a pool had room. Nobody else changes a share meanwhile.',
    ('pools', 'share_groups'): 'The scheduler places a share group. Nobody else changes it meanwhile.',
    (
        'share_networks',
        'share_groups',
    ): 'A share manager finds a server for a new share group, which no share may join yet.',
    ('quota_locks', 'shares'): 'A share is extended, and held by its instance.',
}
