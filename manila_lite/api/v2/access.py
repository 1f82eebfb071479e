# SPDX-License-Identifier: Apache-2.0
"""The calls for access rules: actions of a share in old versions, resources of their own from 2.45 on."""

from typing import Any

from manila_lite import encryption, errors, states
from manila_lite.actions import access as actions
from manila_lite.actions import access_targets, resource_locks
from manila_lite.api import versions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import Body, Call, Field, Many, One, Plain, View
from manila_lite.api.framework.handlers import BODY, act, field, flag, path, since
from manila_lite.api.request import Request
from manila_lite.db import models
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, shares

#: The text shown in place of hidden values, and the filters that would reveal them.
_UNSEEN, _TELLING = '******', ('access_to', 'access_key')


def to_of(row: Any, req: Request) -> str:
    """Read the rule's ``access_to``, or the placeholder if it is hidden from the caller."""
    return _UNSEEN if row.id in req.related['hidden'] else row.access_to


def key_of(row: Any, req: Request) -> str | None:
    """Read the rule's access key, or the placeholder if the rule is hidden from the caller."""
    return _UNSEEN if row.id in req.related['hidden'] else encryption.decrypt(row.access_key)


def state_of(row: Any, req: Request) -> str:
    """Read a rule's state. Below 2.28 every transient state is shown as ``new``."""
    if req.version < versions.STATES_OF_RULES and row.state in states.ACCESS.transient:
        return 'new'
    return str(row.state)


def allow(req: Request) -> Any:
    """Add an access rule to a share."""
    row, metadata = actions.allow(
        req.ctx,
        req.params['share_id'],
        req.body,
        ipv6=req.version >= versions.IPV6_RULES,
        despite_errors=req.version >= versions.STATES_OF_RULES,
        despite_replicas=req.version >= versions.RULES_BESIDE_BROKEN_REPLICAS,
    )
    # Its creator sees the new rule even if it was created with locks.
    req.related |= {'metadata': {row.id: metadata}, 'hidden': {}}
    return row


def list_of_share(req: Request) -> list[Any]:
    """List a share's access rules by an action of the share."""
    return _list(req, req.params['share_id'], {})


def index(req: Request) -> list[Any]:
    """List a share's access rules."""
    filters = dict(req.query)
    share_id = filters.pop('share_id', None)
    if not share_id:
        raise errors.Invalid('share_id: missing; access rules can only be listed for one share.')
    if filters.get('access_type') == 'ip' and filters.get('access_to'):
        access_targets.parse_network(filters['access_to'])
    return _list(req, share_id, filters)


def _list(req: Request, share_id: str, filters: dict[str, Any]) -> list[Any]:
    with req.ctx.db.reader() as conn:
        shares.get(conn, resource_locks.lookup_context(req.ctx), share_id, own=True)
        rows = access.of_share(conn, share_id, filters)
        _load(conn, req, share_id, rows)
    if filters.get('access_key') is not None:
        rows = [row for row in rows if encryption.decrypt(row.access_key) == filters['access_key']]
    if any(filters.get(key) is not None for key in _TELLING):
        return [row for row in rows if row.id not in req.related['hidden']]
    return rows


def _load(conn: Connection, req: Request, share_id: str, rows: list[Any]) -> None:
    """Load the metadata of a share's rules for the view, and the ids of rules that are hidden from the caller."""
    related.pairs_loader(models.access_rule_metadata)(conn, req, rows)
    req.related['hidden'] = dict.fromkeys(resource_locks.hidden_rules(conn, req.ctx, share_id), True)


def show(req: Request) -> Any:
    """Show one access rule."""
    with req.ctx.db.reader() as conn:
        row = access.get(conn, resource_locks.lookup_context(req.ctx), req.params['access_id'])
        _load(conn, req, row.share_id, [row])
    return row


def update(req: Request) -> Any:
    """Change the level of an access rule."""
    row = actions.change_level(req.ctx, req.params['access_id'], req.body['access_level'])
    with req.ctx.db.reader() as conn:
        _load(conn, req, row.share_id, [row])
    return row


# Fields and calls -------------------------------------------------------------------------------

_STATE = {'type': 'string', 'enum': ['new', *sorted(states.ACCESS.statuses)]}
_LEVELS = ['rw', 'ro']

SUMMARY_FIELDS = (
    Field('id', shapes.ID),
    Field('access_type', shapes.STRING),
    Field('access_to', shapes.STRING, read=to_of),
    Field('access_level', {'type': 'string', 'enum': _LEVELS}),
    Field('state', _STATE, read=state_of),
    Field('access_key', shapes.NULL_STRING, since='2.21', read=key_of),
    Field('created_at', shapes.TIME, since='2.33'),
    Field('updated_at', shapes.NULL_TIME, since='2.33'),
    Field('metadata', shapes.PAIRS, since='2.45', read=related.pairs_of),
)

ACCESS = View('access', 'access_list', (Field('share_id', shapes.ID), *SUMMARY_FIELDS))
#: Rules in a list do not name their share: the request named it.
SUMMARY = View('access', 'access_list', SUMMARY_FIELDS)

ALLOW = (
    Field('access_type', {'type': 'string', 'enum': ['ip', 'user', 'cert']}, until='2.12', required=True),
    Field(
        'access_type',
        {'type': 'string', 'enum': ['ip', 'user', 'cert', 'cephx']},
        since='2.13',
        required=True,
    ),
    Field('access_to', {'type': 'string', 'maxLength': 255}, required=True),
    Field('access_level', {'type': ['string', 'null'], 'enum': [*_LEVELS, None]}),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}, since='2.45'),
    Field('lock_visibility', shapes.NULL_FLAG, since='2.82', parse=shapes.flag),
    Field('lock_deletion', shapes.NULL_FLAG, since='2.82', parse=shapes.flag),
    Field('lock_reason', {'type': ['string', 'null'], 'maxLength': 1023}, since='2.82'),
)

DENY = (
    Field('access_id', {'type': 'string', 'minLength': 1}, required=True),
    # Deny the rule even if it is locked, and delete its locks.
    Field('unrestrict', shapes.NULL_FLAG, since='2.82', parse=shapes.flag),
)

FILTERS = (
    Field('share_id', shapes.STRING),
    Field('metadata', shapes.STRING, parse=shapes.pairs),
    Field('access_type', shapes.STRING, since='2.82'),
    Field('access_to', shapes.STRING, since='2.82'),
    Field('access_level', shapes.STRING, since='2.82'),
    Field('access_key', shapes.STRING, since='2.82'),
)

_BUSY = ((errors.WrongState, 400),)
_ACTION = '/shares/{share_id}/action'
_RULE = '/share-access-rules/{access_id}'

CALLS = [
    Call(
        'POST',
        _ACTION,
        allow,
        'share:allow_access',
        One(ACCESS),
        action='allow_access',
        body=Body('allow_access', ALLOW, strict=True),
        once=True,
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Remove an access rule of a share.',
            actions.deny,
            path('share_id'),
            field('access_id'),
            unrestrict=flag('unrestrict'),
            despite_replicas=since(versions.RULES_BESIDE_BROKEN_REPLICAS),
        ),
        'share:deny_access',
        ok=202,
        action='deny_access',
        states=_BUSY,
        body=Body('deny_access', DENY, strict=True),
    ),
    Call(
        'POST',
        _ACTION,
        list_of_share,
        'share:access_get_all',
        Many(SUMMARY),
        action='access_list',
        until='2.44',
    ),
    Call(
        'GET',
        '/share-access-rules',
        index,
        'share_access_rule:index',
        Many(SUMMARY, beside=ACCESS.fields),
        since='2.45',
        query=FILTERS,
        states=((errors.NotFound, 400),),
    ),
    Call('GET', _RULE, show, 'share_access_rule:get', One(ACCESS), since='2.45'),
    Call(
        'PUT',
        _RULE,
        update,
        'share_access_rule:update',
        One(ACCESS),
        since='2.88',
        states=_BUSY,
        body=Body(
            'update_access', (Field('access_level', {'type': 'string', 'enum': _LEVELS}, required=True),)
        ),
    ),
    Call(
        'PUT',
        f'{_RULE}/metadata',
        act('Set metadata of an access rule.', actions.METADATA.set_metadata, path('access_id'), values=BODY),
        'share_access_metadata:update',
        Plain(shapes.PAIRS, 'metadata'),
        since='2.45',
        body=Body('metadata', free=shapes.METADATA),
    ),
    Call(
        'DELETE',
        f'{_RULE}/metadata/{{key}}',
        act(
            "Delete one key of an access rule's metadata.",
            actions.METADATA.delete_metadata,
            path('access_id'),
            key=path('key'),
        ),
        'share_access_metadata:delete',
        since='2.45',
    ),
]
