# SPDX-License-Identifier: Apache-2.0
"""What the API keeps from one request to the next shows no caller what another may see. All caches: ``contract/caches.tsv``."""

import gc
import json
import re

from manila_lite.api import versions
from manila_lite.api.framework import fields
from manila_lite.tests.functional import base, walking

#: Times and ages, which differ from one answer to the next.
_TIME = re.compile(r'\d{4}-\d\d-\d\dT[\d:.+Z]+|"age": \d+')

#: Queries that lists cannot do without, and that show more to administrators.
_QUERIES = {
    '/share-access-rules': 'share_id={share_id}',
    '/operations': 'all_projects=1',
    '/shares/detail': 'all_tenants=1',
}


class Callers(walking.WalkTest):
    """Each reading call, by callers who see different parts of the answer: alone, and after all the others."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.callers = {
            'administrator': cls.admin,
            'owner': cls.owner,
            'other user': base.Api(cls.service.app, 'carol', 'first', 'member,reader'),
            'service': base.Api(cls.service.app, 'nova', 'service', 'service'),
            'stranger': cls.stranger,
        }
        cls.views = [one for one in gc.get_objects() if isinstance(one, fields.View)]

    def forget(self):
        """Empty the caches of what callers may see."""
        for view in self.views:
            view.__dict__.pop('_cache', None)
        self.service.services.enforcer._decisions = {}

    def answer(self, name, op):
        caller = self.callers[name]
        if op.path in _QUERIES:
            status, document = self.listed(caller, op, _QUERIES[op.path].format_map(self.world))
        else:
            status, document = self.call(caller, op, versions.MAX, self.world)
        return status, _TIME.sub('TIME', json.dumps(document))

    def test_answers_are_the_same_alone_and_after_those_to_others(self):
        shown = set()
        for op in self.ops():
            if op.method != 'GET':
                continue
            alone = {}
            for name in self.callers:
                self.forget()
                alone[name] = self.answer(name, op)
            shown |= (
                {op.name} if len({text for status, text in alone.values() if status == 200}) > 1 else set()
            )
            for order in (list(self.callers), list(self.callers)[::-1]):
                self.forget()
                for name in order:
                    self.assertEqual(alone[name], self.answer(name, op), (op.name, name, order))
        self.assertLess({'shares.show', 'shares.detail', 'access.index', 'operations.show'}, shown)
