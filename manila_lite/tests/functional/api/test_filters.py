# SPDX-License-Identifier: Apache-2.0
"""Every filter of the contract removes rows from its list that do not match. The calls are read from the contract."""

from urllib.parse import urlencode

from oslo_utils import timeutils

from manila_lite.api import versions
from manila_lite.api.framework import fields
from manila_lite.api.framework.call import PAGE
from manila_lite.api.framework.fields import Many
from manila_lite.api.v2 import CALLS
from manila_lite.db.queries import request_notes
from manila_lite.tests.functional import base, refused, walking, world

#: Query fields that are no filters: some remove nothing, some are required for the list, some add rows to it.
_NONE = {
    'all_tenants',
    'with_count',
    *(field.name for field in PAGE),
    ('/share-access-rules', 'share_id'),
    *((path, 'is_public') for path in ('/shares', '/shares/detail')),
}
_PAIRS = '{"no": "thing"}'
#: Values that match no row, or not all, for filters that do not take any text or number; by filter, or (path, filter).
_STRANGE = {
    'metadata': _PAIRS,
    'extra_specs': _PAIRS,
    'group_specs': _PAIRS,
    'capabilities': _PAIRS,
    'is_public': 'true',
    'is_soft_deleted': 'true',
    'ensuring': 'true',
    'usage': 'used',
    'state': 'down',
    ('/operations', 'state'): 'parked',
    ('/services', 'status'): 'disabled',
    'created_since': '2999-01-01',
    'created_before': '1999-01-01',
    'encryption_key_ref': walking.UNKNOWN,
    'wrong': 'false',
    'resolution': 'days',
    'slow': 'false',
    'failed': 'false',
}


class Filtered(base.ServiceTest):
    """One resource of each kind, owned by an administrator."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = refused.Api(cls.service.app)
        cls.world = world.make(cls.service, cls.admin, cls.admin)
        # Private types that no project may use: those of the project are listed among the public ones.
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'hidden',
                    'share_type_access:is_public': False,
                    'extra_specs': {'driver_handles_share_servers': 'False'},
                }
            },
        )
        cls.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': 'hidden', 'is_public': False, 'share_types': ['default']}},
        )
        with cls.service.services.db.writer() as conn:
            request_notes.add(
                conn,
                [
                    {
                        'created_at': timeutils.utcnow(),
                        'api_host': 'api1',
                        'seconds': 2.0,
                        'requests': 1,
                        'slow': 1,
                        'failed': 1,
                    }
                ],
            )
        cls.bare = cls.admin.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']

    def whole(self, op):
        """Return the query for which the call lists most."""
        names = {field.name for field in op.query}
        return {
            name: value
            for name, value in {
                'all_tenants': '1',
                'share_id': self.world['share_id'] if op.path == '/share-access-rules' else None,
                'is_public': 'None' if op.path.endswith('types') else None,
            }.items()
            if name in names and value
        }

    def listed(self, op, query):
        """Return the number of rows that the call lists."""
        path = f'{op.path.format(**self.world)}?{urlencode(query)}'
        return len(self.admin.ok('GET', path)[op.view.view.plural])

    def strange(self, op, field):
        """Return a value that does not match all rows."""
        if field.name == 'share_type':  # a type that exists, and that no pool has
            return self.world['type_id']
        if op.path.startswith('/security-services') and field.name == 'share_network_id':
            return self.bare  # a network that exists, without services
        number = field.schema.get('type') == 'integer'
        return (
            _STRANGE.get((op.path, field.name))
            or _STRANGE.get(field.name)
            or (987654 if number else 'nobody')
        )

    def test_every_filter_removes_rows_that_do_not_match(self):
        tried = 0
        for op in CALLS:
            if not (isinstance(op.view, Many) and op.lives(versions.MAX)):
                continue
            query = self.whole(op)
            for field in fields.fields_at(op.query, versions.MAX):
                if _NONE.isdisjoint({field.name, (op.path, field.name)}):
                    tried += 1
                    found = self.listed(op, query | {field.name: self.strange(op, field)})
                    self.assertLess(found, self.listed(op, query), (op.path, field.name))
        self.assertLess(150, tried)

    def test_all_tenants_false_lists_only_the_callers_project(self):
        elsewhere, tried = refused.Api(self.service.app, 'a', 'elsewhere', 'admin,member,reader'), 0
        for op in CALLS:
            if (
                isinstance(op.view, Many)
                and op.lives(versions.MAX)
                and 'all_tenants' in {field.name for field in op.query}
            ):
                tried += 1
                counts = [
                    len(elsewhere.ok('GET', f'{op.path}?{name}={value}')[op.view.view.plural])
                    for name in ('all_tenants', 'all_projects')
                    for value in ('0', 'false', '1')
                ]
                self.assertEqual([0, 0], counts[:2], op.path)
                self.assertLess(0, counts[2], op.path)
                self.assertEqual(counts[:3], counts[3:], op.path)
        self.assertLess(12, tried)

    def test_is_soft_deleted_false_lists_shares_outside_the_recycle_bin(self):
        def listed(value):
            return [
                len(self.admin.ok('GET', f'{path}?is_soft_deleted={value}')['shares'])
                for path in ('/shares', '/shares/detail')
            ]

        self.assertEqual([0, 0], listed('true'))
        self.assertLess(0, listed('false')[0])
        self.assertEqual(listed('false'), listed('0'))

    def test_with_count_false_returns_no_count(self):
        tried = 0
        for op in CALLS:
            if (
                isinstance(op.view, Many)
                and op.lives(versions.MAX)
                and 'with_count' in {field.name for field in op.query}
            ):
                tried += 1
                counted = [
                    'count' in self.admin.ok('GET', f'{op.path}?with_count={value}')
                    for value in ('0', 'false', 'True', '1')
                ]
                self.assertEqual([False, False, True, True], counted, op.path)
        self.assertLess(5, tried)
