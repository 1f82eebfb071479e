# SPDX-License-Identifier: Apache-2.0
"""Hidden means hidden: no filter, sort key or marker tells about a field that the caller does not see.

The calls are read from the contract. What is new in it is tried as well, and a filter that looks at no field needs a line here.
"""

import json
from urllib.parse import urlencode

import sqlalchemy as sa

from manila_lite import values
from manila_lite.api import versions
from manila_lite.api.framework import fields
from manila_lite.api.framework.call import PAGE
from manila_lite.api.framework.fields import Many
from manila_lite.api.v2 import CALLS
from manila_lite.db import models
from manila_lite.db.queries import export_locations
from manila_lite.siblings.compute import contract as compute_contract
from manila_lite.siblings.dataproc import contract as dataproc_contract
from manila_lite.tests.functional import base, walking

#: Query parameters of lists for members that look at no field, or not at one of that name: what they look at.
NO_FIELDS = {
    'all_tenants': 'the rule about all projects',
    'project_id': 'the same',
    'with_count': 'nothing',
    'is_public': 'types: who may use one, as its row says',
    'usage': 'snapshots: whether shares were made of them',
    'min_percent': 'percent_full',
    'created_since': 'created_at',
    'created_before': 'created_at',
    'share_type_id': 'share_type',
    'export_location_id': 'export locations that users see',
    'export_location_path': 'the same',
    'extra_specs': 'extra specs that users see',
    'security_service_id': 'share_networks of a security service',
    'share_network_id': 'the same',
    'share_id': 'the share whose rules are listed',
}
#: Sort keys that tell about a field of another name; the project is the caller's own.
TELLING = {
    'project_id',
    'updated_at',
    'progress',
    'access_rules_status',
    'share_type_id',
    'share_type_name',
    'availability_zone_id',
    'display_name',
    'display_description',
}
#: Values for filters that take no text.
VALUES = {
    'metadata': '{"a": "b"}',
    'extra_specs': '{"snapshot_support": "True"}',
    'group_specs': '{"a": "b"}',
    'capabilities': '{"a": "b"}',
    'is_public': 'true',
    'is_soft_deleted': 'false',
    'usage': 'used',
    'all_tenants': '1',
    'with_count': '1',
    'created_since': '2020-01-01',
    'created_before': '2999-01-01',
    'encryption_key_ref': walking.UNKNOWN,
    'state': 'done',
    'wait': '0',
}


class HiddenFields(base.ServiceTest):
    """A member and a reader of one project, and its resources."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = base.Api(cls.service.app, 'root', 'admins')
        cls.member = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.share = cls.member.share()
        cls.network = cls.member.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        with cls.service.services.db.writer() as conn:
            conn.execute(
                models.share_network_subnets.update().values(network_type='vlan', segmentation_id=1234)
            )

    def lists(self):
        """Yield the lists that members may ask for."""
        ctx = self.service.context(roles=['member', 'reader'])
        for op in CALLS:
            if (
                op.method == 'GET'
                and isinstance(op.view, Many)
                and op.lives(versions.MAX)
                and '{' not in op.path
                and ctx.can(op.policy)
            ):
                yield op

    def shown(self, op):
        """Return the names of the fields of a list that a member sees, in one of its forms."""
        forms = [
            one
            for one in CALLS
            if isinstance(one.view, Many)
            and one.method == 'GET'
            and one.path.removesuffix('/detail') == op.path.removesuffix('/detail')
        ]
        own = [
            field
            for one in CALLS
            if one.view
            and isinstance(one.view, fields.One)
            and one.method == 'GET'
            and one.view.view.key == op.view.view.key
            for field in one.view.view.fields
        ]
        ctx = self.service.context(roles=['member', 'reader'])
        return {
            field.name
            for field in (*own, *(field for one in forms for field in one.view.view.fields))
            if field.rule is None or ctx.can(field.rule)
        }

    def ask(self, op, **query):
        """Return the status of a list, and what it says."""
        share = {'share_id': self.share['id']} if op.path == '/share-access-rules' else {}
        return self.member.call(
            'GET',
            f'{op.path}?{urlencode({**share, **query})}',
            headers={versions.EXPERIMENTAL_HEADER: 'true'},
        )[:2]

    def test_each_filter_looks_at_a_field_that_the_caller_sees_or_is_refused(self):
        tried = 0
        for op in self.lists():
            shown = self.shown(op)
            for field in fields.fields_at(op.query, versions.MAX):
                if field in PAGE:
                    continue
                number = field.schema.get('type') == 'integer'
                status, said = self.ask(
                    op, **{field.name: VALUES.get(field.name, 1234 if number else walking.UNKNOWN)}
                )
                tried += 1
                if (
                    field.name.removesuffix('~') not in shown
                    and field.name not in NO_FIELDS
                    and not (
                        op.path.startswith('/share-networks')
                        and field.name in ('neutron_net_id', 'neutron_subnet_id', 'cidr', 'ip_version')
                    )
                ):
                    self.assertEqual(403, status, (op.path, field.name, said))
                    self.assertIn(f'{field.name}: only administrators may filter by it.', json.dumps(said))
                else:
                    self.assertIn(status, (200, 400, 404), (op.path, field.name, said))
        self.assertLess(150, tried)

    def test_siblings_refuse_no_filter_of_their_lists_to_members(self):
        pages = {field.name for field in PAGE}
        for ops in (compute_contract.CALLS, dataproc_contract.CALLS):
            refused = {
                (op.path, field.name)
                for op in ops
                if isinstance(op.view, Many)
                for field in op.query
                if field.name not in pages and op.view.rule_of(field.name)
            }
            self.assertEqual(set(), refused)

    def test_each_sort_key_is_a_field_that_the_caller_sees_or_is_refused(self):
        """Try every name of a column of the database, and every name of a field."""
        names = {column.name for table in models.metadata.tables.values() for column in table.c}
        for op in self.lists():
            if 'sort_key' not in {field.name for field in op.query}:
                continue
            shown = self.shown(op)
            for name in sorted(
                names | shown | {field.name for field in (*op.view.view.fields, *op.view.beside)}
            ):
                status, said = self.ask(op, sort_key=name)
                if name not in shown | TELLING:
                    self.assertIn(status, (400, 403), (op.path, name, said))

    def test_network_type_and_segmentation_id_cannot_be_found_by_filters(self):
        for path in ('/share-networks', '/share-networks/detail'):
            for version in ('2.0', '2.50', '2.51', base.LATEST):
                for query in (
                    'segmentation_id=1234',
                    'segmentation_id=1',
                    'network_type=vlan',
                    'network_type=x',
                ):
                    status = self.member.call('GET', f'{path}?{query}', version=version)[0]
                    self.assertEqual(403, status, (version, query))
            found = self.admin.ok('GET', f'{path}?segmentation_id=1234&network_type=vlan&all_tenants=1')[
                'share_networks'
            ]
            self.assertEqual([self.network], [one['id'] for one in found])
        seen = self.member.ok('GET', f'/share-networks/{self.network}')['share_network'][
            'share_network_subnets'
        ][0]
        self.assertEqual([None, None], [seen['network_type'], seen['segmentation_id']])

    def test_extra_specs_that_users_do_not_see_cannot_be_found_by_filters(self):
        for path in ('/shares', '/shares/detail', '/types'):
            for specs in (
                {'share_backend_name': 'alpha'},
                {'share_backend_name': 'x'},
                {'a': 'b', 'snapshot_support': 'True'},
            ):
                status, said, _ = self.member.call(
                    'GET', f'{path}?{urlencode({"extra_specs": json.dumps(specs)})}'
                )
                self.assertEqual(403, status, (path, specs))
                self.assertIn('extra_specs: only administrators may filter by', said['forbidden']['message'])
                self.admin.ok('GET', f'{path}?{urlencode({"extra_specs": json.dumps(specs)})}')

    def test_export_locations_of_administrators_cannot_be_found_by_filters(self):
        with self.service.services.db.writer() as conn:
            instance = conn.execute(
                sa.select(models.share_instances.c.id).where(
                    models.share_instances.c.share_id == self.share['id']
                )
            ).scalar_one()
            export_locations.set_of_instances(
                conn,
                {
                    instance: [
                        values.ExportLocation('host:/seen'),
                        values.ExportLocation('host:/inside', is_admin_only=True),
                    ]
                },
            )
        for path in ('/shares', '/shares/detail'):
            self.assertEqual(
                [1, 0],
                [
                    len(self.member.ok('GET', f'{path}?export_location_path={export}')['shares'])
                    for export in ('host:/seen', 'host:/inside')
                ],
            )
            self.assertEqual(
                [1, 1],
                [
                    len(self.admin.ok('GET', f'{path}?all_tenants=1&export_location_path={export}')['shares'])
                    for export in ('host:/seen', 'host:/inside')
                ],
            )

    def test_marker_of_another_project_tells_nothing(self):
        other = base.Api(self.service.app, 'bob', 'second', 'member,reader').share()['id']
        for sort_key in ('created_at', 'name', 'size', 'id'):
            for marker in (other, walking.UNKNOWN):
                self.assertEqual(
                    [], self.member.ok('GET', f'/shares?marker={marker}&sort_key={sort_key}')['shares']
                )
