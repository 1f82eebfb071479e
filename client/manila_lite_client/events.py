# SPDX-License-Identifier: Apache-2.0
"""Events of the service: what changes, as it changes. ``service``: openstacksdk's proxy of the API, ``shared_file_system``.

::

    for event in events.listen(connection.shared_file_system):
        print(event.event, event.data)
"""

import dataclasses
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import requests
from keystoneauth1 import exceptions as keystone_exceptions
from openstack import exceptions

STREAM, DOCUMENT = 'text/event-stream', 'application/json'
#: Seconds in which a stream must show a sign of life; the service gives one every 15. Else a proxy keeps it back, or it broke.
_SILENCE = 20.0
#: Seconds to connect, and for which one request waits for events behind such a proxy.
_CONNECT, _WAIT = 10.0, 25
#: Seconds until another try: at first, at most.
_FIRST, _LAST = 1.0, 30.0
#: Answers after which another try may succeed.
_AWAY = (429, 500, 502, 503, 504)
#: Errors of the connection; those of the library requests are OSErrors.
_BROKEN = (
    OSError,
    keystone_exceptions.ConnectFailure,
    keystone_exceptions.ConnectTimeout,
    keystone_exceptions.UnknownConnectionError,
    exceptions.SDKException,
)


@dataclasses.dataclass(frozen=True)
class Event:
    """An event. ``id``: the position after it. ``event``: operation, status, usage, pool, service, or reset (load all anew)."""

    id: str
    event: str
    data: dict[str, Any]


class _Away(Exception):
    """The service did not answer, or not with events. ``pause``: the seconds that it asked for.

    ``silent``: there was a connection, and nothing came.
    """

    def __init__(self, pause: float = 0.0, *, silent: bool = False):
        super().__init__()
        self.pause, self.silent = pause, silent


def listen(service: Any, *, all_projects: bool = False, last_event_id: str = '') -> Iterator[Event]:
    """Yield events without end. An event may come twice; none is lost.

    A broken connection is made again, and goes on where it was. Where a proxy keeps the stream back, this asks again and again.
    ``all_projects``: of all projects, for administrators. ``last_event_id``: the ``id`` of the last event that is known.

    :raises openstack.exceptions.HttpException: the service refuses, and no other try will help.
    """
    reader = _Reader(service, all_projects, last_event_id)
    pause = _FIRST
    while True:
        try:
            yield from reader.stream() if reader.streams else reader.document()
            asked, pause = reader.retry, _FIRST
        except _Away as away:
            pause = _FIRST if reader.heard else pause
            asked = max(away.pause, pause)
            pause = min(pause * 2, _LAST)
        time.sleep(asked)


class _Reader:
    """The connection, and the position in the events. ``streams``: no proxy has kept a stream back so far. ``heard``: the last
    stream gave a sign of life."""

    def __init__(self, service: Any, all_projects: bool, position: str):
        self._service = service
        self._query = {'all_tenants': '1'} if all_projects else {}
        self._position = position
        self.streams = True
        self.heard = False
        self.retry = 0.0

    def stream(self) -> Iterator[Event]:
        """Yield the events of one connection until it ends."""
        self.heard = False
        try:
            answer = self._ask(STREAM, {}, stream=True, timeout=(_CONNECT, _SILENCE))
        except _Away as away:
            self.streams = not away.silent  # a proxy may keep even the head of an answer back
            raise
        try:
            for event in self._parsed(answer.iter_lines(chunk_size=None)):
                self.heard = True
                if event is not None:
                    yield event
        except OSError:
            # Nothing at all, not even the position that comes first: a proxy waits for the end of the answer.
            self.streams = self.heard
            raise _Away from None
        finally:
            answer.close()

    def document(self) -> Iterator[Event]:
        """Yield the events that come within one request."""
        self.heard, self.retry = False, 0.0
        answer = self._ask(DOCUMENT, {'wait': str(_WAIT)}, timeout=(_CONNECT, _WAIT + _SILENCE))
        try:
            document = answer.json()
            for one in document['events']:
                self._position = one['id']
                yield Event(one['id'], one['event'], one['data'])
            self._position = document['last_event_id'] or self._position
        except (ValueError, KeyError, TypeError):
            raise _Away from None

    def _ask(self, media_type: str, query: dict[str, str], **more: Any) -> Any:
        headers = {'Accept': media_type, **({'Last-Event-ID': self._position} if self._position else {})}
        try:
            answer = self._service.get(
                '/events', params={**self._query, **query}, headers=headers, raise_exc=False, **more
            )
        except _BROKEN as broken:
            # keystoneauth has one error for a connection that is not made, and one on which nothing comes.
            raise _Away(silent=isinstance(broken.__context__, requests.exceptions.ReadTimeout)) from None
        if answer.status_code in _AWAY:
            after = answer.headers.get('Retry-After', '')
            answer.close()
            raise _Away(float(after) if after.isdecimal() else 0.0)
        exceptions.raise_from_response(answer)
        return answer

    def _parsed(self, lines: Iterable[bytes]) -> Iterator[Event | None]:
        """Yield the events of the lines, and None at each other sign of life."""
        fields: dict[str, str] = {}
        for line in lines:
            name, _, value = line.decode().partition(':')
            if line:
                fields[name] = value.removeprefix(' ')
                if not name:
                    yield None
                continue
            if fields.get('retry', '').isdecimal():
                self.retry = int(fields['retry']) / 1000
            self._position = fields.get('id') or self._position
            yield (
                Event(self._position, fields['event'], json.loads(fields['data']))
                if 'data' in fields
                else None
            )
            fields = {}
