# SPDX-License-Identifier: Apache-2.0
"""Invariants that must hold after each commit, after each change at the backend, and at the end."""

from manila_lite.db.queries import operations, quotas

_GROWS = 'share.extend'
#: Statuses of shares at the end.
SETTLED = {'available', 'error', 'error_deleting', 'extending_error', 'shrinking_error'}


def within_quota(model):
    """Check that no project has more than its quota."""
    for project, limits in model.limits.items():
        own = [share for share in model.shares.values() if share.project == project]
        used = {'shares': len(own), 'gigabytes': sum(share.comes_to for share in own)}
        for resource, limit in limits.items():
            model.must(
                used[resource] <= limit,
                f'project {project} has {used[resource]} {resource}, and may have {limit}',
            )


def within_capacity(model, what):
    """Check that content and promises of a pool are within its capacity."""
    grown = {
        row.resource_id
        for row in model.rows.values()
        if (row.kind, row.topic, row.state) == (_GROWS, 'share', operations.OPEN)
    }
    for pool, total in model.backend.pools.items():
        held = model.backend.held[pool]
        takes = {instance_id: size for instance_id, size in held.items() if instance_id not in model.forced}
        for share in model.shares.values():
            if share.host == pool and share.id not in model.forced:
                takes[share.id] = max(held.get(share.id, 0), _promised(share, grown))
        taken = sum(takes.values())
        by_whom = ', '.join(
            f'{size} of {model.share_name(instance_id)}' for instance_id, size in takes.items()
        )
        model.must(
            taken <= total, f'after {what}: pool {pool} has {total} GiB, and is to hold {taken}: {by_whom}'
        )
        said = model.pools.get(pool)
        if said is not None:
            model.must(
                said.free - said.claimed <= total - taken,
                f'after {what}: pool {pool} is said to have {said.free} GiB free, of which {said.claimed} are '
                f'claimed; it has {total}, and is to hold {taken}: {by_whom}',
            )


def _promised(share, grown):
    if share.status == 'creating':
        return share.size
    return share.target if share.status == 'extending' and share.share_id in grown else 0


def ended(model):
    """Check that shares are settled, that quota usage matches the rows, and that backends match the table."""
    parked = {row.resource_id for row in model.rows.values() if row.state == operations.PARKED}
    for share in model.shares.values():
        if share.share_id not in parked:
            _settled(model, share)
    for pool, held in model.backend.held.items():
        for instance_id in held:
            share = model.shares.get(instance_id)
            model.must(
                share is not None and share.host == pool,
                f'pool {pool} holds {model.share_name(instance_id)}, which is not there',
            )
    with model.table.engine.connect() as conn:
        for project in model.limits:
            own = [share for share in model.shares.values() if share.project == project]
            used = quotas.usages(conn, project)
            said = (used['shares'].total, used['gigabytes'].total)
            comes_to = (len(own), sum(share.comes_to for share in own))
            model.must(said == comes_to, f'quota counts {said} of project {project}, which has {comes_to}')


def _settled(model, share):
    name = model.share_name(share.id)
    model.seen[share.status] += 1
    model.must(share.status in SETTLED, f'{name} is {share.status} in the end')
    model.must(share.target is None, f'{name} is {share.status} and still goes to {share.target} GiB')
    held = model.backend.held.get(share.host, {}).get(share.id)
    if share.status == 'available':
        model.must(held == share.size, f'{name} has {share.size} GiB, and {held} at its pool')
    elif share.status in ('extending_error', 'shrinking_error'):
        model.must(held is not None, f'{name} is {share.status}, and not at its pool')


def reported(model):
    """Check, after one more report of each backend, that nothing is claimed and that allocated capacity is right."""
    for pool in model.pools.values():
        sizes = sum(share.size for share in model.shares.values() if share.host == pool.host)
        model.must(pool.claimed == 0, f'{pool.claimed} GiB of pool {pool.host} are claimed in the end')
        model.must(
            pool.allocated == pool.provisioned == sizes,
            f'pool {pool.host}: {pool.allocated} GiB allocated and {pool.provisioned} provisioned; its shares come '
            f'to {sizes}',
        )
        model.must(
            pool.free == model.backend.free(pool.host),
            f'pool {pool.host} is said to have {pool.free} GiB free',
        )
