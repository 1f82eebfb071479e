# SPDX-License-Identifier: Apache-2.0
"""Every filter of the contract leaves rows that do not fit out of its list. The calls are read from the contract."""

from urllib.parse import urlencode

from manila_lite.api import versions
from manila_lite.api.contract import OPS, fields
from manila_lite.api.contract.fields import Many
from manila_lite.api.contract.op import PAGE
from manila_lite.tests.functional import base, refused, walking, world

#: Fields of a query that leave nothing out, that one without which there is no list, and that one by which there is more in it.
_NONE = {'all_tenants', 'with_count', *(field.name for field in PAGE), ('/share-access-rules', 'share_id'),
         *((path, 'is_public') for path in ('/shares', '/shares/detail'))}
_PAIRS = '{"no": "thing"}'
#: What is nowhere, or not everywhere, where any text or number will not do; by filter, or by path and filter.
_STRANGE = {'metadata': _PAIRS, 'extra_specs': _PAIRS, 'group_specs': _PAIRS, 'capabilities': _PAIRS, 'is_public': 'true',
            'is_soft_deleted': 'true', 'ensuring': 'true', 'usage': 'used', 'state': 'down', ('/operations', 'state'): 'parked',
            ('/services', 'status'): 'disabled', 'created_since': '2999-01-01', 'created_before': '1999-01-01',
            'encryption_key_ref': walking.UNKNOWN}


class Filtered(base.ServiceTest):
    """One of everything, of an administrator."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = refused.Api(cls.service.app)
        cls.world = world.make(cls.service, cls.admin, cls.admin)

    def whole(self, op):
        """Return the query by which the call lists as much as it can."""
        names = {field.name for field in op.query}
        return {name: value for name, value in {
            'all_tenants': '1', 'share_id': self.world['share_id'] if op.path == '/share-access-rules' else None,
            'is_public': 'None' if op.path.endswith('types') else None}.items() if name in names and value}

    def listed(self, op, query):
        """Return how many the call lists."""
        path = f'{op.path.format(**self.world)}?{urlencode(query)}'
        return len(self.admin.ok('GET', path)[op.view.view.plural])

    def strange(self, op, field):
        """Return a value that does not fit everything."""
        if field.name == 'share_type':      # one that there is, and that no pool can have
            return self.world['type_id']
        number = field.schema.get('type') == 'integer'
        return _STRANGE.get((op.path, field.name)) or _STRANGE.get(field.name) or (987654 if number else 'nobody')

    def test_each_filter_leaves_out_what_does_not_fit(self):
        tried = 0
        for op in OPS:
            if not (isinstance(op.view, Many) and op.lives(versions.MAX)):
                continue
            query = self.whole(op)
            for field in fields.living(op.query, versions.MAX):
                if _NONE.isdisjoint({field.name, (op.path, field.name)}):
                    tried += 1
                    found = self.listed(op, query | {field.name: self.strange(op, field)})
                    self.assertLess(found, self.listed(op, query), (op.path, field.name))
        self.assertLess(150, tried)
