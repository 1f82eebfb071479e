# SPDX-License-Identifier: Apache-2.0
"""The calls that list and mend findings of the doctor: work that will not end by itself. They are not in Manila's API."""

from typing import Any

from oslo_log import log

from manila_lite import doctor, errors
from manila_lite.api.framework import shapes
from manila_lite.api.framework.bodies import Bare
from manila_lite.api.framework.call import PAGE, Call, Field, Many, Plain, View
from manila_lite.api.request import Request

LOG = log.getLogger(__name__)


def age(row: Any, req: Request) -> int | None:
    """Read the age in whole seconds."""
    return _whole(row.age)


def lease_left(row: Any, req: Request) -> int | None:
    """Read the seconds for which a worker still has the operation."""
    return _whole(row.lease_left)


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds)


def index(req: Request) -> list[doctor.Finding]:
    """List resources and operations in no terminal state, what is wrong first."""
    found = doctor.list_findings(req.ctx.services, req.query.get('older_than') or 0)
    wanted = req.query.get('wrong')
    shown = sorted((one for one in found if wanted in (None, one.wrong)), key=lambda one: not one.wrong)
    return shown[req.page.offset :][: req.page.limit]


def mend(req: Request) -> str:
    """Mend a finding, beside running work. Return a description of what was done."""
    what, which, state = (req.body[name] for name in ('what', 'id', 'state'))
    gone = errors.NotFound(
        f'{what} {which} with the state {state} is not among the findings.', code='finding_not_found'
    )
    found = [
        one
        for one in doctor.list_findings(req.ctx.services)
        if (one.what, one.id, one.state) == (what, which, state)
    ]
    if not found:
        raise gone
    one = next((one for one in found if one.mend), found[0])
    if one.mend is None:
        raise errors.Conflict(
            f'{what} {which} cannot be mended by this call: {one.why}.', code='finding_not_mendable'
        )
    said = doctor.mend(req.ctx.services, one)
    if said is None:
        raise gone
    LOG.info('%s: %s %s was mended for user %s: %s', which, what, state, req.ctx.user_id, said)
    return said


_SECONDS = {'type': ['integer', 'null']}

#: ``id`` is that of a resource, or a name such as a host or a table.
FINDING = View(
    'finding',
    'findings',
    (
        Field('what', shapes.STRING),
        Field('id', shapes.STRING),
        Field('state', shapes.STRING),
        Field('about', shapes.STRING),
        Field('project_id', shapes.NULL_STRING),
        Field('wrong', shapes.BOOLEAN),
        Field('why', shapes.STRING),
        Field('mendable', shapes.BOOLEAN, read=lambda row, req: row.mend is not None),
        Field('age', _SECONDS, read=age),
        Field('attempts', {'type': ['integer', 'null']}),
        Field('owner', shapes.NULL_STRING),
        Field('lease_left', _SECONDS, read=lease_left),
        Field('error', shapes.NULL_STRING),
    ),
)

FILTERS = (
    Field('wrong', shapes.FLAG, parse=shapes.flag),
    Field('older_than', {'type': 'integer', 'minimum': 0, 'maximum': shapes.MAX_INT}, parse=shapes.integer),
    *(field for field in PAGE if field.name in ('limit', 'offset')),
)
_WHICH = tuple(Field(name, shapes.TEXT, required=True) for name in ('what', 'id', 'state'))

CALLS = [
    Call('GET', '/findings', index, 'finding:index', Many(FINDING, paged=True), query=FILTERS, strict=True),
    Call(
        'POST',
        '/findings/mend',
        mend,
        'finding:mend',
        Plain(shapes.STRING, key='mended'),
        body=Bare('mend', _WHICH, strict=True),
    ),
]
