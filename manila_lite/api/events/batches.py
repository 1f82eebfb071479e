# SPDX-License-Identifier: Apache-2.0
"""Events as an audience gets them: rendered once, and joined to the two forms of an answer."""

import functools
import logging
from typing import Any

import orjson

from manila_lite.api.events.audience import Audience
from manila_lite.api.events.records import DELETED, OPERATION, POOL, RESET, SERVICE, STATUS, USAGE, Record
from manila_lite.api.framework import fields
from manila_lite.api.v2.operations import OPERATION as OPERATION_VIEW
from manila_lite.api.v2.pools import DETAIL
from manila_lite.api.v2.services import SERVICE as SERVICE_VIEW

LOG = logging.getLogger(__name__)

#: The data of an event that has none.
NO_DATA = b'{}'
#: Bytes of an event beyond which an operation is told without its report, which may be as long as a backend has shares.
_LONG = 1 << 16


def render(record: Record, audience: Audience) -> tuple[str, bytes]:
    """Return an event, and its data as one line of JSON. If it cannot be shown, have clients load everything anew."""
    known = record.rendered.get(audience)
    if known is None:
        try:
            known = _RENDERED[record.event](record.payload, audience)
        except Exception:
            LOG.exception('Events: %s cannot be shown', record.key)
            return RESET, NO_DATA
        record.keep(audience, known)
    return record.event, known


def _operation(row: Any, audience: Audience) -> bytes:
    document = OPERATION_VIEW.render(row, audience)
    text = fields.encode(document)
    return (
        text
        if len(text) <= _LONG or not document.get('report')
        else fields.encode({**document, 'report': {}})
    )


def _status(status: Any, audience: Audience) -> bytes:
    gone = status.gone and (not audience.is_admin or status.status == DELETED)
    return orjson.dumps(
        {
            'resource_type': status.resource_type,
            'resource_id': status.resource_id,
            'project_id': status.project_id,
            'status': DELETED if gone else status.status,
            'deleted': gone,
        }
    )


def _usage(row: Any, audience: Audience) -> bytes:
    return orjson.dumps(
        {
            'resource_type': 'share',
            'resource_id': row.share_id,
            'project_id': row.project_id,
            'threshold': row.told_percent,
            'percent_full': row.percent_full,
            'used_bytes': row.used_bytes,
            'limit_bytes': row.limit_bytes,
        }
    )


def _pool(row: Any, audience: Audience) -> bytes:
    document = DETAIL.render(row, audience)
    capabilities = document['capabilities']
    return fields.encode(
        {
            **document,
            'total_gb': capabilities['total_capacity_gb'],
            'free_gb': capabilities['free_capacity_gb'],
        }
    )


def _service(row: Any, audience: Audience) -> bytes:
    return fields.encode(SERVICE_VIEW.render(row, audience))


def _reset(payload: Any, audience: Audience) -> bytes:
    return NO_DATA


_RENDERED = {
    OPERATION: _operation,
    STATUS: _status,
    USAGE: _usage,
    POOL: _pool,
    SERVICE: _service,
    RESET: _reset,
}


class Batch:
    """Events that come together. ``after``: the cursor of the last one. ``before``: that of all others, so that a client
    whose connection ends among them gets all of them again.
    """

    def __init__(self, events: list[tuple[str, bytes]], before: str, after: str):
        self._events = [
            (after if number == len(events) else before, *event) for number, event in enumerate(events, 1)
        ]
        self._after = after

    def __bool__(self) -> bool:
        return bool(self._events)

    @functools.cached_property
    def stream(self) -> bytes:
        """The events as server-sent events."""
        return b''.join(
            b'id: %b\nevent: %b\ndata: %b\n\n' % (cursor.encode(), event.encode(), data)
            for cursor, event, data in self._events
        )

    @functools.cached_property
    def document(self) -> bytes:
        """The events as one JSON document."""
        listed = b','.join(
            b'{"id":"%b","event":"%b","data":%b}' % (cursor.encode(), event.encode(), data)
            for cursor, event, data in self._events
        )
        return b'{"events":[%b],"last_event_id":"%b"}' % (listed, self._after.encode())
