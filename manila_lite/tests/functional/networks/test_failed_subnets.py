# SPDX-License-Identifier: Apache-2.0
"""A subnet that share servers could not be put into: they serve on as before, and its owner deletes it or tries again."""

from manila_lite import doctor
from manila_lite.db import models
from manila_lite.db.queries import allocations, share_server_queries
from manila_lite.tests.functional import base, manage, served

_ADD = 'update_share_server_network_allocations'


class FailedSubnets(served.ServedTest, manage.ManageTest):
    """The owner is a plain member. Each share has a share server of its own."""

    def setUp(self):
        super().setUp()
        self.owner = self.caller(self.user.token.split(':')[1], roles='member')
        self.net = self.network()
        self.shares = [self.share(self.net)['id']]
        self.rules = [self.grant(self.shares[0])]

    def fault(self, *texts):
        """Give the backend these faults until the test ends, each of them unused."""
        self.service.managers['alpha'].driver.knobs.turn(*texts)
        self.addCleanup(self.service.knob, 'alpha', '')

    def grant(self, share):
        rule = self.owner.ok(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.10.0.99', 'access_level': 'rw'}},
        )['access']['id']
        self.owner.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        return rule

    def second(self):
        """Add a share, which has another server."""
        self.shares.append(self.share(self.net)['id'])
        self.rules.append(self.grant(self.shares[1]))

    def add_subnet(self, **more):
        """Add the subnet as the owner; return it as soon as the network is active again."""
        subnet = self.owner.ok(
            'POST',
            f'/share-networks/{self.net}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6', **more}},
        )['share_network_subnet']
        self.settled(self.net)
        return self.owner.ok('GET', f'/share-networks/{self.net}/subnets/{subnet["id"]}')[
            'share_network_subnet'
        ]

    def delete(self, subnet):
        self.owner.ok('DELETE', f'/share-networks/{self.net}/subnets/{subnet["id"]}')
        self.assertEqual(
            1, len(self.owner.ok('GET', f'/share-networks/{self.net}/subnets')['share_network_subnets'])
        )

    def has(self, *subnets):
        """Check how many subnets each server has: by its row, its addresses, its backend and its exports; all are well."""
        servers = {server.id: server for server in self.servers(self.net)}
        self.assertEqual({'active'}, {server.status for server in servers.values()})
        found = []
        with self.service.services.db.reader() as conn:
            for server_id in servers:
                mapped = len(share_server_queries.subnets_of(conn, (server_id,))[server_id])
                self.assertEqual(
                    [mapped] * 2,
                    [len(allocations.of_server(conn, server_id)), len(self.record(server_id).addresses)],
                )
                found.append(mapped)
        self.assertEqual(sorted(subnets), sorted(found))
        exports = [
            len(self.owner.ok('GET', f'/shares/{share}/export_locations')['export_locations'])
            for share in self.shares
        ]
        self.assertEqual(sorted(subnets), sorted(exports))
        for share, rule in zip(self.shares, self.rules, strict=True):
            self.assertEqual('active', self.owner.ok('GET', f'/share-access-rules/{rule}')['access']['state'])
            shown = self.owner.ok('GET', f'/shares/{share}')['share']
            self.assertEqual(('available', 'active'), (shown['status'], shown['access_rules_status']))

    def found(self):
        project = self.user.token.split(':')[1]
        return {
            one.id: one
            for one in doctor.list_findings(self.service.services)
            if (one.what, one.project_id) == ('share network subnet', project)
        }

    # One server -----------------------------------------------------------------------------------

    def test_server_is_active_with_what_it_had(self):
        for fault in ('fail_final', 'fail_final_after'):  # the backend did nothing, or all of it
            self.fault(f'{_ADD}:{fault}@once')
            subnet = self.add_subnet()
            self.assertIn('cannot be done', subnet['error'])
            self.has(1)
            [inner] = [
                one for one in self.shown(self.net)['share_network_subnets'] if one['id'] == subnet['id']
            ]
            self.assertEqual(subnet['error'], inner['error'])
            [message, *_] = self.messages(self.net)
            self.assertIn('Add the subnet again', message['user_message'])
            finding = self.found()[subnet['id']]
            self.assertEqual((False, None), (finding.wrong, finding.mend))
            self.delete(subnet)
        self.assertNotIn('error', self.add_subnet())
        self.has(2)

    def test_failed_subnet_is_tried_again_by_the_same_request(self):
        self.fault(f'{_ADD}:fail_final_after@once')
        subnet = self.add_subnet()
        again = self.add_subnet(metadata={'key': 'new'})
        self.assertEqual(
            (subnet['id'], False, {'key': 'new'}), (again['id'], 'error' in again, again['metadata'])
        )
        self.has(2)
        self.assertEqual({}, self.found())
        self.assertEqual(
            409,
            self.owner.call(
                'POST',
                f'/share-networks/{self.net}/subnets',
                {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
            )[0],
        )

    def test_failure_without_an_answer_is_undone_as_well(self):
        self.service.conf.set_override('max_attempts', 1, 'operations')
        self.addCleanup(self.service.conf.clear_override, 'max_attempts', 'operations')
        self.fault(f'{_ADD}:fail_after')
        subnet = self.add_subnet()
        self.assertEqual('The subnet could not be added to a share server.', subnet['error'])
        self.has(1)

    def test_new_shares_do_without_a_subnet_in_error(self):
        self.fault(f'{_ADD}:fail_final@once')
        self.add_subnet()
        self.second()
        self.has(1, 1)

    def test_server_that_cannot_be_restored_keeps_its_addresses(self):
        self.service.conf.set_override('max_attempts', 1, 'operations')
        self.addCleanup(self.service.conf.clear_override, 'max_attempts', 'operations')
        self.fault(f'{_ADD}:fail_final_after@once', 'ensure_servers:fail@once')
        subnet = self.add_subnet()
        [server] = self.servers(self.net)
        self.assertEqual('error', server.status)
        self.assertEqual(
            'error', self.owner.ok('GET', f'/shares/{self.shares[0]}')['share']['access_rules_status']
        )
        with self.service.services.db.reader() as conn:
            self.assertEqual(2, len(allocations.of_server(conn, server.id)))
        self.assertEqual(
            409, self.owner.call('DELETE', f'/share-networks/{self.net}/subnets/{subnet["id"]}')[0]
        )
        self.admin.ok('POST', f'/share-servers/{server.id}/action', {'reset_status': {'status': 'active'}})
        self.admin.ok('POST', '/services/ensure', {'host': 'test@alpha'})
        self.owner.wait(f'/shares/{self.shares[0]}', 'share', 'active', field='access_rules_status')
        self.has(2)
        again = self.add_subnet()
        self.assertEqual((subnet['id'], False), (again['id'], 'error' in again))

    # Two servers ----------------------------------------------------------------------------------

    def partly(self):
        """Have one of two servers get the subnet; return it."""
        self.second()
        self.fault(f'{_ADD}:fail_final@once')
        subnet = self.add_subnet()
        self.assertIn('cannot be done', subnet['error'])
        self.has(1, 2)
        self.assertEqual(
            409, self.owner.call('DELETE', f'/share-networks/{self.net}/subnets/{subnet["id"]}')[0]
        )
        return subnet

    def is_whole(self, subnet):
        """Wait until both servers have the subnet."""
        base.eventually(lambda: not self.found(), 'a server lacks the subnet still')
        self.settled(self.net)
        self.has(2, 2)
        self.assertNotIn(
            'error',
            self.owner.ok('GET', f'/share-networks/{self.net}/subnets/{subnet["id"]}')[
                'share_network_subnet'
            ],
        )

    def test_subnet_of_some_servers_is_completed_by_the_same_request(self):
        subnet = self.partly()
        calls = len(self.calls(_ADD))
        self.assertEqual(subnet['id'], self.add_subnet()['id'])
        self.is_whole(subnet)
        self.assertEqual(calls + 1, len(self.calls(_ADD)), 'the server that had it was changed again')

    def test_subnet_of_some_servers_is_completed_by_the_doctor(self):
        subnet = self.partly()
        self.assertTrue(self.found()[subnet['id']].wrong)
        _, said = self.manage('doctor', '--fix')
        self.assertIn('share_server.add_subnet was begun', said)
        self.is_whole(subnet)

    def test_subnet_of_some_servers_is_completed_when_shares_are_ensured(self):
        subnet = self.partly()
        self.admin.ok('POST', '/services/ensure', {'host': 'test@alpha'})
        self.is_whole(subnet)

    def test_repair_that_fails_likewise_is_no_news(self):
        subnet = self.partly()
        messages = len(self.messages(self.net))
        self.write(models.share_network_subnets, subnet['id'], error='failed')
        self.fault(f'{_ADD}:fail_final')
        for _ in range(2):
            before = len(self.calls(_ADD))
            # Its exit status says whether the new try had failed by the time of the second look.
            manage.run(self.service.state / 'manila_lite.conf', 'manage', 'doctor', '--fix')
            base.eventually(lambda before=before: len(self.calls(_ADD)) > before, 'it is not tried')
            self.settled(self.net)
        self.has(1, 2)
        self.assertEqual(messages + 1, len(self.messages(self.net)))

    def test_gap_left_by_the_release_before_is_completed(self):
        """Check that a server which lost its subnet and a subnet without an error are found as well."""
        subnet = self.partly()
        self.write(models.share_network_subnets, subnet['id'], error=None)
        self.assertTrue(self.found()[subnet['id']].wrong)
        self.manage('doctor', '--fix')
        self.is_whole(subnet)
