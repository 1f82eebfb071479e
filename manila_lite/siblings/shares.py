# SPDX-License-Identifier: Apache-2.0
"""The share service, as its siblings know it: over REST, with openstacksdk, and with the errors of our own house.

What a user may see is asked with the user's own token, beside which our service's token goes, so that the share service
knows for whom it answers. Access rules are the service user's (role ``service``): users cannot take them away by accident.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite import errors
from manila_lite.siblings import connection

#: The version in which access rules can be locked and hidden.
VERSION = '2.82'
#: The version in which the level of an access rule can be changed.
_UPDATE = (2, 88)

#: Locks that are asked for at once.
_PAGE = 200

#: Headers of a user's request that tell the share service who asks: tokens of Keystone's and ours, and HTTP Basic.
_FORWARDED = ('X-Auth-Token', 'Authorization')


@dataclasses.dataclass(frozen=True)
class Share:
    """A share, as whoever asked may see it; ``size`` in GiB."""

    id: str
    project_id: str
    name: str
    status: str
    protocol: str
    size: int
    is_public: bool


@dataclasses.dataclass(frozen=True)
class Export:
    """Where a share is mounted from."""

    path: str
    preferred: bool


@dataclasses.dataclass(frozen=True)
class Rule:
    """An access rule; ``to`` is nothing where the share service hides it from us."""

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


def caller(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what of the headers of a user's request says who asks."""
    return {name: headers[name] for name in _FORWARDED if headers.get(name)}


class Shares:
    """The share service that ``[share_service]`` describes; may be used by several threads at once.

    Each call raises ``errors.Unavailable`` when the share service does not answer as it should, and what it refuses with as
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

    def _ask(self, method: str, path: str, *, who: Mapping[str, str] | None = None, version: str = VERSION,
             **more: Any) -> Any:
        return self._connected().ask(method, path, who=who, version=version, **more)

    # As somebody who may see the share ------------------------------------------------------------

    def share(self, who: Mapping[str, str] | None, ident: str) -> Share:
        """Return a share; ``who`` as ``caller`` returns it, or nothing for the service user."""
        row = self._ask('GET', f'/shares/{ident}', who=who)['share']
        return Share(row['id'], row['project_id'], row.get('name') or '', row['status'], row['share_proto'],
                     row['size'], bool(row.get('is_public')))

    def exports(self, who: Mapping[str, str] | None, ident: str) -> list[Export]:
        """Return where a share can be mounted from, what is preferred first; ``who`` as for ``share``."""
        try:
            rows = self._ask('GET', f'/shares/{ident}/export_locations', who=who)['export_locations']
        except errors.NotFound:
            if who is not None:
                raise
            self.rules(ident)   # raises what it should if the share is gone: this call always finds what is there
            raise errors.Forbidden('The share service shows export locations only to the project of the share.') from None
        found = [Export(row['path'], bool(row.get('preferred'))) for row in rows]
        return sorted(found, key=lambda export: not export.preferred)

    def shows_rules(self, who: Mapping[str, str], ident: str) -> bool:
        """Say whether a user is shown the access rules of a share, as those who may change them are."""
        try:
            self._ask('GET', '/share-access-rules', who=who, params={'share_id': ident})
        except (errors.NotFound, errors.Forbidden, errors.Invalid):
            return False
        return True

    # As the service user --------------------------------------------------------------------------

    def rules(self, share_id: str) -> list[Rule]:
        """Return all access rules of a share."""
        rows = self._ask('GET', '/share-access-rules', params={'share_id': share_id})['access_list']
        return [_rule(row, share_id) for row in rows]

    def allow(self, share_id: str, kind: str, to: str, level: str, reason: str) -> Rule:
        """There is an access rule, locked against deletion and hidden from users; the backend will be told of it."""
        row = self._ask('POST', f'/shares/{share_id}/action', json={'allow_access': {
            'access_type': kind, 'access_to': to, 'access_level': level, 'lock_visibility': True, 'lock_deletion': True,
            'lock_reason': reason}})['access']
        return _rule(row, share_id)

    def deny(self, share_id: str, access_id: str) -> None:
        """The rule is being taken away, with its locks, or is gone already."""
        with contextlib.suppress(errors.NotFound):
            self._ask('POST', f'/shares/{share_id}/action', json={'deny_access': {'access_id': access_id, 'unrestrict': True}})

    def change_level(self, access_id: str, level: str) -> bool:
        """The rule will have the level; says whether the share service can do that, and lets us."""
        if self._connected().most() < _UPDATE:
            return False
        try:
            self._ask('PUT', f'/share-access-rules/{access_id}', version='.'.join(map(str, _UPDATE)),
                      json={'update_access': {'access_level': level}})
        except (errors.Forbidden, errors.NotFound):
            return False
        return True

    def locks(self, **filters: str) -> list[Lock]:
        """Return resource locks of access rules, of all projects; ``filters`` as those of the API."""
        asked = {'resource_type': 'access_rule', 'all_projects': 'true', 'limit': _PAGE, **filters}
        found: list[Lock] = []
        while True:
            rows = self._ask('GET', '/resource-locks', params={**asked, 'offset': len(found)})['resource_locks']
            found += map(_lock, rows)
            if len(rows) < _PAGE:
                return found

    def lock(self, access_id: str, reason: str) -> Lock:
        """The rule is locked against deletion, by us."""
        return _lock(self._ask('POST', '/resource-locks', json={'resource_lock': {
            'resource_id': access_id, 'resource_type': 'access_rule', 'resource_action': 'delete',
            'lock_reason': reason}})['resource_lock'])

    def unlock(self, ident: str) -> None:
        """The lock is gone."""
        with contextlib.suppress(errors.NotFound):
            self._ask('DELETE', f'/resource-locks/{ident}')

    def share_of(self, access_id: str) -> str | None:
        """Return the id of the share that a rule is of, if the rule is there."""
        try:
            return str(self._ask('GET', f'/share-access-rules/{access_id}')['access']['share_id'])
        except errors.NotFound:
            return None


def must_be_theirs(shares: Shares, ctx: Any, who: Mapping[str, str], share: Share) -> None:
    """Who asks could give access to the share themselves: our service user, who is going to do it for them, could to any.

    It is of their project; or they are administrators there as well as here. That a share is public lets others see it, and
    no more.

    :raises errors.Forbidden: they could not.
    """
    if share.project_id != ctx.project_id and not (ctx.is_admin and shares.shows_rules(who, share.id)):
        raise errors.Forbidden(f'Share {share.id} is of another project, which lets others see it. Only that project can '
                               'use it here.', code='share_of_another_project')


def _rule(row: Mapping[str, Any], share_id: str) -> Rule:
    to = row['access_to']
    return Rule(row['id'], row.get('share_id') or share_id, row['access_type'], None if set(to or '*') == {'*'} else to,
                row['access_level'], row['state'])


def _lock(row: Mapping[str, Any]) -> Lock:
    return Lock(row['id'], row['resource_id'], row['resource_action'], row.get('lock_reason') or '', row['lock_context'])


def preferred(found: Iterable[Export], stored: str | None = None) -> str | None:
    """Return the path to mount: the stored one if it is still there, else the first."""
    paths = [export.path for export in found]
    return stored if stored in paths else next(iter(paths), None)
