# SPDX-License-Identifier: Apache-2.0
"""Calls for share servers, and cases beside single good calls: unknown servers, odd networks, many calls at once."""

import dataclasses
import os

import testscenarios

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.tests.compliance import base, calls, migration_cases, server_cases


class EveryServerCall(calls.EveryCall):
    """Mixin for a ``base.Binding`` with ``servers.OnServers``."""

    scenarios = [(case.__name__, {'case_class': case}) for case in server_cases.SERVER_CASES]


class EveryMigrationCall(calls.EveryCall):
    """Mixin for a ``base.Binding`` with ``servers.OnServers`` and ``migrations.Migrates``."""

    scenarios = [(case.__name__, {'case_class': case}) for case in migration_cases.MIGRATION_CASES]


class MigrationEdgeCases:
    """Mixin for a ``base.Binding`` with ``servers.OnServers`` and ``migrations.Migrates``."""

    def test_questions_change_nothing(self):
        for question in migration_cases.MIGRATION_QUESTIONS:
            case = question(self)
            case.arrange()
            case.call()
            answer = case.call()
            case.verify_kept()
            case.verify(answer)


class BesideServer(testscenarios.WithScenarios):
    """The network of a share server changes while calls for its shares run."""

    scenarios = [
        (case.__name__, {'case_class': case})
        for case in server_cases.SERVER_CASES
        if case.METHOD in ('update_share_server_network_allocations', 'ensure_servers')
    ]

    def test_shares_come_and_go_beside_it(self):
        self.needs(self.case_class.ABILITY)
        self.case = self.case_class(self)
        self.case.arrange()
        shares = [self.a_share() for _ in range(3)]
        work = [base.Background(self.driver.create_share, share) for share in shares[:2]]
        change = base.Background(self.case.call)
        work.append(base.Background(self.driver.create_share, shares[2]))
        work.append(base.Background(self.driver.update_access, self.case.share, self.rules(self.GOOD)))
        answer = change.ended()
        for started in work:
            started.ended()
        for share in shares:
            self.driver.update_access(share, self.rules(self.GOOD))
            self.assertEqual(set(self.GOOD), self.in_force(share))
        self.case.verify_kept()
        self.case.verify(answer)


class ServerEdgeCases:
    """Mixin for a ``base.Binding`` with ``servers.OnServers``."""

    def test_tearing_down_what_is_not_there_is_a_success(self):
        share = self.made_share(rules=self.GOOD)
        self.assertIsNone(self.driver.teardown_server(self.a_server()))
        self.assertEqual(self.planned(self.server), self.addresses(self.server))
        self.assertEqual(set(self.GOOD), self.in_force(share))

    def test_server_with_shares_is_not_torn_down(self):
        share = self.made_share(rules=self.GOOD)
        self.assertRaises(errors.Final, self.driver.teardown_server, self.server)
        self.assertEqual(self.planned(self.server), self.addresses(self.server))
        self.assertEqual(set(self.GOOD), self.in_force(share))
        self.driver.delete_share(share)
        self.driver.teardown_server(self.server)
        self.assertEqual(set(), self.addresses(self.server))

    def test_share_of_a_server_that_lost_its_power_can_be_deleted(self):
        share = self.made_share(rules=self.GOOD)
        self.lose_power_only()
        self.driver.delete_share(share)
        self.driver.teardown_server(self.server)
        self.assertEqual(set(), self.addresses(self.server))
        self.driver.setup_server(self.server)
        self.assertTrue(self.ensured(share).error)

    def test_share_without_a_server_or_on_an_unknown_one(self):
        for server in (None, self.a_server()):
            share = self.a_share(server=server)
            self.assertRaises(errors.Final, self.driver.create_share, share)
            self.assertTrue(self.ensured(share).error)
            self.assertIsNone(self.driver.delete_share(share))

    def test_share_is_not_served_before_its_server_is(self):
        share = self.made_share(rules=self.GOOD)
        self.lose_power_only()
        self.assertEqual(set(), self.addresses(self.server))
        self.assertTrue(self.ensured(share, self.GOOD).error)
        self.assertIsNone(self.driver.ensure_servers([self.server])[self.server.id].error)
        self.assertEqual(
            tuple(share.export_locations), tuple(self.ensured(share, self.GOOD).export_locations)
        )
        self.assertEqual(set(self.GOOD), self.in_force(share))
        self.assertEqual('first', self.read(share))

    def test_ensuring_servers_that_are_well_changes_nothing(self):
        share, other = self.made_share(rules=self.GOOD), self.made_server('four')
        for _ in range(2):
            results = self.driver.ensure_servers([self.server, other])
            self.assertEqual(
                dict.fromkeys((self.server.id, other.id), (None, ())),
                {server_id: (result.error, tuple(result.repaired)) for server_id, result in results.items()},
            )
            self.assertEqual(self.planned(other), self.addresses(other))
            self.assertEqual((set(self.GOOD), 'first'), (self.in_force(share), self.read(share)))

    def test_two_servers_know_nothing_of_each_other(self):
        other = self.made_server()
        mine, theirs = self.made_share(rules=self.GOOD), self.a_share(server=other)
        locations = self.driver.create_share(theirs)
        self.driver.update_access(theirs, self.rules(self.OTHER))
        self.assert_serves(self.server, mine.export_locations)
        self.assert_serves(other, locations)
        self.assertEqual([set(self.GOOD), set(self.OTHER)], [self.in_force(mine), self.in_force(theirs)])
        self.driver.delete_share(theirs)
        self.driver.teardown_server(other)
        self.assertEqual(set(self.GOOD), self.in_force(mine))
        self.assertEqual(self.planned(self.server), self.addresses(self.server))

    def test_servers_come_and_go_at_once(self):
        going = [self.made_server() for _ in range(2)]
        coming = [self.a_server() for _ in range(2)]
        work = [base.Background(self.driver.setup_server, server) for server in coming]
        work += [base.Background(self.driver.teardown_server, server) for server in going]
        for started in work:
            started.ended()
        self.assertEqual(
            [self.planned(server) for server in coming], [self.addresses(server) for server in coming]
        )
        self.assertEqual([set(), set()], [self.addresses(server) for server in going])

    def test_networks_that_make_no_sense(self):
        four = self.subnet('four')
        for networks in (
            (),
            (self.subnet('four', allocated=False),),
            (four, self.subnet('overlap')),
            *(
                (self._changed(four, **change),)
                for change in (
                    {'ip_address': '10.78.0.1'},
                    {'ip_address': 'ten'},
                    {'cidr': '10.77.1.0/99'},
                    {'gateway': 'fd00::1'},
                    {'gateway': 'gate'},
                    {'mtu': 1},
                    {'mac_address': 'mac'},
                )
            ),
        ):
            server = self.a_server(networks=networks)
            self.assertRaises(errors.Final, self.driver.setup_server, server)
            self.assertEqual(set(), self.addresses(server))
            self.driver.teardown_server(server)

    def _changed(self, network: values.ServerNetwork, **changes) -> values.ServerNetwork:
        return dataclasses.replace(
            network,
            allocations=tuple(
                dataclasses.replace(allocation, **changes) for allocation in network.allocations
            ),
        )

    def test_addresses_for_administrators(self):
        admin = dataclasses.replace(self.subnet('more').allocations[0], subnet_id=None)
        server = self.a_server('four', admin_allocations=(admin,))
        self.driver.setup_server(server)
        self.assertEqual(self.planned(server), self.addresses(server))
        locations = self.driver.create_share(self.a_share(server=server))
        self.assert_serves(server, locations)
        self.assertEqual(
            [False] * (len(locations) - 1) + [True], [location.is_admin_only for location in locations]
        )

    def test_49_7_managed_server_has_its_addresses_for_administrators_last(self):
        self.needs(interface.ManagesServers)
        admin = dataclasses.replace(self.subnet('more').allocations[0], subnet_id=None)
        old = self.made_server(admin_allocations=(admin,))
        self.driver.unmanage_server(old)
        server = self.a_server(networks=old.networks[:1], admin_allocations=(admin,))
        found = list(
            self.driver.find_server(
                dataclasses.replace(server, networks=(), admin_allocations=()), old.id, {}
            )
        )
        self.assertEqual((self.planned(old), admin.ip_address), (set(found), found[-1]))
        self.driver.manage_server(server, old.id, {})
        self.assertEqual(self.planned(server), self.addresses(server))
        locations = self.driver.create_share(self.a_share(server=server))
        self.assertEqual([False, True], [location.is_admin_only for location in locations])

    def test_server_ids_that_are_no_file_names_reach_nothing(self):
        outside = sorted(os.listdir(self.root))
        for server_id in ('', '..', '../escape', '/escape', 'a/b', 'a\nb'):
            server = values.ShareServer(server_id, self.server.networks)
            self.assertRaises(errors.Final, self.driver.setup_server, server)
            self.assertRaises(errors.Final, self.driver.teardown_server, server)
        self.assertEqual(outside, sorted(os.listdir(self.root)))

    def test_network_of_a_server_that_is_not_there(self):
        self.needs(interface.AddsSubnets)
        server, new = self.a_server(), self.subnet('more')
        self.assertRaises(
            errors.Final, self.driver.check_update_share_server_network_allocations, server, new, [], []
        )
        self.assertRaises(
            errors.Final, self.driver.update_share_server_network_allocations, server, new, [], []
        )
        self.assertEqual(set(), self.addresses(server))

    def test_security_service_of_a_server_that_is_not_there(self):
        self.needs(interface.UpdatesSecurityServices)
        server, new = self.a_server(), self.service()
        self.assertRaises(
            errors.Final, self.driver.check_update_share_server_security_service, server, new, None, []
        )
        self.assertRaises(
            errors.Final, self.driver.update_share_server_security_service, server, new, None, []
        )
        self.assertEqual(set(), self.addresses(server))

    def test_questions_change_nothing(self):
        self.needs(interface.AddsSubnets)
        for question in server_cases.QUESTIONS:
            if not isinstance(self.driver, question.ABILITY):
                continue
            case = question(self)
            case.arrange()
            case.call()
            answer = case.call()
            case.verify_kept()
            case.verify(answer)

    def test_servers_are_adopted(self):
        share = self.made_share(rules=self.GOOD)
        self.restart()
        self.assertEqual(self.planned(self.server), self.addresses(self.server))
        self.assertEqual(set(self.GOOD), self.in_force(share))
        self.assertEqual(
            tuple(share.export_locations), tuple(self.ensured(share, self.GOOD).export_locations)
        )
