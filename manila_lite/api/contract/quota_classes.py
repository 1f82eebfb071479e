# SPDX-License-Identifier: Apache-2.0
"""The calls for quota classes."""

from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Body, Call, Field
from manila_lite.api.contract.fields import INTEGER
from manila_lite.api.contract.quota_sets import RESOURCES, Limits
from manila_lite.api.v2 import quota_classes as v2
from manila_lite.policies import quotas as rules

_BODY = Body(
    'quota_class_set',
    (*RESOURCES, Field('class_name', shapes.NULL_STRING), Field('id', shapes.NULL_STRING)),
    strict=True,
)
_SET = '/quota-class-sets/{class_name}'
_OLD = '/os-quota-class-sets/{class_name}'

OPS = [
    Call('GET', _SET, v2.show, rules.GET_CLASS, Limits(INTEGER, 'quota_class_set'), old_path=_OLD),
    Call(
        'PUT',
        _SET,
        v2.update,
        rules.UPDATE_CLASS,
        Limits(INTEGER, 'quota_class_set', named=False),
        body=_BODY,
        old_path=_OLD,
    ),
]
