# SPDX-License-Identifier: Apache-2.0
"""Every kind of operation keeps the keys under which the release before stores its data."""

import dataclasses

import testtools

from manila_lite.manager.runtime import service as manager
from manila_lite.operation_data import OperationData, Untyped
from manila_lite.scheduler import service as scheduler
from manila_lite.tests.unit.operation_data import stored

PLANS = [*manager.PLANS, *scheduler.PLANS]


class Kinds(testtools.TestCase):
    def test_every_kind_with_a_class_has_its_keys_recorded(self):
        typed = {plan.kind for plan in PLANS if issubclass(plan.data, OperationData)}
        self.assertEqual(typed, set(stored.BY_KIND))

    def test_kind_is_of_the_same_class_in_both_queues(self):
        for plan in PLANS:
            self.assertEqual(
                {plan.data}, {other.data for other in PLANS if other.kind == plan.kind}, plan.kind
            )

    def test_data_of_each_kind_are_stored_under_the_keys_of_the_release_before(self):
        for plan in PLANS:
            if plan.data is not Untyped:
                content = {**stored.COMMON, **stored.BY_KIND[plan.kind]}
                data = plan.data.from_json(content)
                self.assertEqual(content, data.to_json(), plan.kind)
                self.assertEqual({'_trace'}, set(data.others), plan.kind)

    def test_every_field_of_each_kind_is_recorded(self):
        for plan in PLANS:
            if plan.data is not Untyped:
                fields = {one.metadata.get('key', one.name) for one in dataclasses.fields(plan.data)} - {
                    'others'
                }
                self.assertEqual(set(), fields - {*stored.BY_KIND[plan.kind], *stored.COMMON}, plan.kind)
