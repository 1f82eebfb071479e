# SPDX-License-Identifier: Apache-2.0
"""The dummy driver keeps the contract, even if it is killed before or after the work of any call."""

import signal

import testscenarios

from manila_lite.tests.compliance import (
    backups,
    base,
    calls,
    cases,
    edge_cases,
    manage_shares,
    migrations,
    replication,
    server_calls,
    servers,
    share_migrations,
)
from manila_lite.tests.dummy_reboot import lose_exports


class DummyBinding(base.Binding):
    DRIVER = 'dummy'
    MOMENTS = ('die_before', 'die_after', 0.0)

    def options(self):
        return {'dummy_pool_size_gb': '100', 'dummy_admin_export_ip': '192.0.2.1'}

    def write(self, share, text):
        self.driver.write(share.id, text)

    def read(self, share):
        return self.driver.read(share.id)

    def fill(self, share, gib):
        self.driver.write(share.id, self.read(share), used=gib)

    def limit(self, share):
        return self.driver.store.share(share.id).size

    def in_force(self, share):
        record = self.driver.store.held(share.id)
        return {tuple(rule) for rule in record.rules.values()} if record and record.exported else set()

    def in_force_of_snapshot(self, snapshot):
        record = self.driver.store.snapshots.get(snapshot.id)
        return {tuple(rule) for rule in record.rules.values()} if record and record.exported else set()

    def lose_power(self):
        lose_exports(self.driver)
        self.restart()

    def kill(self, method, args, moment):
        if not isinstance(moment, str):
            super().kill(method, args, moment)
            return
        self.driver.knobs.turn(f'{method}:{moment}@once')
        victim = self.victim(method, args)
        self.assertEqual(-signal.SIGKILL, victim.wait(base.STUCK))


class DummyEveryCallTest(calls.EveryCall, DummyBinding):
    pass


class DummyBesideAccessTest(calls.BesideAccess, DummyBinding):
    pass


class DummyHangTest(testscenarios.WithScenarios, DummyBinding):
    scenarios = [
        (case.__name__, {'case_class': case})
        for case in cases.CASES
        if case.BESIDE and case.METHOD != 'update_access'
    ]

    def test_access_changes_beside_a_call_that_hangs(self):
        self.case = self.case_class(self)
        self.case.arrange()
        self.addCleanup(self.driver.knobs.turn)
        self.driver.knobs.turn(f'{self.case.METHOD}:hang')
        hanging = base.Background(self.case.call)
        self.driver.update_access(self.case.share, self.rules(self.GOOD))
        self.assertEqual(set(self.GOOD), self.in_force(self.case.share))
        self.assertTrue(hanging.is_alive())
        self.driver.knobs.turn()
        answer = hanging.ended()
        self.case.verify(answer)


class DummyEdgeCasesTest(edge_cases.EdgeCases, DummyBinding):
    pass


class DummyManageTest(manage_shares.EveryManageCall, DummyBinding):
    pass


class DummyManageEdgeCasesTest(manage_shares.ManageEdgeCases, DummyBinding):
    pass


class DummyServersBinding(servers.OnServers, DummyBinding):
    def addresses(self, server):
        record = self.driver.store.servers.get(server.id)
        if not (record and record.running):
            return set()
        return {address for addresses in record.addresses.values() for address in addresses}

    def services(self, server):
        return set(self.driver.store.server(server.id).services.values())


class DummyServersEveryCallTest(calls.EveryCall, DummyServersBinding):
    pass


class DummyServersEveryServerCallTest(server_calls.EveryServerCall, DummyServersBinding):
    pass


class DummyBesideServerTest(server_calls.BesideServer, DummyServersBinding):
    pass


class DummyServersEdgeCasesTest(edge_cases.EdgeCases, DummyServersBinding):
    pass


class DummyServersManageTest(manage_shares.EveryManageCall, DummyServersBinding):
    pass


class DummyServerEdgeCasesTest(server_calls.ServerEdgeCases, DummyServersBinding):
    pass


class DummyMigrationBinding(migrations.Migrates, DummyServersBinding):
    def left_of(self, migration):
        return []  # it copies into the final places of shares and snapshots


class DummyMigrationsTest(server_calls.EveryMigrationCall, DummyMigrationBinding):
    pass


class DummyMigrationEdgeCasesTest(server_calls.MigrationEdgeCases, DummyMigrationBinding):
    pass


class DummyServersWithMoreAddressesTest(server_calls.EveryServerCall, DummyServersBinding):
    def options(self):
        return super().options() | {'dummy_allocations_per_subnet': '2'}


class DummyShareMigrationBinding(share_migrations.MovesShares, DummyBinding):
    def left_of(self, migration):
        return []  # it copies into the final places of shares and snapshots


class DummyShareMigrationsTest(share_migrations.EveryShareMigrationCall, DummyShareMigrationBinding):
    pass


class DummyReplicationTest(replication.EveryReplicationCall, replication.Follows, DummyBinding):
    pass


class DummyBackupsTest(backups.EveryBackupCall, backups.KeepsBackups, DummyBinding):
    pass
