# SPDX-License-Identifier: Apache-2.0
"""Mistakes planted into the dummy driver: each violation of the contract is caught by the test that is for it."""

import dataclasses

import testscenarios
import testtools

from manila_lite import errors, values
from manila_lite.drivers.dummy.driver import DummyDriver
from manila_lite.tests.compliance import calls, cases, edge_cases, manage_shares, server_calls, server_cases
from manila_lite.tests.compliance.test_dummy import DummyBinding, DummyServersBinding


class RefusesWhatIsThere(DummyDriver):
    def create_share(self, share):
        if self.store.shares.get(share.id):
            raise errors.Exists
        return super().create_share(share)


class CountsDeletes(DummyDriver):
    def delete_share(self, share):
        self.store.share(share.id)
        super().delete_share(share)


class AddsRules(DummyDriver):
    def update_access(self, share, rules):
        old = self.store.share(share.id).rules
        results = super().update_access(share, rules)
        record = self.store.share(share.id)
        record.rules = {**old, **record.rules}
        self.store.shares.put(record)
        return results


class GivesUpAtABadRule(DummyDriver):
    def update_access(self, share, rules):
        results = super().update_access(share, rules)
        if any(result.error for result in results.values()):
            super().update_access(share, [])
        return results


class KeepsWhoMounts(DummyDriver):
    def serve_snapshot(self, snapshot, rules):
        old = self.store.snapshot(snapshot.id).rules
        served = super().serve_snapshot(snapshot, rules)
        record = self.store.snapshot(snapshot.id)
        record.rules = {**old, **record.rules}
        self.store.snapshots.put(record)
        return served


class ServesOnlyOnce(DummyDriver):
    def serve_snapshot(self, snapshot, rules):
        record = self.store.snapshot(snapshot.id)
        if not (record.exported or record.rules) and 'served' in record.content:
            return values.ServedSnapshot()
        served = super().serve_snapshot(snapshot, rules)
        record = self.store.snapshot(snapshot.id)
        record.content += ' served'
        self.store.snapshots.put(record)
        return served


class EnsuresByCreating(DummyDriver):
    def ensure_shares(self, targets):
        for target in targets:
            self.create_share(target.share)
        return super().ensure_shares(targets)


class EnsuresWithoutRules(DummyDriver):
    def ensure_shares(self, targets):
        super().ensure_shares([values.EnsureTarget(target.share) for target in targets])
        return {target.share.id: values.EnsureResult(target.share.export_locations) for target in targets}


class RepairsWhatIsWell(DummyDriver):
    def ensure_shares(self, targets):
        return {
            instance_id: dataclasses.replace(result, repaired=('It is well now.',))
            for instance_id, result in super().ensure_shares(targets).items()
        }


class ExtendsByTheDifference(DummyDriver):
    def extend_share(self, share, new_size):
        now = self.store.share(share.id).size
        super().extend_share(share, now + new_size - share.size)


class ShrinksAnyway(DummyDriver):
    def shrink_share(self, share, new_size):
        self.write(share.id, self.read(share.id), used=0)
        super().shrink_share(share, new_size)


class SnapshotsAnew(DummyDriver):
    def create_snapshot(self, snapshot):
        self.store.snapshots.drop(snapshot.id)
        return super().create_snapshot(snapshot)


class RevertsAndDropsRules(DummyDriver):
    def revert_to_snapshot(self, snapshot):
        super().revert_to_snapshot(snapshot)
        self.update_access(snapshot.share, [])


class RevertsOnce(DummyDriver):
    def revert_to_snapshot(self, snapshot):
        if self.store.snapshots.get(snapshot.id):
            super().revert_to_snapshot(snapshot)
            self.store.snapshots.drop(snapshot.id)


class ClonesThePresent(DummyDriver):
    def create_share_from_snapshot(self, share, snapshot):
        locations = super().create_share_from_snapshot(share, snapshot)
        self.write(share.id, self.read(snapshot.share.id))
        return locations


class OrdersAtWill(DummyDriver):
    def _locations(self, record):
        return super()._locations(record)[::-1]


class NamesNothing(DummyDriver):
    def create_share(self, share):
        return super().create_share(dataclasses.replace(share, mount_point_name=None))


class LeavesNothing(DummyDriver):
    def unmanage_share(self, share):
        self.delete_share(share)


class TakesOverOnce(DummyDriver):
    def manage_share(self, share, export_path, options):
        if self.store.held(share.id):
            raise errors.Final
        return super().manage_share(share, export_path, options)


class Boasts(DummyDriver):
    def report(self):
        return [
            dataclasses.replace(pool, capabilities={**pool.capabilities, 'revert_to_snapshot_support': False})
            for pool in super().report()
        ]


class LeavesTheServerRunning(DummyDriver):
    def teardown_server(self, server):
        self.store.server(server.id)
        super().teardown_server(server)


class TearsDownWithShares(DummyDriver):
    def teardown_server(self, server):
        self.store.servers.drop(server.id)


class AddsNoLocations(DummyDriver):
    def update_share_server_network_allocations(self, server, new, shares, snapshots):
        super().update_share_server_network_allocations(server, new, shares, snapshots)
        return values.ServerUpdate(export_locations={share.id: share.export_locations for share in shares})


class ReplacesTheNetwork(DummyDriver):
    def update_share_server_network_allocations(self, server, new, shares, snapshots):
        alone = dataclasses.replace(server, networks=(new,))
        super().update_share_server_network_allocations(alone, new, shares, snapshots)


class AgreesToEverything(DummyDriver):
    def check_update_share_server_network_allocations(self, server, new, targets, snapshots):
        pass


class KeepsWhatWasGivenUp(DummyDriver):
    def ensure_servers(self, servers):
        return super().ensure_servers(
            [server for server in servers if self.store.servers.get(server.id) is None]
        )


class KeepsTheOldService(DummyDriver):
    def update_share_server_security_service(self, server, new, current, targets):
        record = self.store.server(server.id)
        record.services['old'] = current.id if current else ''
        self.store.servers.put(record)
        return super().update_share_server_security_service(server, new, current, targets)


class TellsWhenAsked(DummyDriver):
    def check_update_share_server_security_service(self, server, new, current, targets):
        self.update_share_server_security_service(server, new, current, targets)


class PutsSharesAnywhere(DummyDriver):
    def _server_of(self, share):
        return share.server and share.server.id


#: Violations about share servers.
SERVER_PLANTS = (
    (LeavesTheServerRunning, server_cases.TeardownServer, 'test_repeated_call_keeps_its_promise'),
    (LeavesTheServerRunning, None, 'test_tearing_down_what_is_not_there_is_a_success'),
    (TearsDownWithShares, None, 'test_server_with_shares_is_not_torn_down'),
    (AddsNoLocations, server_cases.UpdateNetwork, 'test_call_keeps_its_promise'),
    (ReplacesTheNetwork, server_cases.UpdateNetwork, 'test_call_keeps_its_promise'),
    (AgreesToEverything, None, 'test_questions_change_nothing'),
    (KeepsWhatWasGivenUp, server_cases.EnsureServers, 'test_call_keeps_its_promise'),
    (KeepsWhatWasGivenUp, server_cases.Readdress, 'test_call_keeps_its_promise'),
    (KeepsTheOldService, server_cases.UpdateSecurityService, 'test_call_keeps_its_promise'),
    (TellsWhenAsked, None, 'test_questions_change_nothing'),
    (PutsSharesAnywhere, None, 'test_share_without_a_server_or_on_an_unknown_one'),
)
PLANTS = (
    (RefusesWhatIsThere, cases.CreateShare, 'test_repeated_call_keeps_its_promise'),
    (CountsDeletes, cases.DeleteShare, 'test_repeated_call_keeps_its_promise'),
    (AddsRules, cases.UpdateAccess, 'test_call_keeps_its_promise'),
    (GivesUpAtABadRule, cases.UpdateAccess, 'test_call_keeps_its_promise'),
    (KeepsWhoMounts, cases.ServeSnapshot, 'test_call_keeps_its_promise'),
    (ServesOnlyOnce, None, 'test_snapshot_is_served_again_after_a_loss'),
    (EnsuresByCreating, cases.EnsureShares, 'test_call_keeps_its_promise'),
    (EnsuresWithoutRules, cases.EnsureShares, 'test_call_keeps_its_promise'),
    (EnsuresByCreating, None, 'test_ensuring_reports_missing_shares_and_makes_none'),
    (RepairsWhatIsWell, None, 'test_ensuring_what_is_well_changes_nothing'),
    (ExtendsByTheDifference, cases.ExtendShare, 'test_repeated_call_keeps_its_promise'),
    (ShrinksAnyway, cases.ShrinkFullShare, 'test_call_keeps_its_promise'),
    (SnapshotsAnew, cases.CreateSnapshot, 'test_call_keeps_its_promise'),
    (RevertsAndDropsRules, cases.Revert, 'test_call_keeps_its_promise'),
    (RevertsOnce, cases.Revert, 'test_call_keeps_its_promise'),
    (ClonesThePresent, cases.Clone, 'test_call_keeps_its_promise'),
    (OrdersAtWill, cases.CreateShare, 'test_call_keeps_its_promise'),
    (LeavesNothing, manage_shares.UnmanageShare, 'test_call_keeps_its_promise'),
    (TakesOverOnce, manage_shares.ManageShare, 'test_repeated_call_keeps_its_promise'),
    (CountsDeletes, None, 'test_deleting_what_is_not_there_is_a_success'),
    (AddsRules, None, 'test_rules_are_exactly_those_given'),
    (GivesUpAtABadRule, None, 'test_each_bad_rule_harms_no_good_one'),
    (Boasts, None, 'test_report_is_honest'),
    (NamesNothing, None, 'test_a_share_is_mounted_by_the_name_that_was_chosen'),
)


class BitesTest(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (
            f'{plant.__name__},{case.__name__ if case else "edge cases"},{test}',
            {'plant': plant, 'case': case, 'test': test},
        )
        for plant, case, test in PLANTS + SERVER_PLANTS
    ]

    def _run(self, driver: type) -> testtools.TestResult:
        """Return the results of the suite for the dummy driver with its class replaced."""
        about_servers = (self.plant, self.case, self.test) in SERVER_PLANTS
        suite, binding = (
            (server_calls.ServerEdgeCases, DummyServersBinding)
            if about_servers
            else (edge_cases.EdgeCases, DummyBinding)
        )

        class Bound(calls.EveryCall if self.case else suite, binding):
            scenarios = ()
            case_class = self.case

            def new_driver(self):
                return driver(super().new_driver().backend)

        result = testtools.TestResult()
        Bound(self.test).run(result)
        return result

    def test_broken_promise_is_caught(self):
        sound = self._run(DummyDriver)
        self.assertTrue(sound.wasSuccessful(), [text for _case, text in (*sound.failures, *sound.errors)])
        broken = self._run(self.plant)
        self.assertEqual((1, False), (broken.testsRun, broken.wasSuccessful()))
