# SPDX-License-Identifier: Apache-2.0
"""Creation of shares: from nothing, from a snapshot, or as a member of a new group."""

from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import (
    default_networks,
    encryption,
    mount_points,
    share_group_membership,
    share_requests,
)
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import affinity, quotas, share_types, shares, snapshots
from manila_lite.host import clock
from manila_lite.operation_data.shares import CreateShare


def create(ctx: RequestContext, wanted: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """Begin a share, in ``creating``. Return its row and its metadata.

    ``wanted``: size (GiB), share_proto, and any of name, description, share_type, snapshot_id, is_public,
    metadata, availability_zone, scheduler_hints, mount_point_name, share_group_id, encryption_key_ref; zones_of_type False if
    the zones of the share type do not count.

    :raises errors.Invalid: a value does not fit, or does not fit the share type.
    :raises errors.NotFound: the type, zone or snapshot does not exist.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    share_requests.check_public(ctx, wanted)
    named = default_networks.is_missing(ctx, wanted.get('share_network_id'))
    with ctx.db.writer() as conn:
        source = _source(conn, ctx, wanted)
        share_type = _type(conn, ctx, wanted, source)
        group, wanted = share_group_membership.join(conn, ctx, wanted, share_type)
        wanted = {**wanted, 'encryption_key_ref': encryption.choose_key(wanted, share_type, source, group)}
        spec = share_requests.resolve(conn, ctx, wanted, share_type, source, named=named)
        return begin_create(conn, ctx, wanted, share_type, spec, group), spec.metadata


def begin_create(
    conn: Connection,
    ctx: RequestContext,
    wanted: dict[str, Any],
    share_type: share_types.ShareType,
    spec: share_requests.ShareRequest,
    group: Row[Any] | None = None,
    member: str | None = None,
) -> Any:
    """Begin a share, in ``creating``. Return its row.

    ``group``: the group that it joins. ``member``: the member of a group snapshot that it is created from.

    :raises errors.Invalid: the QoS type of the share type, or the mount point name, is not valid.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    share_requests.must_have_qos(conn, share_type)
    mount_point = mount_points.full_name(share_type, ctx.project_id, wanted.get('mount_point_name'))
    share_id = uuidutils.generate_uuid()
    new_keys = quotas.count_new_keys(conn, ctx.project_id, wanted.get('encryption_key_ref'))
    values = {
        'id': share_id,
        'created_at': clock.without_jumps(),
        'project_id': ctx.project_id,
        'user_id': ctx.user_id,
        'name': wanted.get('name'),
        'description': wanted.get('description'),
        'size': spec.size,
        'share_proto': spec.proto,
        'is_public': bool(wanted.get('is_public')),
        'snapshot_id': wanted.get('snapshot_id'),
        'share_group_id': group.id if group else None,
        'source_share_group_snapshot_member_id': member,
        'mount_point_name': mount_point,
        'encryption_key_ref': wanted.get('encryption_key_ref'),
        **spec.abilities,
    }
    mount_points.insert_share(conn, values, spec.metadata)
    affinity.add_share(
        conn,
        share_id,
        ctx.project_id,
        {hint: spec.hints[hint] for hint in affinity.KEYS if hint in spec.hints},
    )
    instance = transitions.create(
        conn,
        states.SHARE,
        {
            'id': uuidutils.generate_uuid(),
            'share_id': share_id,
            'share_type_id': share_type.id,
            'progress': '0%',
            'availability_zone_id': spec.zone_id,
            'share_network_id': spec.network_id,
            'share_server_id': group.share_server_id if group else None,
            'access_rules_status': states.Rules.ACTIVE.value,
            'replica_state': share_requests.replica_state(spec.abilities),
        },
    )
    engine.begin(
        conn,
        ctx,
        'share.create',
        'share',
        share_id,
        topic='scheduler',
        mutex_key=instance['id'],
        unique_key=f'share:{share_id}',
        data=CreateShare(
            hints=spec.hints,
            zone=spec.zone,
            member=member,
            named_subnets=spec.named,
            zones_of_type=wanted.get('zones_of_type', True),
        ),
    )
    quotas.check(
        conn,
        ctx.conf,
        ctx.project_id,
        ctx.user_id,
        share_type.id,
        {**share_requests.quota_usage(spec.size, spec.abilities['replication_type']), **new_keys},
        one_share=spec.size,
        written=True,
    )
    return shares.as_inserted(values, instance, share_type.name, spec.zone)


def _source(
    conn: Connection, ctx: RequestContext, wanted: dict[str, Any]
) -> tuple[Row[Any], Row[Any]] | None:
    if not wanted.get('snapshot_id'):
        return None
    snapshot = snapshots.get(conn, ctx, wanted['snapshot_id'])
    if not snapshots.lock(conn, snapshot.id, ('available',)):
        raise errors.Invalid(f'snapshot_id: snapshot {snapshot.id} is {snapshot.status}, not available.')
    share = shares.get(conn, ctx.elevated(), snapshot.share_id)
    if not share.create_share_from_snapshot_support:
        raise errors.Invalid(
            f'snapshot_id: the share type of share {share.id} does not support shares from snapshots.'
        )
    return snapshot, share


def _type(
    conn: Connection, ctx: RequestContext, wanted: dict[str, Any], source: Any
) -> share_types.ShareType:
    name = wanted.get('share_type')
    if source and not name:
        return share_types.get(conn, ctx.elevated(), source[1].share_type_id)
    if not name:
        name = ctx.conf.default_share_type
        if not name:
            raise errors.Invalid('share_type: missing, and no default share type is configured.')
    try:
        return share_types.find(conn, ctx, name)
    except errors.NotFound:
        if not wanted.get('share_type'):
            raise errors.Invalid(f'share_type: the default share type {name!r} does not exist.') from None
        raise
