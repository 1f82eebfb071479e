# SPDX-License-Identifier: Apache-2.0
"""The share service for its siblings: over REST, with openstacksdk, and with the errors of ``manila_lite.errors``.

Shares are read with the user's own token, together with our service's token, so that the share service knows for whom
it answers. Access rules belong to the service user (role ``service``): users cannot delete them by accident.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite import context, errors
from manila_lite.siblings import connection

#: The version in which access rules can be locked and hidden.
VERSION = '2.82'
#: The version in which the level of an access rule can be changed.
_UPDATE = (2, 88)

#: Locks in one page of the list.
_PAGE = 200

#: Headers of a user's request that identify the user to the share service: tokens of Keystone's and ours, and HTTP Basic.
_FORWARDED = ('X-Auth-Token', 'Authorization')


@dataclasses.dataclass(frozen=True)
class VisibleShare:
    """A share, as the user that asked may see it; ``size`` in GiB."""

    id: str
    project_id: str
    name: str
    status: str
    protocol: str
    size: int
    is_public: bool


@dataclasses.dataclass(frozen=True)
class Export:
    """An export location of a share."""

    path: str
    preferred: bool


@dataclasses.dataclass(frozen=True)
class Rule:
    """An access rule; ``to`` is None where the share service hides it from us."""

    id: str
    share_id: str
    kind: str
    to: str | None
    level: str
    state: str


@dataclasses.dataclass(frozen=True)
class Lock:
    """A resource lock; ``by`` is ``user``, ``service`` or ``admin``."""

    id: str
    resource_id: str
    action: str
    reason: str
    by: str


@dataclasses.dataclass(frozen=True)
class Services(context.Services):
    """The services of a sibling's process; ``shares`` is its connection to the share service."""

    shares: Any = None


def of_process(services: context.Services) -> Any:
    """Return the connection to the share service of a sibling's process."""
    assert isinstance(services, Services)
    return services.shares


def caller(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a user's request that identify the user."""
    return {name: headers[name] for name in _FORWARDED if headers.get(name)}


class Shares:
    """The share service that ``[share_service]`` describes; safe for several threads at once.

    Each call raises ``errors.Unavailable`` when the share service does not answer as it should. Refusals are raised as
    ``errors.NotFound``, ``Forbidden``, ``Conflict``, ``Invalid`` or, for a user's token, ``Unauthorized``.
    """

    def __init__(self, conf: Any):
        self._conf = conf
        self._lock = threading.Lock()
        self._made: connection.Connection | None = None

    def _connected(self) -> connection.Connection:
        with self._lock:
            made = self._made = self._made or connection.Connection(self._conf)
        return made

    def _ask(
        self,
        method: str,
        path: str,
        *,
        who: Mapping[str, str] | None = None,
        version: str = VERSION,
        **more: Any,
    ) -> Any:
        return self._connected().ask(method, path, who=who, version=version, **more)

    # With the rights of a user --------------------------------------------------------------------

    def share(self, who: Mapping[str, str] | None, share_id: str) -> VisibleShare:
        """Return a share; ``who`` as ``caller`` returns it, or None for the service user."""
        row = self._ask('GET', f'/shares/{share_id}', who=who)['share']
        return VisibleShare(
            row['id'],
            row['project_id'],
            row.get('name') or '',
            row['status'],
            row['share_proto'],
            row['size'],
            bool(row.get('is_public')),
        )

    def exports(self, who: Mapping[str, str] | None, share_id: str) -> list[Export]:
        """Return the export locations of a share, preferred ones first; ``who`` as for ``share``."""
        try:
            rows = self._ask('GET', f'/shares/{share_id}/export_locations', who=who)['export_locations']
        except errors.NotFound:
            if who is not None:
                raise
            self.rules(share_id)  # raises NotFound if the share is gone; else this call always finds it
            raise errors.Forbidden(
                'The share service shows export locations only to the project of the share.'
            ) from None
        exports = [Export(row['path'], bool(row.get('preferred'))) for row in rows]
        return sorted(exports, key=lambda export: not export.preferred)

    def shows_rules(self, who: Mapping[str, str], share_id: str) -> bool:
        """Say whether a user sees the access rules of a share, as users do who may change them."""
        try:
            self._ask('GET', '/share-access-rules', who=who, params={'share_id': share_id})
        except (errors.NotFound, errors.Forbidden, errors.Invalid):
            return False
        return True

    # As the service user --------------------------------------------------------------------------

    def rules(self, share_id: str) -> list[Rule]:
        """Return all access rules of a share."""
        try:
            rows = self._ask('GET', '/share-access-rules', params={'share_id': share_id})['access_list']
        except errors.Invalid:  # of the parameter: there is no such share
            raise errors.NotFound.of('share', share_id) from None
        return [_rule(row, share_id) for row in rows]

    def allow(self, share_id: str, kind: str, to: str, level: str, reason: str) -> Rule:
        """Create an access rule, locked against deletion and hidden from users; the backend applies it later."""
        row = self._ask(
            'POST',
            f'/shares/{share_id}/action',
            json={
                'allow_access': {
                    'access_type': kind,
                    'access_to': to,
                    'access_level': level,
                    'lock_visibility': True,
                    'lock_deletion': True,
                    'lock_reason': reason,
                }
            },
        )['access']
        return _rule(row, share_id)

    def deny(self, share_id: str, access_id: str) -> None:
        """Begin to delete the rule, with its locks, if it is there."""
        with contextlib.suppress(errors.NotFound):
            self._ask(
                'POST',
                f'/shares/{share_id}/action',
                json={'deny_access': {'access_id': access_id, 'unrestrict': True}},
            )

    def change_level(self, access_id: str, level: str) -> bool:
        """Change the level of the rule; return False if the share service cannot do that, or does not let us."""
        if self._connected().most() < _UPDATE:
            return False
        try:
            self._ask(
                'PUT',
                f'/share-access-rules/{access_id}',
                version='.'.join(map(str, _UPDATE)),
                json={'update_access': {'access_level': level}},
            )
        except (errors.Forbidden, errors.NotFound):
            return False
        return True

    def locks(self, **filters: str) -> list[Lock]:
        """Return resource locks of access rules, of all projects; ``filters`` as those of the API."""
        asked = {'resource_type': 'access_rule', 'all_projects': 'true', 'limit': _PAGE, **filters}
        locks: list[Lock] = []
        while True:
            rows = self._ask('GET', '/resource-locks', params={**asked, 'offset': len(locks)})[
                'resource_locks'
            ]
            locks += map(_lock, rows)
            if len(rows) < _PAGE:
                return locks

    def lock(self, access_id: str, reason: str) -> Lock:
        """Lock the rule against deletion."""
        return _lock(
            self._ask(
                'POST',
                '/resource-locks',
                json={
                    'resource_lock': {
                        'resource_id': access_id,
                        'resource_type': 'access_rule',
                        'resource_action': 'delete',
                        'lock_reason': reason,
                    }
                },
            )['resource_lock']
        )

    def change_reason(self, lock_id: str, reason: str) -> None:
        """Change the reason of the lock, if it is there."""
        with contextlib.suppress(errors.NotFound):
            self._ask('PUT', f'/resource-locks/{lock_id}', json={'resource_lock': {'lock_reason': reason}})

    def unlock(self, lock_id: str) -> None:
        """Delete the lock, if it is there."""
        with contextlib.suppress(errors.NotFound):
            self._ask('DELETE', f'/resource-locks/{lock_id}')

    def share_of(self, access_id: str) -> str | None:
        """Return the id of the share of a rule, or None if there is no such rule."""
        try:
            return str(self._ask('GET', f'/share-access-rules/{access_id}')['access']['share_id'])
        except errors.NotFound:
            return None


def check_may_give_access(shares: Shares, ctx: Any, who: Mapping[str, str], share: VisibleShare) -> None:
    """Refuse a share to which the user could not give access: our service user, who acts for the user, could for any share.

    The share must be of the user's project; or the user must be an administrator in both services. A public share may
    be seen by others, not more.

    :raises errors.Forbidden: the user could not give access.
    """
    if share.project_id != ctx.project_id and not (ctx.is_admin and shares.shows_rules(who, share.id)):
        raise errors.Forbidden(
            f'Share {share.id} belongs to another project. Only that project can use it here.',
            code='share_of_another_project',
        )


def _rule(row: Mapping[str, Any], share_id: str) -> Rule:
    to = row['access_to']
    return Rule(
        row['id'],
        row.get('share_id') or share_id,
        row['access_type'],
        None if set(to or '*') == {'*'} else to,
        row['access_level'],
        row['state'],
    )


def _lock(row: Mapping[str, Any]) -> Lock:
    return Lock(
        row['id'],
        row['resource_id'],
        row['resource_action'],
        row.get('lock_reason') or '',
        row['lock_context'],
    )


def preferred(exports: Iterable[Export], stored: str | None = None) -> str | None:
    """Return the path to mount: the stored one if it is still there, else the first."""
    paths = [export.path for export in exports]
    return stored if stored in paths else next(iter(paths), None)
