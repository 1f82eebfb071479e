# SPDX-License-Identifier: Apache-2.0
"""``manila-manage watch``: a line for each change, from the database itself; no API has to run."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from manila_lite import context
from manila_lite.api.events import changes, cursor, hub, records, standing
from manila_lite.api.events.audience import Audience
from manila_lite.api.events.batches import render
from manila_lite.cmd import log_lines
from manila_lite.cmd.manage.command import Call, Command, argument, seconds
from manila_lite.cmd.manage.watch import STOPPED
from manila_lite.db.core import engine


def follow(call: Call) -> int:
    """Print a line for each change of an operation, a status, a pool or a service, until Ctrl-C.

    Exit status 130: Ctrl-C was pressed.
    """
    watcher = Watcher(call.services(), call.args.project)
    try:
        while True:
            began = time.monotonic()
            for event, data in watcher.read():
                text = json.dumps({'event': event, 'data': data}) if call.args.json else _line(event, data)
                print(text, flush=True)
            time.sleep(max(began + call.args.every - time.monotonic(), 0.0))
    except KeyboardInterrupt:
        return STOPPED


class Watcher:
    """The changes of a database, as an administrator sees them. ``project``: only those of this project."""

    def __init__(self, services: context.Services, project: str | None = None):
        self._changes = changes.Changes(services.db)
        self._standing = standing.Standing(services.db, services.conf)
        self._audience = Audience.operator(services)
        self._project = project
        self._history: records.History | None = None

    def read(self) -> list[tuple[str, Any]]:
        """Return what has changed since the last look: the kind of each event, and its data."""
        try:
            found = self._changes.read_new()
            now = self._changes.time
            changed, _ = self._standing.compare(
                {records.POOL, records.SERVICE} if self._project is None else set(), now
            )
        except changes.TooMany:
            return [(records.RESET, {})]
        except engine.TRANSIENT as bad:
            print(
                f'manila-manage: the database does not answer: {log_lines.escaped(str(bad))}', file=sys.stderr
            )
            return []
        self._history = self._history or records.History(now or cursor.EPOCH, hub.MOST, hub.KEPT)
        news = [
            record
            for record in (*found, *changed)
            if self._history.is_news(record) and self._project in (None, record.project_id)
        ]
        for record in news:
            self._history.add(record)
        return [
            (event, json.loads(data)) for event, data in (render(record, self._audience) for record in news)
        ]


def _line(event: str, data: Any) -> str:
    words = [time.strftime('%H:%M:%S'), event, *_WORDS[event](data)]
    return '  '.join(log_lines.escaped(str(word)) for word in words if word not in (None, ''))


def _operation(data: Any) -> tuple[Any, ...]:
    percent = data['progress']['percent']
    return (
        data['kind'],
        data['resource_id'],
        'undoing' if data['undoing'] else data['state'],
        f'{data["phase"]} ({data["step"]} of {data["steps"]})',
        '' if percent is None else f'{percent} %',
        data['host'],
        data['error'],
    )


def _status(data: Any) -> tuple[Any, ...]:
    return data['resource_type'], data['resource_id'], data['status'], f'project {data["project_id"] or "-"}'


def _usage(data: Any) -> tuple[Any, ...]:
    return (
        data['resource_type'],
        data['resource_id'],
        f'{data["percent_full"]} % full',
        f'project {data["project_id"]}',
    )


def _pool(data: Any) -> tuple[Any, ...]:
    return data['name'], f'{data["free_gb"]} of {data["total_gb"]} GiB free'


def _service(data: Any) -> tuple[Any, ...]:
    return data['binary'], data['host'], data['state'], data['status'], data.get('disabled_reason')


def _reset(data: Any) -> tuple[Any, ...]:
    return ('many changes at once, or something was deleted: look at the lists',)


_WORDS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    records.OPERATION: _operation,
    records.USAGE: _usage,
    records.STATUS: _status,
    records.POOL: _pool,
    records.SERVICE: _service,
    records.RESET: _reset,
}

COMMANDS = (
    Command(
        'watch',
        '',
        follow,
        (
            argument('--project', help='only changes of this project (id)'),
            argument('--json', action='store_true', help='print each change as a JSON document of one line'),
            argument(
                '--every',
                type=seconds,
                default=1.0,
                metavar='SECONDS',
                help='seconds between two looks at the database; default: 1',
            ),
        ),
    ),
)
