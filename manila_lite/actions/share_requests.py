# SPDX-License-Identifier: Apache-2.0
"""The properties of a requested share under its share type: size, protocol, zone, hints and abilities."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from manila_lite import errors, extra_specs
from manila_lite.actions.metadata import AdminKeys
from manila_lite.context import RequestContext
from manila_lite.db.core import limits
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    affinity,
    qos_types,
    services,
    share_network_subnets,
    share_networks,
    share_server_capabilities,
    share_server_queries,
    shares,
)
from manila_lite.db.queries.share_types import ShareType
from manila_lite.states import Replica
from manila_lite.values import usage_settings

#: Extra specs that a share keeps from its type.
_ABILITIES = (
    'snapshot_support',
    'create_share_from_snapshot_support',
    'revert_to_snapshot_support',
    'mount_snapshot_support',
    'snapshot_inherit_share_access_support',
)

_MIN, _MAX, _MAX_EXTEND = (
    'provisioning:min_share_size',
    'provisioning:max_share_size',
    'provisioning:max_share_extend_size',
)
#: The longest value that metadata may have.
_LONGEST_HINT = 1023


#: Metadata that only administrators set.
ADMIN_KEYS = AdminKeys('share:update_admin_only_metadata', 'admin_only_metadata')


@dataclasses.dataclass(frozen=True)
class ShareRequest:
    """The properties of a share to be created."""

    size: int
    proto: str
    zone: str | None
    zone_id: str | None
    network_id: str | None
    hints: dict[str, Any]
    abilities: dict[str, Any]
    metadata: dict[str, str]
    named: bool = False  # its subnets have to name a network


def resolve(
    conn: Connection,
    ctx: RequestContext,
    wanted: Mapping[str, Any],
    share_type: ShareType,
    source: Any,
    *,
    named: bool = False,
) -> ShareRequest:
    """Return the properties of the requested share. ``named``: as for ``must_have_subnet``.

    :raises errors.Invalid: a value does not fit the type, or the snapshot.
    :raises errors.NotFound: the zone, or a share named in a hint, does not exist.
    """
    size = _size(wanted, source)
    check_size(ctx, share_type, size)
    proto = _proto(ctx, wanted, source)
    zone = wanted.get('availability_zone')
    zone_id = services.zone_id(conn, zone) if zone else None
    network_id = _network(conn, ctx, wanted, share_type, source)
    if network_id:
        must_have_subnet(conn, network_id, zone, zone_id, named=named)
    if wanted.get('zones_of_type', True):
        must_be_offered(share_type, zone)
    metadata = dict(wanted.get('metadata') or {})
    if metadata:
        vet_metadata(ctx, metadata)
    limits.check(ctx.conf, 'metadata_items', 'the share', 0, len(metadata))
    hints, hint_metadata = _hints(conn, ctx, wanted.get('scheduler_hints') or {})
    return ShareRequest(
        size, proto, zone, zone_id, network_id, hints, abilities(share_type), metadata | hint_metadata, named
    )


def _network(
    conn: Connection, ctx: RequestContext, wanted: Mapping[str, Any], share_type: ShareType, source: Any
) -> str | None:
    """Return the share network of the share, held until the transaction ends."""
    network_id: str | None = wanted.get('share_network_id')
    if not is_spec_true(share_type, 'driver_handles_share_servers'):
        if network_id:
            raise errors.Invalid(
                'share_network_id: the share type does not use share networks '
                '(driver_handles_share_servers is False).'
            )
        return None
    source_network_id = source[1].share_network_id if source else None
    if source and network_id and network_id != source_network_id:
        raise errors.Invalid(
            f'share_network_id: must be {source_network_id or "null"}, the share network of the share '
            'of the snapshot.'
        )
    network_id = network_id or source_network_id
    if not network_id:
        raise errors.Invalid('share_network_id: missing; the share type needs a share network.')
    share_networks.get(conn, ctx, network_id)
    must_have_active_network(conn, network_id)
    return network_id


def must_have_active_network(conn: Connection, network_id: str) -> None:
    """Hold the share network of a request until the transaction ends, and refuse one that is not active.

    :raises errors.Invalid: the network is not active.
    """
    if not share_networks.lock(conn, network_id, ('active',)):
        raise errors.Invalid(
            f'share_network_id: share network {network_id} is not active.', code='share_network_not_active'
        )


def must_have_subnet(
    conn: Connection, network_id: str, zone: str | None, zone_id: str | None, *, named: bool
) -> None:
    """Refuse a share network without a subnet for the zone; without a zone, one that has no subnet at all.

    ``named``: subnets have to name a network, since there is no default one.

    :raises errors.Invalid: there is no such subnet.
    """
    if not (
        share_server_queries.subnets_for(conn, network_id, zone_id)
        if zone_id
        else share_network_subnets.of_network(conn, network_id)
    ):
        raise errors.Invalid(
            f'share_network_id: share network {network_id} has no subnet'
            + (f' in availability zone {zone}.' if zone_id else '.')
        )
    if named:
        must_be_in_network(conn, network_id, zone_id)


def must_be_in_network(conn: Connection, network_id: str, zone_id: str | None) -> None:
    """Refuse a share network whose subnets for the zone name no network; without a zone, those for all zones of backends that
    make share servers. For where there is no default network.

    :raises errors.Invalid: share servers would get no addresses.
    """
    zones = {zone_id} if zone_id else share_server_capabilities.zones(conn) or {None}
    known = {zone: share_server_queries.subnets_for(conn, network_id, zone) for zone in zones}
    if any(subnet.neutron_subnet_id for subnets in known.values() for subnet in subnets):
        return
    every = share_network_subnets.of_network(conn, network_id)
    empty = next(subnet for subnet in every if subnet.neutron_subnet_id is None)
    beside = any(subnet.neutron_subnet_id for subnet in every)
    raise errors.Invalid(
        f'share_network_id: subnet {empty.id} of share network {network_id} names no network'
        + (', and its other subnets are for other availability zones.' if beside else '.'),
        code='subnet_without_network',
    )


def must_be_offered(share_type: ShareType, zone: str | None) -> None:
    """Refuse a share type that is not offered in the zone, if there is one.

    :raises errors.Invalid: the type is not offered there.
    """
    if zone and not extra_specs.is_offered(share_type.extra_specs, zone):
        raise errors.Invalid(f'availability_zone: share type {share_type.name} is not offered in {zone}.')


def must_have_qos(conn: Connection, share_type: ShareType) -> None:
    """Refuse a share type that refers to a QoS type which does not exist: a share would not get the QoS that it was promised.

    :raises errors.Invalid: there is no such QoS type.
    """
    named = share_type.extra_specs.get(qos_types.NAMED_BY)
    # Users do not see the name.
    if named is not None and not qos_types.is_known(conn, named):
        raise errors.Invalid(
            f'share_type: share type {share_type.name} refers to a QoS type that does not exist.',
            code='share_type_without_qos_type',
        )


def _size(wanted: Mapping[str, Any], source: Any) -> int:
    size: int | None = wanted.get('size')
    if source is None:
        if size is None:
            raise errors.Invalid('size: missing; give the size in GiB.')
        return size
    least: int = source[0].size
    if size is not None and size < least:
        raise errors.Invalid(f'size: {size} GiB is less than the {least} GiB of the snapshot.')
    return least if size is None else size


def _proto(ctx: RequestContext, wanted: Mapping[str, Any], source: Any) -> str:
    proto = (wanted.get('share_proto') or (source[0].share_proto if source else '')).upper()
    enabled = [name.upper() for name in ctx.conf.enabled_share_protocols]
    if proto not in enabled:
        raise errors.Invalid(f'share_proto: {proto or "none"} is not enabled; enabled: {", ".join(enabled)}.')
    if source and proto != source[0].share_proto:
        raise errors.Invalid(f'share_proto: must be {source[0].share_proto}, the protocol of the snapshot.')
    return proto


def abilities(share_type: ShareType) -> dict[str, Any]:
    """Return the extra specs that a share of the type keeps."""
    return {
        **{name: is_spec_true(share_type, name) for name in _ABILITIES},
        'replication_type': share_type.extra_specs.get('replication_type'),
    }


def replica_state(kept: Mapping[str, Any]) -> str | None:
    """Return the replica state of the first instance of a share with these abilities: None without replication."""
    return Replica.ACTIVE.value if kept['replication_type'] else None


def quota_usage(size: int, replication_type: str | None) -> dict[str, int]:
    """Return the quota usage of a share of that size. A share that can have replicas counts as a replica, too."""
    replica = {'share_replicas': 1, 'replica_gigabytes': size} if replication_type else {}
    return {'shares': 1, 'gigabytes': size, **replica}


def is_spec_true(share_type: ShareType, key: str) -> bool:
    """Say whether the value of an extra spec means true."""
    return extra_specs.is_true(share_type.extra_specs.get(key, ''))


def check_size(ctx: RequestContext, share_type: ShareType, size: int, *, extending: bool = False) -> None:
    """Refuse a size in GiB that the share type does not allow.

    :raises errors.Invalid: the size is not allowed.
    """
    least, most = share_type.extra_specs.get(_MIN), share_type.extra_specs.get(_MAX)
    if extending and not ctx.is_admin:
        most = share_type.extra_specs.get(_MAX_EXTEND, most)
    if least is not None and size < int(least):
        raise errors.Invalid(
            f'size: {size} GiB is less than {least} GiB, the minimum of share type {share_type.name}.'
        )
    if most is not None and size > int(most):
        raise errors.Invalid(
            f'size: {size} GiB is more than {most} GiB, the maximum of share type {share_type.name}.'
        )


def check_public(ctx: RequestContext, wanted: Mapping[str, Any]) -> None:
    """Refuse a new public share, unless the policy allows the caller to create one.

    :raises errors.Forbidden: policy does not allow it.
    """
    if wanted.get('is_public') and not ctx.can('share:create_public_share'):
        raise errors.Forbidden('is_public: only administrators may create public shares.')


def vet_metadata(ctx: RequestContext, asked: Iterable[str]) -> Collection[str]:
    """Return the keys of metadata that the caller may not touch.

    :raises errors.Forbidden: one of these keys is in ``asked``.
    :raises errors.Invalid: ``asked`` has values, and that of a key with a meaning makes no sense.
    """
    if isinstance(asked, Mapping):
        for key in set(asked) & set(usage_settings.READ):
            try:
                usage_settings.READ[key](asked[key])
            except ValueError as bad:
                raise errors.Invalid(f'metadata.{key}: {bad}.') from None
    return ADMIN_KEYS.vet(ctx, asked)


def _hints(
    conn: Connection, ctx: RequestContext, hints: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the hints with the ids of the shares they name, and the metadata that records them."""
    resolved: dict[str, Any] = {}
    hint_metadata: dict[str, str] = {}
    for hint, key in affinity.KEYS.items():
        share_ids = dict.fromkeys(filter(None, map(str.strip, str(hints.get(hint) or '').split(','))))
        if not share_ids:
            continue
        resolved[hint], hint_metadata[key] = list(share_ids), ','.join(share_ids)
        if len(hint_metadata[key]) > _LONGEST_HINT:
            raise errors.Invalid(f'scheduler_hints.{hint}: names too many shares.')
        for share_id in share_ids:
            try:
                shares.get(conn, ctx, share_id, own=True)
            except (
                errors.Forbidden
            ):  # a public share of another project: its place is no business of the caller
                raise errors.NotFound.of('share', share_id) from None
    if only_host := get_only_host(ctx, hints):
        resolved['only_host'] = only_host
    return resolved, hint_metadata


def get_only_host(ctx: RequestContext, hints: Mapping[str, Any]) -> str | None:
    """Return the host that a scheduler hint asks for, or None.

    :raises errors.Forbidden: the caller is no administrator.
    """
    host: str | None = hints.get('only_host')
    if host and not ctx.is_admin:
        raise errors.Forbidden('scheduler_hints.only_host: only administrators may choose a host.')
    return host
