# SPDX-License-Identifier: Apache-2.0
"""The empty text in fields that may be null: clients send it for "none", such as ``--availability-zone ""``."""

import collections

from manila_lite import errors
from manila_lite.api import versions
from manila_lite.api.framework import bodies
from manila_lite.api.v2 import CALLS
from manila_lite.tests.functional import base

#: Fields of free text: an empty one is shown as it was sent.
_TEXTS = {
    'name',
    'description',
    'lock_reason',
    'disabled_reason',
    'dns_ip',
    'server',
    'domain',
    'user',
    'password',
    'ou',
    'default_ad_site',
}
#: Fields that clients send back as they were shown, and that are ignored.
_IGNORED = {'class_name', 'id', 'tenant_id'}


def nullable():
    """Return the fields of all bodies that may be null or text, each with its body and a version."""
    for op in CALLS:
        for field in op.body.fields if op.body else ():
            version = versions.minor(
                min(filter(None, (field.until, op.until)), key=versions.minor, default=None)
                or versions.show(versions.MAX)
            )
            if (
                {'null', 'string'} <= set(field.schema.get('type', ()))
                and field.lives(version)
                and op.lives(version)
            ):
                yield op, field, version


class Rows(base.ServiceTest):
    PARTS = ()

    def meaning(self, op, field, name, version):
        """Return the meaning of the empty text in a body that is valid otherwise."""
        entity = bodies.Body(op.body.key, (field,))
        try:
            read = entity.parse(version, {op.body.key: {name: ''}})
        except errors.Invalid:
            return 'refused'
        return {None: 'null', '': 'text'}[read[field.name]]

    def test_49_3_each_field_that_may_be_null_says_what_the_empty_text_means(self):
        found = collections.Counter()
        for op, field, version in nullable():
            for name in (field.name, *field.aliases):
                said = self.meaning(op, field, name, version)
                found[said] += 1
                wanted = (
                    'text'
                    if field.name in _TEXTS | _IGNORED
                    else 'null'
                    if field.empty_is_null
                    else 'refused'
                )
                if (op.name, field.name) == (
                    'share_types.update',
                    'name',
                ):  # a type has a name that is not blank
                    wanted = 'refused'
                self.assertEqual(wanted, said, (op.name, name))
        self.assertEqual({'null', 'text', 'refused'}, set(found))
        self.assertGreater(found['null'], 25)

    def test_49_3_null_is_the_same_as_no_value_at_all(self):
        for op, field, version in nullable():
            if not field.required:
                self.assertEqual(
                    {field.name: None},
                    bodies.Body(op.body.key, (field,)).parse(version, {op.body.key: {field.name: None}}),
                    (op.name, field.name),
                )


class Zones(base.ServiceTest):
    """Requests of a member with an empty availability zone, and with all that is empty at once."""

    BACKENDS = {
        name: f'dummy_replication_domain = far\nbackend_availability_zone = zone-{name}\n' for name in 'ab'
    }
    EXTRA = 'default_share_group_type = plain\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.member = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'dr',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'replication_type': 'dr'},
                }
            },
        )
        cls.admin.ok(
            'POST', '/share-group-types', {'share_group_type': {'name': 'plain', 'share_types': ['default']}}
        )

    def test_49_3_a_share_with_empty_fields_becomes_available(self):
        empty = {
            field.name: ''
            for op, field, version in nullable()
            if field.empty_is_null and op.name == 'shares.create'
        }
        del empty['share_proto']  # each share has one
        self.assertLessEqual(
            {'availability_zone', 'share_type', 'snapshot_id', 'share_network_id', 'encryption_key_ref'},
            set(empty),
        )
        for name in empty:
            self.member.share(**{name: ''})
        share = self.member.share(**empty)
        self.assertEqual('available', share['status'])

    def test_49_3_a_replica_and_a_group_with_an_empty_zone_become_available(self):
        for path, key, body in (
            ('/share-replicas', 'share_replica', {'share_id': self.member.share(share_type='dr')['id']}),
            ('/share-groups', 'share_group', {'share_network_id': '', 'share_group_type_id': ''}),
        ):
            made = self.member.ok(
                'POST',
                path,
                {key: {**body, 'availability_zone': ''}},
                headers={versions.EXPERIMENTAL_HEADER: 'true'},
            )[key]
            self.member.wait(f'{path}/{made["id"]}', key, 'available')

    def test_49_3_a_subnet_with_an_empty_zone_is_for_all_zones(self):
        network = self.member.ok(
            'POST',
            '/share-networks',
            {'share_network': {'availability_zone': '', 'neutron_net_id': '', 'neutron_subnet_id': ''}},
        )['share_network']
        self.assertIsNone(network['share_network_subnets'][0]['availability_zone'])
