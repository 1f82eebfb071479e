# SPDX-License-Identifier: Apache-2.0
"""Share types and quotas that are refused, each with the code and the reason."""

from manila_lite.tests.functional import refused

_SPECS = {'driver_handles_share_servers': 'False'}
#: An extra spec, a value that it cannot have, and the words about it in the message.
_WRONG = (
    ('snapshot_support', 'perhaps', "extra_specs.snapshot_support: must be True or False, not 'perhaps'."),
    (
        'availability_zones',
        'here,,there',
        'extra_specs.availability_zones: must be names of zones separated by commas, not',
    ),
    (
        'provisioning:min_share_size',
        '0',
        'extra_specs.provisioning:min_share_size: must be a size in GiB, at least 1, not',
    ),
    (
        'provisioning:max_share_size',
        '2147483648',
        'extra_specs.provisioning:max_share_size: must be a size in GiB, at least 1',
    ),
    (
        'replication_type',
        'sometimes',
        "extra_specs.replication_type: must be one of writable, readable, dr, not 'sometimes'.",
    ),
    (
        'encryption_support',
        'pool',
        "extra_specs.encryption_support: must be one of share, share_server, not 'pool'.",
    ),
    (
        'provisioning:mount_point_prefix',
        'a/b',
        'extra_specs.provisioning:mount_point_prefix: must be letters, digits, _ and -',
    ),
    (
        'a key',
        'x',
        "extra_specs: the key 'a key' must be 1 to 255 letters, digits, _, ., : and -, and not . or ..",
    ),
    ('key', ' ', 'extra_specs.key: must be text of 1 to 255 characters.'),
    ('key', 'x' * 256, 'extra_specs.key: must be text of 1 to 255 characters.'),
)
_NO_QOS = "extra_specs.default_qos_type: there is no QoS type 'nonesuch'."


class Types(refused.Refusing):
    """Share types and QoS types that are not valid."""

    def test_invalid_extra_specs_are_refused(self):
        kind = self.type('plain')
        for key, value, words in _WRONG:
            self.no(
                400,
                'invalid_input',
                words,
                '/types',
                {'share_type': {'name': 'wrong', 'extra_specs': {**_SPECS, key: value}}},
                self.admin,
            )
            self.no(
                400,
                'invalid_input',
                words,
                f'/types/{kind}/extra_specs',
                {'extra_specs': {key: value}},
                self.admin,
            )

    def test_extra_spec_with_an_unknown_qos_type_is_refused_for_a_type_that_may_have_shares(self):
        kind = self.type('hurried')
        named = {'default_qos_type': 'nonesuch'}
        self.no(
            400,
            'qos_type_not_found',
            _NO_QOS,
            f'/types/{kind}/extra_specs',
            {'extra_specs': named},
            self.admin,
        )

    def test_minimum_size_above_the_maximum_size_is_refused(self):
        kind = self.type('upside down', **{'provisioning:min_share_size': '3'})
        words = (
            'extra_specs.provisioning:min_share_size: 3 GiB is more than provisioning:max_share_size, 2 GiB.'
        )
        self.no(
            400,
            'invalid_input',
            words,
            f'/types/{kind}/extra_specs',
            {'extra_specs': {'provisioning:max_share_size': '2'}},
            self.admin,
        )

    def test_invalid_qos_spec_keys_and_empty_updates_are_refused(self):
        words = "specs: the key 'a key' must be 1 to 255 letters, digits, _, ., : and -, and not . or .."
        self.no(
            400,
            'invalid_input',
            words,
            '/qos-types',
            {'qos_type': {'name': 'q', 'specs': {'a key': '1'}}},
            self.admin,
        )
        made = self.admin.ok('POST', '/qos-types', {'qos_type': {'name': 'q'}})['qos_type']['id']
        self.no(
            400,
            'invalid_input',
            'qos_type: give a description.',
            f'/qos-types/{made}',
            {'qos_type': {}},
            self.admin,
            'PUT',
        )

    def test_deleting_a_spec_of_an_unknown_qos_type_is_refused(self):
        self.no(
            404,
            'qos_type_not_found',
            f'QoS type {refused.NOWHERE} could not be found.',
            f'/qos-types/{refused.NOWHERE}/specs/fixed',
            caller=self.admin,
        )

    def test_empty_type_updates_and_removal_of_required_specs_are_refused(self):
        kind = self.type('unchanged')
        self.no(
            400,
            'invalid_input',
            'share_type: give a name, a description or share_type_access:is_public.',
            f'/types/{kind}',
            {'share_type': {}},
            self.admin,
            'PUT',
        )
        self.no(
            403,
            'forbidden',
            'extra_specs.driver_handles_share_servers: every share type has it; it cannot be deleted.',
            f'/types/{kind}/extra_specs/driver_handles_share_servers',
            caller=self.admin,
        )

    def test_a_public_type_has_no_list_of_projects(self):
        kind = self.type('for all')
        self.no(
            404,
            'share_type_access_not_found',
            f'Share type {kind} is public; it has no list of projects.',
            f'/types/{kind}/share_type_access',
            caller=self.admin,
            method='GET',
        )
        for action in ('addProjectAccess', 'removeProjectAccess'):
            self.no(
                409,
                'share_type_is_public',
                f'Share type {kind} is public: every project has access to it.',
                f'/types/{kind}/action',
                {action: {'project': 'p'}},
                self.admin,
            )

    def test_a_public_group_type_has_no_list_of_projects(self):
        kind = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': 'for all', 'share_types': [self.type('of groups')]}},
        )['share_group_type']['id']
        self.no(
            409,
            'share_group_type_is_public',
            f'Share group type {kind} is public: every project has access to it.',
            f'/share-group-types/{kind}/action',
            {'addProjectAccess': {'project': 'p'}},
            self.admin,
        )

    def test_invalid_pool_filters_are_refused(self):
        for query, code, words in (
            ('host=(', 'invalid_input', "host: '(' is not a regular expression"),
            ('pool=(?=a)', 'invalid_input', "pool: '(?=a)' is not a regular expression"),
            ('share_type=nonesuch', 'share_type_not_found', 'share_type: Share type nonesuch could not'),
        ):
            self.no(400, code, words, f'/scheduler-stats/pools?{query}', caller=self.admin, method='GET')


class Quotas(refused.Refusing):
    """Limits that are not set."""

    def set_no(self, words, path='/quota-sets/p', **limits):
        """Check that the limits are refused."""
        self.no(400, 'invalid_input', words, path, {'quota_set': limits}, self.admin, 'PUT')

    def test_49_18_quotas_without_a_limit_are_refused(self):
        for none in {}, {'force': True}, {'shares': None, 'tenant_id': 'p'}:
            for path in ('/quota-sets/p', '/quota-sets/p?user_id=u', '/quota-sets/p?share_type=default'):
                self.set_no(
                    'quota_set: has no limit to set; give at least one, such as shares.', path, **none
                )
        for none in {}, {'shares': None}:
            self.no(
                400,
                'invalid_input',
                'quota_class_set: has no limit to set',
                '/quota-class-sets/default',
                {'quota_class_set': none},
                self.admin,
                'PUT',
            )

    def test_names_over_255_characters_are_refused(self):
        name = 'x' * 256
        self.set_no('project_id: is longer than 255 characters.', f'/quota-sets/{name}', shares=1)
        self.no(
            400,
            'invalid_input',
            'class_name: is longer than 255 characters.',
            f'/quota-class-sets/{name}',
            {'quota_class_set': {'shares': 1}},
            self.admin,
            'PUT',
        )

    def test_user_or_type_limits_above_the_project_limit_are_refused(self):
        self.set_no(
            "shares: the limit must be from 0 to the project's, 50, or be set with force.",
            '/quota-sets/p?user_id=u',
            shares=51,
        )
        self.set_no(
            "shares: the limit must be from 0 to the project's, 50, or be set with force.",
            '/quota-sets/p?share_type=default',
            shares=-1,
        )

    def test_share_network_limit_for_a_share_type_is_refused(self):
        self.set_no(
            'share_networks: is a quota of projects and users, not of share types.',
            '/quota-sets/p?share_type=default',
            share_networks=1,
        )

    def test_limit_below_usage_without_force_is_refused(self):
        self.share(size=2)
        self.set_no(
            'gigabytes: 2 are in use; the limit must be at least that, or be set with force.', gigabytes=1
        )

    def test_limits_for_user_and_share_type_together_are_refused(self):
        self.set_no(
            'share_type: cannot be given together with user_id.',
            '/quota-sets/p?user_id=u&share_type=default',
            shares=1,
        )
