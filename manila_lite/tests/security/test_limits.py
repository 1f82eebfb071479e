# SPDX-License-Identifier: Apache-2.0
"""Limits of parts per resource hold for many requests at once; a resource that has more keeps them."""

import concurrent.futures
import urllib.parse

from manila_lite import errors
from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.db import models
from manila_lite.db.core import key_values, limits
from manila_lite.tests.functional import base, world

AT_ONCE = 16
#: Calls that set metadata, except those with one key in the path.
SETTERS = [op for op in CALLS if op.method in ('POST', 'PUT') and op.path.endswith('/metadata')]
#: Calls whose body may hold metadata of the new resource.
MAKERS = [op for op in CALLS if op.body and any(field.name == 'metadata' for field in op.body.fields)]


class LimitsTest(base.ServiceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.owner = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.world = world.make(cls.service, cls.admin, cls.owner)

    def at_most(self, name, most):
        """Set the limit until the test ends."""
        self.service.conf.set_override(name, most, 'limits')
        self.addCleanup(self.service.conf.clear_override, name, 'limits')

    def at_once(self, call):
        """Return the answers to ``call(number)`` of many callers at the same moment: statuses and documents."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            return [answer[:2] for answer in pool.map(call, range(AT_ONCE))]

    def assert_refused(self, answer, name, most):
        status, document = answer[:2]
        self.assertEqual(413, status, document)
        fault = document['overLimit']
        self.assertEqual(f'over_limit_{name}', fault['reason'])
        self.assertIn(f'may have {errors.count(most, limits.COUNTED[name])}', fault['message'])
        self.assertRegex(fault['next'], 'ask the operator for a higher limit|raise the limit')

    def assert_some(self, answers, name, most, worked):
        """Check that so many succeeded, and that the others were refused with the reason."""
        refused = [answer for answer in answers if answer[0] >= 400]
        self.assertEqual(worked, len(answers) - len(refused), answers)
        for answer in refused:
            self.assert_refused(answer, name, most)


class Metadata(LimitsTest):
    """Every call of the contract that sets metadata."""

    def ask(self, op, body, **headers):
        version = versions.show(versions.MAX)
        return self.owner.call(
            op.method,
            op.path_at(versions.MAX).format_map(self.world),
            body,
            version=version,
            headers={versions.EXPERIMENTAL_HEADER: 'true', **headers},
        )

    def setting(self, op):
        """Return a function that sets pairs by the call."""
        return lambda values: self.ask(op, {op.body.key: values})

    def test_concurrent_requests_cannot_exceed_the_metadata_limit(self):
        """There are some pairs; a single one more fits."""
        self.assertLessEqual(
            {'/shares/{share_id}/metadata', '/snapshots/{snapshot_id}/metadata'}, {op.path for op in SETTERS}
        )
        for op in SETTERS:
            send, name = self.setting(op), f'{op.method}{SETTERS.index(op)}'
            had = len(self.pairs(op))
            most = had + 1 if self.merges(op) else 1
            self.at_most('metadata_items', most)
            answers = self.at_once(lambda number, send=send, name=name: send({f'{name}-{number}': 'v'}))
            self.assert_some(answers, 'metadata_items', most, 1 if self.merges(op) else AT_ONCE)
            self.assertEqual(most, len(self.pairs(op)), op.path)

    def merges(self, op):
        return op.method == 'POST' or '{access_id}' in op.path

    def pairs(self, op):
        """Return the pairs in the database."""
        kind = op.path.split('/')[-2].strip('{}')
        table = {
            'share_id': models.share_metadata,
            'snapshot_id': models.snapshot_metadata,
            'access_id': models.access_rule_metadata,
            'share_replica_id': models.share_instance_metadata,
            'export_location_id': models.export_location_metadata,
            'share_network_subnet_id': models.share_network_subnet_metadata,
        }[kind]
        with self.service.services.db.reader() as conn:
            return key_values.of(conn, table, self.world[kind])

    def test_existing_metadata_over_the_limit_can_be_changed(self):
        """Pairs above the limit can be read, changed and deleted; replacing them by fewer works, too."""
        for op in SETTERS:
            send, many = self.setting(op), {f'{SETTERS.index(op)}-{number}': 'v' for number in range(9)}
            self.at_most('metadata_items', -1)
            self.assertEqual(200, send(many)[0])
            self.at_most('metadata_items', 2)
            there = self.pairs(op)
            self.assertEqual(200, send(dict.fromkeys(there, 'w'))[0], op.path)
            self.assertEqual(dict.fromkeys(there, 'w'), self.pairs(op))
            self.assert_refused(send({**there, 'more': 'v'}), 'metadata_items', 2)
            self.assertEqual(dict.fromkeys(there, 'w'), self.pairs(op))
            path = op.path.format_map(self.world)
            self.owner.ok('DELETE', f'{path}/{next(iter(many))}')
            if not self.merges(op):
                self.assertEqual(200, send({'one': 'v'})[0])
                self.assertEqual({'one': 'v'}, self.pairs(op))

    def test_new_resources_with_too_many_pairs_are_refused(self):
        self.assertLessEqual(
            {
                'shares.create',
                'snapshots.create',
                'access.allow',
                'share_replicas.create',
                'share_network_subnets.create',
            },
            {op.name for op in MAKERS},
        )
        self.at_most('metadata_items', 3)
        for op in MAKERS:
            if op.lives(versions.MAX) and op.name != 'share_replicas.create':  # needs more than one backend
                body = world.body(op, versions.MAX, self.world)
                entity = body[op.body_at(versions.MAX).key]
                entity |= {'metadata': {f'k{number}': 'v' for number in range(4)}}
                if op.name == 'shares.create':
                    entity |= {'size': 1, 'share_proto': 'NFS'}
                self.assert_refused(self.ask(op, body), 'metadata_items', 3)

    def test_single_pair_over_the_limit_is_refused(self):
        """A pair by its key in the path."""
        self.at_most('metadata_items', 0)
        for op in CALLS:
            if op.method == 'POST' and op.path.endswith('/metadata/{key}'):
                path = op.path.format_map({**self.world, 'key': 'n'})
                self.assert_refused(self.owner.call('POST', path, {'meta': {'n': 'v'}}), 'metadata_items', 0)


class Others(LimitsTest):
    """Other parts that a resource may have several of."""

    MOST = 5

    def race(self, name, call, had=0):
        self.at_most(name, self.MOST)
        self.assert_some(self.at_once(call), name, self.MOST, self.MOST - had)

    def test_concurrent_access_rules_cannot_exceed_the_limit(self):
        share = self.owner.share()['id']
        self.race(
            'access_rules',
            lambda number: self.owner.action(
                share, 'allow_access', {'access_type': 'ip', 'access_to': f'10.0.0.{number}'}
            ),
        )
        rules = self.owner.ok('GET', f'/share-access-rules?share_id={share}')['access_list']
        self.assertEqual(self.MOST, len(rules))
        self.at_most('access_rules', 1)
        # There are more rules than the limit: they can be changed and denied all the same.
        self.owner.wait(f'/share-access-rules/{rules[0]["id"]}', 'access', 'active', field='state')
        self.owner.ok(
            'PUT', f'/share-access-rules/{rules[0]["id"]}', {'update_access': {'access_level': 'ro'}}
        )
        self.assertEqual(202, self.owner.action(share, 'deny_access', {'access_id': rules[1]['id']})[0])

    def test_concurrent_snapshot_access_rules_cannot_exceed_the_limit(self):
        share = self.owner.share()['id']
        snapshot = self.owner.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.owner.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.race(
            'access_rules',
            lambda number: self.owner.call(
                'POST',
                f'/snapshots/{snapshot}/action',
                {'allow_access': {'access_type': 'ip', 'access_to': f'10.0.0.{number}'}},
            ),
        )

    def test_concurrent_subnets_cannot_exceed_the_limit(self):
        file = self.service.state / 'networks.yaml'
        file.write_text(
            'networks:\n  - id: blue\n    subnets:\n'
            + ''.join(
                f'      - {{id: "{number}", cidr: 10.10.{number}.0/24}}\n' for number in range(AT_ONCE + 1)
            )
        )
        self.service.conf.set_override('file', str(file), 'standalone_network')
        self.addCleanup(self.service.conf.clear_override, 'file', 'standalone_network')
        ids = [{'neutron_net_id': 'blue', 'neutron_subnet_id': str(number)} for number in range(AT_ONCE + 1)]
        network = self.owner.ok('POST', '/share-networks', {'share_network': ids[AT_ONCE]})['share_network'][
            'id'
        ]
        self.race(
            'subnets',
            lambda number: self.owner.call(
                'POST', f'/share-networks/{network}/subnets', {'share-network-subnet': ids[number]}
            ),
            had=1,
        )
        subnets = self.owner.ok('GET', f'/share-networks/{network}/subnets')['share_network_subnets']
        self.at_most('subnets', 1)
        self.owner.ok('DELETE', f'/share-networks/{network}/subnets/{subnets[0]["id"]}')

    def test_concurrent_attached_security_services_cannot_exceed_the_limit(self):
        network = self.owner.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        kinds = ('ldap', 'kerberos', 'active_directory')
        services = [
            self.owner.ok('POST', '/security-services', {'security_service': {'type': kind}})[
                'security_service'
            ]['id']
            for kind in kinds
        ]
        self.at_most('attached_security_services', 1)
        answers = self.at_once(
            lambda number: self.owner.call(
                'POST',
                f'/share-networks/{network}/action',
                {'add_security_service': {'security_service_id': services[number % 3]}},
            )
        )
        self.assertEqual(1, [status for status, _ in answers].count(200), answers)
        self.assertEqual({200, 409, 413}, {status for status, _ in answers} | {409})
        self.assert_refused(
            self.owner.call(
                'POST',
                f'/share-networks/{network}/action',
                {'add_security_service': {'security_service_id': self.left(network, services)}},
            ),
            'attached_security_services',
            1,
        )

    def left(self, network, services):
        used = self.owner.ok('GET', f'/security-services?share_network_id={network}')['security_services']
        return next(service_id for service_id in services if service_id not in {row['id'] for row in used})

    def test_concurrent_security_services_of_a_project_cannot_exceed_the_limit(self):
        modest = self.caller('modest')
        self.race(
            'security_services',
            lambda number: modest.call(
                'POST', '/security-services', {'security_service': {'type': 'ldap', 'name': str(number)}}
            ),
        )
        self.assertEqual(
            200,
            self.caller('another').call('POST', '/security-services', {'security_service': {'type': 'ldap'}})[
                0
            ],
        )

    def test_concurrent_locks_cannot_exceed_the_limit(self):
        share = self.owner.share()['id']
        self.race(
            'resource_locks',
            lambda number: self.owner.call(
                'POST', '/resource-locks', {'resource_lock': {'resource_id': share, 'resource_type': 'share'}}
            ),
        )


class Questions(LimitsTest):
    """The length of queries, on every list of the contract."""

    LISTS = [op for op in CALLS if op.method == 'GET' and not world.parameters(op) and op.lives(versions.MAX)]

    def get(self, path, **query):
        return self.admin.call(
            'GET', f'{path}?{urllib.parse.urlencode(query)}', headers={versions.EXPERIMENTAL_HEADER: 'true'}
        )

    def test_filters_longer_than_the_limit_are_refused(self):
        """The longest filter, and one character more: in a known filter and in one that is ignored."""
        most = self.service.conf.limits.filter_length
        for op in self.LISTS:
            for name in (*(field.name for field in op.query if field.lives(versions.MAX)), 'ignored'):
                status, document, _ = self.get(op.path, **{name: 'x' * (most + 1 - len(name))})
                self.assertEqual(
                    (400, 'filter_too_long'), (status, document['badRequest']['reason']), (op.path, name)
                )
                self.assertTrue(
                    document['badRequest']['message'].startswith(f'{name}: is longer than {most} characters')
                )
                self.assertLess(
                    self.get(op.path, **{name: 'x' * (most - len(name))})[0], 500, (op.path, name)
                )

    def test_long_name_patterns_cause_no_server_error(self):
        """Filters that made SQLite fail, and that databases compare for long."""
        for text in (
            'x' * 50000,
            '%' * 50000,
            '%_' * 2000,
            '\\' * 4000,
            "'" * 4000,
            '\u2028' * 4000,
            '\U0001f600' * 4000,
        ):
            for path in ('/shares', '/shares/detail', '/share-networks', '/resource-locks', '/qos-types'):
                self.assertIn(self.get(path, **{'name~': text})[0], (200, 400), (path, text[:4]))
                self.assertIn(self.get(path, **{'description~': text})[0], (200, 400), (path, text[:4]))

    def test_query_longer_than_the_limit_is_refused(self):
        most = self.service.conf.limits.query_length
        for path in (
            '/v2/shares',
            '/v2/',
            '/v2/shares/none',
            '/openapi.json',
            '/identity/projects',
            '/identity/users/x',
            '/',
        ):
            for query in ('a&' * (most // 2 + 1), 'a=b&' * most, '%' * (most + 1)):
                answer = self.service.app.get(f'{path}?{query}', expect_errors=True)
                self.assertEqual(
                    (400, 'query_too_long'), (answer.status_int, answer.json['badRequest']['reason']), path
                )
        self.assertEqual(200, self.get('/shares', **{str(number): '' for number in range(2000)})[0])

    def test_pages_are_no_larger_than_the_limit(self):
        """A page is never larger than the operator's limit; a value that is no number is refused by name."""
        self.service.conf.set_override('osapi_max_limit', 2)
        self.addCleanup(self.service.conf.clear_override, 'osapi_max_limit')
        for op in self.LISTS:
            names = {field.name for field in op.query if field.lives(versions.MAX)}
            for name in sorted({'limit', 'offset'} & names):
                for bad in (
                    '-1',
                    '1.5',
                    'x',
                    '',
                    '9' * 5000,
                    '1e9',
                    '0x10',
                    '-' + '9' * 30,
                    'NaN',
                    '\x00',
                    '1\n2',
                ):
                    status, document, _ = self.get(op.path, **{name: bad})
                    self.assertEqual(400, status, (op.path, name, bad, document))
                    self.assertTrue(document['badRequest']['message'].startswith(f'{name}: '), document)
                for good in ('0', '1', '2147483647', *(('9' * 30,) if name == 'offset' else ())):
                    status, document, _ = self.get(op.path, **{name: good})
                    self.assertEqual(200, status, (op.path, name, good, document))
                    self.assertLessEqual(
                        len(next(rows for rows in document.values() if isinstance(rows, list))), 2
                    )
