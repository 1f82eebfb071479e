# SPDX-License-Identifier: Apache-2.0
"""Shares that fill up: their owners are told, once for each threshold, and those that are to grow are extended."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_log import log
from oslo_utils import units

from manila_lite import context, errors
from manila_lite.db.queries import messages, share_usage
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.db.queries.share_usage import Measured
from manila_lite.rpc import notifications
from manila_lite.values.usage_settings import UsageSettings

LOG = log.getLogger(__name__)


class FullShares:
    """Looks at the measured shares of one backend. All of it may be repeated after a crash."""

    def __init__(self, services: context.Services, host: str):
        self._services = services
        self._host = host

    def react(self, rows: Iterable[Any], measured: Mapping[str, Measured]) -> None:
        """Tell owners, and let shares grow. ``rows`` are those of ``share_usage.list_targets``."""
        with self._services.db.reader() as conn:
            specs, metadata = share_usage.settings_on(conn, self._host)
        known = [
            (
                row,
                measured[row.id],
                UsageSettings.of(specs.get(row.share_type_id, {}), metadata.get(row.id, {})),
            )
            for row in rows
            if row.id in measured
        ]
        self._tell(known)
        for row, one, settings in known:
            if settings.is_to_grow(one.used_bytes, row.size):
                self._grow(row, one, settings)
            elif row.growth_refused:
                self._note_growth(row.id, refused=False)

    def _tell(self, known: list[tuple[Any, Measured, UsageSettings]]) -> None:
        changed: dict[int, list[str]] = defaultdict(list)
        texts: dict[str, tuple[str, str]] = {}
        for row, one, settings in known:
            before = row.told_percent or 0
            now = settings.threshold(one.percent_full, before)
            if now != before:
                changed[now].append(row.id)
            if now > before:
                texts[row.id] = row.project_id, f'{_amount(one)}, which is at least {now} %.'
        if not changed:
            return
        ctx = context.admin(self._services)

        def write(conn: Any) -> None:
            for threshold, share_ids in sorted(changed.items()):
                share_usage.set_told(conn, share_ids, threshold)
            messages.create_each(conn, ctx, 'SHARE', texts, Action.MEASURE_USAGE, Detail.SHARE_NEARLY_FULL)

        self._services.db.write(write)
        for row, one, _ in known:
            if row.id in texts:
                notifications.emit(
                    self._owner(row), 'share.usage.threshold', self._payload(row, one), self._host
                )

    def _grow(self, row: Any, one: Measured, settings: UsageSettings) -> None:
        """Extend the share. Growth that metadata asks for has the rights and the limits of a member of the project."""
        from manila_lite.actions import shares  # the code of requests, which other work here does without

        size = settings.size_for(one.used_bytes, row.size)
        owner = self._owner(row)
        asks = owner
        if settings.by_owner:
            asks = context.member(self._services, row.project_id, row.user_id, owner.request_id)
        try:
            if not asks.can('share:extend'):
                raise errors.Forbidden('Members of the project may not extend shares.')
            with self._services.db.together():  # no growth without its reason
                shares.extend(asks, row.id, size, automatic=True)
                if not row.growth_refused:  # else the scheduler may refuse it again
                    text = f'{_amount(one)}. It grows from {row.size} to {size} GiB.'
                    self._say(owner, row.id, Detail.SHARE_GROWS, text)
        except (errors.NotFound, errors.WrongState):
            return  # it is busy, or gone; the next measurement is soon
        except errors.ManilaLiteError as refused:
            if not row.growth_refused:
                LOG.warning('%s: it is nearly full, and cannot grow: %s', row.id, refused)
                self._note_growth(row.id, refused=True)
                self._say(owner, row.id, Detail.GROWTH_REFUSED, f'{_amount(one)}. {refused}')
            return
        LOG.info('%s: %s; it grows from %s to %s GiB', row.id, _amount(one), row.size, size)

    def _say(self, owner: context.RequestContext, share_id: str, detail: Detail, text: str) -> None:
        with self._services.db.writer() as conn:
            messages.create(conn, owner, 'SHARE', share_id, Action.EXTEND, detail, text)

    def _note_growth(self, share_id: str, *, refused: bool) -> None:
        with self._services.db.writer() as conn:
            share_usage.set_growth_refused(conn, share_id, refused)

    def _owner(self, row: Any) -> context.RequestContext:
        """Return a context of this service, with a request id of its own, and the share's owner as owner of messages."""
        return context.admin(self._services, row.project_id, row.user_id)

    def _payload(self, row: Any, one: Measured) -> dict[str, Any]:
        return {
            'share_id': row.id,
            'host': row.host,
            'size': row.size,
            'used_bytes': one.used_bytes,
            'limit_bytes': one.limit_bytes,
            'percent_full': one.percent_full,
        }


def _amount(one: Measured) -> str:
    return f'It holds {one.used_bytes / units.Gi:.1f} of {one.limit_bytes / units.Gi:.1f} GiB'
