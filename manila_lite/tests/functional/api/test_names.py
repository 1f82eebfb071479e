# SPDX-License-Identifier: Apache-2.0
"""Names and keys that differ only by case: different on every database, except in a search for a part of a name."""

from manila_lite.tests.functional import base


class Names(base.ServiceTest):
    def names(self, caller, query):
        return sorted(share['name'] for share in caller.ok('GET', f'/shares?{query}')['shares'])

    def test_share_names_match_by_case_and_their_parts_without(self):
        caller = self.caller('names')
        for name in ('first', 'First', 'second'):
            caller.share(name=name)
        self.assertEqual(['First'], self.names(caller, 'name=First'))
        self.assertEqual(['First', 'first'], self.names(caller, 'name~=FIR'))
        self.assertEqual([], self.names(caller, 'name~=f_r'))

    def test_parts_of_snapshot_names_match_without_case(self):
        caller = self.caller('snapshots')
        share = caller.share()
        caller.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id'], 'name': 'Nightly'}})
        for part, found in (('nIGHT', 1), ('n_ght', 0)):
            self.assertEqual(found, len(caller.ok('GET', f'/snapshots?name~={part}')['snapshots']), part)

    def test_metadata_keys_that_differ_by_case_are_separate(self):
        caller = self.caller('keys')
        wanted = {'key': '1', 'Key': '2', 'KEY': '3'}
        share = caller.share(metadata=wanted)
        self.assertEqual(wanted, caller.ok('GET', f'/shares/{share["id"]}/metadata')['metadata'])
        self.assertEqual([], caller.ok('GET', "/shares?metadata={'key':'2'}")['shares'])
        caller.ok('DELETE', f'/shares/{share["id"]}/metadata/Key')
        self.assertEqual(
            {'key': '1', 'KEY': '3'}, caller.ok('GET', f'/shares/{share["id"]}/metadata')['metadata']
        )

    def test_share_types_and_spec_keys_that_differ_by_case_are_separate(self):
        made = [
            self.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {'driver_handles_share_servers': 'False', 'a': '1', 'A': '2'},
                    }
                },
            )['share_type']
            for name in ('gold', 'Gold')
        ]
        self.assertNotEqual(made[0]['id'], made[1]['id'])
        self.assertEqual(('1', '2'), tuple(made[0]['extra_specs'][key] for key in 'aA'))

    def test_projects_that_differ_by_case_have_separate_quotas(self):
        self.admin.ok('PUT', '/quota-sets/team', {'quota_set': {'shares': 3}})
        self.admin.ok('PUT', '/quota-sets/Team', {'quota_set': {'shares': 4}})
        self.assertEqual(
            [3, 4],
            [
                self.admin.ok('GET', f'/quota-sets/{project}')['quota_set']['shares']
                for project in ('team', 'Team')
            ],
        )
