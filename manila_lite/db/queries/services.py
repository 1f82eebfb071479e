# SPDX-License-Identifier: Apache-2.0
"""Zones, and services with their heartbeats."""

from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors, release
from manila_lite.db import models
from manila_lite.db.core import database_clock
from manila_lite.db.core.database_clock import AS_OF
from manila_lite.db.core.engine import insert_ignore
from manila_lite.db.core.prepared import Query

_services = models.services
_zones = models.availability_zones


def zone_id(conn: Connection, name: str, *, create: bool = False) -> str:
    """Return the zone's id.

    :raises errors.NotFound: there is no such zone, and ``create`` is off.
    """
    query = sa.select(_zones.c.id).where(_zones.c.name == name)
    existing_id: str | None = conn.execute(query).scalar()
    if existing_id is None and create:
        insert_ignore(conn, _zones, {'id': uuidutils.generate_uuid(), 'name': name})
        existing_id = conn.execute(query).scalar()
    if existing_id is None:
        raise errors.NotFound.of('availability zone', name)
    return existing_id


def find_zone_id(conn: Connection, name_or_id: str) -> str | None:
    """Return the id of the zone with this name, or else with this id, or None."""
    found = {
        zone.name == name_or_id: zone.id
        for zone in conn.execute(
            sa.select(_zones.c.id, _zones.c.name).where(
                (_zones.c.name == name_or_id) | (_zones.c.id == name_or_id)
            )
        )
    }
    return found.get(True) or found.get(False)


def list_zones(conn: Connection) -> list[Row[Any]]:
    """Return all zones that have a share manager, by name."""
    used = sa.select(_services.c.availability_zone_id).where(_services.c.binary == 'manila-share')
    return list(conn.execute(sa.select(_zones).where(_zones.c.id.in_(used)).order_by(_zones.c.name)))


def heartbeat_age(row: Any) -> float | None:
    """Return the seconds since the last heartbeat of a service's row with its ``as_of``; None if there was none.

    Heartbeats are judged by the clock of the database alone.
    """
    return None if row.heartbeat_at is None else (row.as_of - row.heartbeat_at).total_seconds()


def is_up(row: Any, down_time: float, later: float = 0.0) -> bool:
    """Say whether a service was up when its row was read, or ``later`` seconds after that. Decided nowhere else.

    A heartbeat in the future, as after a clock was set, counts no longer than one of the present.
    """
    age = heartbeat_age(row)
    return age is not None and not row.stopped and -down_time <= age and age + later <= down_time


def was_up(row: Any, seconds: float) -> bool:
    """Say whether a service had a heartbeat, or stopped, in the last ``seconds``."""
    age = heartbeat_age(row)
    return age is not None and abs(age) <= seconds


def is_running(row: Row[Any], conf: Any) -> bool:
    """Say whether the service is up, or is perhaps only being restarted."""
    return is_up(row, conf.service_down_time) or was_up(row, conf.scheduler.restart_wait)


def clock_ahead_of(row: Any) -> float | None:
    """Return the seconds by which the clock of the service's host is ahead of the database's; None if it does not tell."""
    return None if release_of(row) is None else row.clock_ahead


def clock_fault(row: Any, down_time: float, most: float) -> str | None:
    """Return why a clock keeps the service from work, or None. ``most``: seconds by which clocks may differ."""
    age = heartbeat_age(row)
    if age is None or row.stopped:
        return None
    if age < -down_time:
        return f'its last heartbeat is {-age:.0f} s in the future by the clock of the database'
    ahead = clock_ahead_of(row) or 0.0
    if age > down_time or abs(ahead) <= most:
        return None
    return f'the clock of its host is {clock_words(ahead)} that of the database'


def clock_words(ahead: float) -> str:
    """Return how far a clock is ahead, or behind."""
    return f'{abs(ahead):.0f} s {"ahead of" if ahead > 0 else "behind"}'


def release_of(row: Row[Any]) -> str | None:
    """Return the release that the service runs; None if it does not tell, as releases before ``FIRST_TOLD``."""
    return row.release if row.release_at is not None and row.release_at == row.heartbeat_at else None


def heartbeat(conn: Connection, host: str, binary: str, zone: str, *, stopped: bool = False) -> float:
    """Record a heartbeat of the service, which runs this release, or that it has stopped. Return the seconds by which the
    clock of this host is ahead of the database's.
    """
    here = zone_id(conn, zone, create=True)
    now, ahead = database_clock.compare(conn)
    values = {
        'heartbeat_at': now,
        'stopped': stopped,
        'release': release.VERSION,
        'release_at': now,
        'clock_ahead': ahead,
        'availability_zone_id': here,
    }
    beat = _services.update().where(_services.c.host == host, _services.c.binary == binary).values(**values)
    if not conn.execute(beat).rowcount:
        insert_ignore(conn, _services, {'host': host, 'binary': binary, 'topic': binary, **values})
    return ahead


def _select() -> sa.Select[Any]:
    return sa.select(_services, _zones.c.name.label('zone'), AS_OF).outerjoin(
        _zones, _zones.c.id == _services.c.availability_zone_id
    )


def list_services(conn: Connection, filters: dict[str, Any] | None = None) -> list[Row[Any]]:
    """Return services with their ``zone``, filtered by equality on host, binary, zone, disabled or ensuring."""
    query = _select().order_by(_services.c.id)
    for key, value in (filters or {}).items():
        query = query.where((_zones.c.name if key == 'zone' else _services.c[key]) == value)
    return list(conn.execute(query))


def get(conn: Connection, host: str, binary: str) -> Row[Any]:
    """Return one service.

    :raises errors.NotFound: there is none of that host and binary.
    """
    row = conn.execute(_select().where(_services.c.host == host, _services.c.binary == binary)).first()
    if row is None:
        raise errors.NotFound(
            f'Service {binary} on host {host} could not be found.', code='service_not_found'
        )
    return row


def set_disabled(conn: Connection, host: str, binary: str, disabled: bool, reason: str | None) -> None:
    """Disable the service for new shares, or enable it again.

    :raises errors.NotFound: there is none of that host and binary.
    """
    changed = conn.execute(
        _services.update()
        .where(_services.c.host == host, _services.c.binary == binary)
        .values(disabled=disabled, disabled_reason=reason)
    ).rowcount
    if not changed:
        get(conn, host, binary)


def set_ensuring(conn: Connection, host: str, yes: bool, **values: Any) -> bool:
    """Mark whether the share manager ensures its shares, and set these ``values``. Return False if there is none. The
    row is locked until the transaction ends.
    """
    return bool(
        conn.execute(
            _services.update()
            .where(_services.c.host == host, _services.c.binary == 'manila-share')
            .values(ensuring=yes, **values)
        ).rowcount
    )


_BACKENDS = Query(
    sa.select(
        _services.c.host,
        _services.c.heartbeat_at,
        _services.c.stopped,
        _services.c.disabled,
        AS_OF,
        _services.c.release,
        _services.c.release_at,
        _services.c.clock_ahead,
        _zones.c.name.label('zone'),
        _zones.c.id.label('zone_id'),
    )
    .outerjoin(_zones, _zones.c.id == _services.c.availability_zone_id)
    .where(_services.c.binary == 'manila-share')
)


def list_backends(conn: Connection) -> list[Row[Any]]:
    """Return host, ``disabled``, ``zone``, ``zone_id``, heartbeat and clock of every backend."""
    return _BACKENDS.all(conn)


def list_backends_just_down(conn: Connection, down_time: float, seconds: float) -> set[str]:
    """Return the hosts of backends that are not up, and had a heartbeat, or stopped, in the last ``seconds``."""
    return {row.host for row in list_backends(conn) if was_up(row, seconds) and not is_up(row, down_time)}
