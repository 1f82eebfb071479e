# SPDX-License-Identifier: Apache-2.0
"""The calls for operations: an addition to Manila's API, at every version."""

from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Call, Field, Many, One
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.shapes import BOOLEAN, COUNT, ID, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import operations as v2
from manila_lite.db.queries.operations import STATES
from manila_lite.policies import operations as rules

_TEXT = {'type': 'string'}
_PROGRESS = {
    'type': 'object',
    'required': list(v2.PROGRESS),
    'additionalProperties': False,
    'properties': {name: {'type': ['integer', 'null']} for name in v2.PROGRESS},
}
_REPORT = {
    'type': 'object',
    'additionalProperties': False,
    'properties': {name: {'type': 'object'} for parts in v2.REPORT.values() for name in parts},
}

OPERATION = View(
    'operation',
    'operations',
    (
        Field('id', ID),
        Field('kind', _TEXT),
        Field('resource_type', _TEXT),
        Field('resource_id', ID),
        Field('project_id', NULL_STRING),
        Field('user_id', NULL_STRING),
        Field('request_id', NULL_STRING),
        Field('state', {'type': 'string', 'enum': list(STATES)}),
        Field('running', BOOLEAN, read=v2.running),
        Field('undoing', BOOLEAN),
        Field('phase', _TEXT, read=v2.phase),
        Field('step', COUNT, read=v2.step),
        Field('steps', COUNT, read=v2.steps),
        Field('attempts', COUNT),
        Field('progress', _PROGRESS, read=v2.progress),
        Field('error', NULL_STRING, read=v2.error),
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
        Field('next_run_at', TIME),
        Field('finished_at', NULL_TIME),
        Field('host', _TEXT, rule=rules.SEE_INSIDE),
        Field('report', _REPORT, read=v2.report, rule=rules.SEE_INSIDE),
    ),
    'operations',
)

FILTERS = (
    *(
        Field(name, _TEXT)
        for name in ('id', 'kind', 'resource_type', 'resource_id', 'request_id', 'project_id', 'host')
    ),
    Field('state', _TEXT, parse=shapes.one_of(*STATES)),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    *PAGE,
)

OPS = [
    Call('GET', '/operations', v2.index, rules.INDEX, Many(OPERATION, paged=True), query=FILTERS),
    Call('GET', '/operations/{operation_id}', v2.show, rules.SHOW, One(OPERATION)),
]
