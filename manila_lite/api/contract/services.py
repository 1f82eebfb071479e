# SPDX-License-Identifier: Apache-2.0
"""The calls for services."""

import dataclasses
from typing import Any

from manila_lite import errors
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Body, Call, Field, Many
from manila_lite.api.contract.fields import Schema, View
from manila_lite.api.contract.shapes import BOOLEAN, NULL_STRING, NULL_TIME
from manila_lite.api.v2 import services as v2
from manila_lite.policies import services as rules
from manila_lite.workflow.evacuation import MOST_AT_ONCE

_TEXT = {'type': 'string'}
_STATE = {'type': 'string', 'enum': ['up', 'down']}
_STATUS = {'type': 'string', 'enum': ['enabled', 'disabled']}

SERVICE = View(
    'service',
    'services',
    (
        Field('id', {'type': 'integer'}),
        Field('binary', _TEXT),
        Field('host', _TEXT),
        Field('zone', NULL_STRING),
        Field('status', _STATUS, read=v2.status_of),
        Field('state', _STATE, read=v2.state_of),
        Field('updated_at', NULL_TIME, read='heartbeat_at'),
        Field('disabled_reason', NULL_STRING, since='2.83'),
        Field('ensuring', BOOLEAN, since='2.86'),
        # An addition to Manila's API, at every version.
        Field('release', NULL_STRING, read=v2.release_of),
    ),
)

SET = View(
    'service',
    'services',
    (
        Field('host', _TEXT),
        Field('binary', _TEXT),
        Field('disabled', BOOLEAN, until='2.82'),
        Field('status', _STATUS, since='2.83', read=v2.status_of),
        Field('disabled_reason', NULL_STRING, since='2.83'),
    ),
)


def _lower(value: Any) -> str:
    return str(value).lower()


#: A state or status that no service can have is one that none has.
FILTERS = (
    Field('host', _TEXT),
    Field('binary', _TEXT),
    Field('zone', _TEXT),
    Field('state', _TEXT, parse=_lower),
    Field('status', _TEXT, parse=_lower),
    Field('ensuring', shapes.FLAG, parse=shapes.flag, since='2.93'),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Bare(Body):
    """A body that is the entity itself, without a key."""

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the whole document at a version, as clients may send it."""
        return self.shown(self.entity(version))

    def parse(self, version: int, document: Any, ignored: list[str] | None = None) -> Any:
        """Return the entity with every field under its own name.

        :raises errors.Invalid: with the name of the field and the reason.
        """
        if not isinstance(document, dict):
            raise errors.Invalid('body: must be an object.')
        return self.parse_entity(version, document, [] if ignored is None else ignored, bare=True)


@dataclasses.dataclass(frozen=True, eq=False)
class Either(Bare):
    """A body that is the entity itself, or has it under ``key``: clients send both."""

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the whole document at a version, as clients may send it."""
        wrapped = {
            'type': 'object',
            'properties': {self.key: self.entity(version)},
            'required': [self.key],
            'additionalProperties': False,
        }
        return self.shown({'oneOf': [self.entity(version), wrapped]})

    def parse(self, version: int, document: Any, ignored: list[str] | None = None) -> Any:
        """Return the entity with every field under its own name.

        :raises errors.Invalid: with the name of the field and the reason.
        """
        wrapped = isinstance(document, dict) and set(document) == {self.key}
        return super().parse(version, document[self.key] if wrapped else document, ignored)


@dataclasses.dataclass(frozen=True, eq=False)
class Flat:
    """An answer that is the row itself, without a key."""

    view: View

    def render(self, row: Any, req: Any) -> dict[str, Any]:
        """Return the document."""
        return self.view.render(row, req)

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the document."""
        return self.view.schema(version)


_WHICH = (Field('host', shapes.TEXT, required=True), Field('binary', shapes.TEXT, required=True))
#: All but the host are an addition to Manila's API.
_WHERE = (
    Field('host', shapes.TEXT, required=True),
    Field('share_id', shapes.ID),
    Field('share_server_id', shapes.ID),
    Field('dry_run', BOOLEAN),
)
_PLACE = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_OFF = (
    Field('host', shapes.TEXT, required=True),
    Field('dry_run', BOOLEAN),
    Field('at_once', {'type': 'integer', 'minimum': 1, 'maximum': MOST_AT_ONCE}),
    Field('destinations', {'type': 'array', 'items': _PLACE, 'maxItems': 1000}),
    Field('any_zone', BOOLEAN),
    Field('writable', BOOLEAN),
    Field('nondisruptive', BOOLEAN),
    Field('by_host', BOOLEAN),
)
_REASON = Field('disabled_reason', {'type': ['string', 'null'], 'maxLength': 255}, since='2.83')

OPS = [
    Call('GET', '/services', v2.index, rules.INDEX, Many(SERVICE), old_path='/os-services', query=FILTERS),
    Call(
        'PUT',
        '/services/enable',
        v2.enable,
        rules.UPDATE,
        Flat(SET),
        old_path='/os-services/enable',
        body=Bare('service', _WHICH),
    ),
    Call(
        'PUT',
        '/services/disable',
        v2.disable,
        rules.UPDATE,
        Flat(SET),
        old_path='/os-services/disable',
        body=Bare('service', (*_WHICH, _REASON)),
    ),
    *(
        Call(
            'POST',
            path,
            handler,
            rules.ENSURE_SHARES,
            ok=202,
            since='2.86',
            body=Either('ensure_shares', _WHERE, strict=True),
            headers=(v2.OPERATION,),
        )
        for path, handler in (('/services/ensure', v2.ensure), ('/services/ensure-shares', v2.ensure_shares))
    ),
    # An addition to Manila's API, at every version.
    Call(
        'POST',
        '/services/evacuate',
        v2.evacuate,
        rules.EVACUATE,
        ok=202,
        body=Bare('evacuate', _OFF, strict=True),
        headers=(v2.OPERATION,),
    ),
    Call(
        'POST',
        '/services/stop-evacuation',
        v2.stop_evacuation,
        rules.EVACUATE,
        ok=202,
        body=Bare('stop_evacuation', (Field('host', shapes.TEXT, required=True),), strict=True),
    ),
]
