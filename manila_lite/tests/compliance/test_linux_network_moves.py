# SPDX-License-Identifier: Apache-2.0
"""Moves of share servers within a linux backend that go wrong: no call ever deletes data, and one server has the shares."""

import contextlib
import dataclasses

import fixtures

from manila_lite import errors
from manila_lite.drivers.linux.replication import peer_session
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.host.commands import CommandFailed
from manila_lite.tests.compliance import base, test_linux
from manila_lite.tests.linux_teardown import tear_down


class LinuxNetworkMovesTest(test_linux.LinuxMigrationBinding):
    def setUp(self):
        super().setUp()
        self.migration = self.a_migration(within=True)

    # Steps ------------------------------------------------------------------------------------

    def prepare(self, migration=None):
        """Run phase one."""
        self.step('start', migration or self.migration)
        self.near(migration or self.migration)

    def break_cut_over(self):
        """Run a cut-over that fails when the target serves the first share already, and not yet the second."""
        self.prepare()
        update = ShareAccess.update

        def fail(access, share, rules):
            if share.id == self.migration.shares[1].id:
                raise CommandFailed('as told')
            return update(access, share, rules)

        with fixtures.MonkeyPatch(f'{ShareAccess.__module__}.ShareAccess.update', fail):
            self.assertRaises(CommandFailed, self.step, 'complete', self.migration)

    def resume(self):
        """Have the source run again, as an operator would."""
        with peer_session.PeerSession(peer_session.command(base.HOST, self.driver.backend.conf)) as session:
            session.ask('resume', server=self.migration.source.id)
        self.assertIsNone(self.driver.ensure_servers([self.migration.source])[self.migration.source.id].error)

    # Results ----------------------------------------------------------------------------------

    def at(self, server):
        """Return the shares as they are on a server."""
        return [dataclasses.replace(share, server=server) for share in self.migration.shares]

    def assert_serves_from(self, server):
        """Check that the server serves both shares with their rules and data."""
        self.assertEqual(['later', 'second'], [self.read(share) for share in self.at(server)])
        self.assertEqual([set(self.GOOD)] * 2, [self.in_force(share) for share in self.at(server)])
        self.assertEqual(self.planned(server), self.addresses(server))

    def assert_all_is_kept(self):
        """Check that no data is gone, of shares or snapshots."""
        pool = self.driver.parts.pool
        self.assertEqual(['later', 'second'], [self.read(share) for share in self.migration.shares])
        self.assertEqual(
            ['first'], [(pool.snapshot(taken.id) / 'data').read_text() for taken in self.migration.snapshots]
        )

    def ends_well(self):
        """Check that a repeated cut-over ends well, and that the source goes without the data."""
        self.step('complete', self.migration)
        self.assert_serves_from(self.migration.target)
        self.driver.teardown_server(self.migration.source)
        self.assert_serves_from(self.migration.target)
        self.assert_all_is_kept()

    # Tests ------------------------------------------------------------------------------------

    def test_the_driver_reports_what_it_does(self):
        support = self.driver.share_server_migration_check_compatibility(self.migration)
        self.assertEqual(
            (True, True, False, True, True, True),
            (
                support.compatible,
                support.writable,
                support.nondisruptive,
                support.preserve_snapshots,
                support.migration_cancel,
                support.migration_get_progress,
            ),
        )

    def test_servers_that_are_not_here_are_refused(self):
        other = dataclasses.replace(self.migration, source=self.a_server())
        self.assertIn(
            'not on this backend', self.driver.share_server_migration_check_compatibility(other).reason
        )
        self.assertRaises(errors.Final, self.step, 'start', other)
        self.assertRaises(errors.Final, self.step, 'complete', other)

    def test_failed_cut_over_keeps_everything_and_can_be_repeated(self):
        self.break_cut_over()
        for _ in range(2):
            self.assertRaises(errors.Final, self.step, 'cancel', self.migration)
            for server in (self.migration.source, self.migration.target):
                self.assertRaises(errors.Final, self.driver.teardown_server, server)
            self.assert_all_is_kept()
            self.driver.report()
            self.assertEqual(set(), self.addresses(self.migration.source))
            self.restart()
        self.ends_well()

    def test_failed_cut_over_is_repeated_after_a_reboot(self):
        self.break_cut_over()
        tear_down(self.driver)
        self.restart()
        self.assertTrue(self.driver.ensure_servers([self.migration.source])[self.migration.source.id].error)
        self.assertEqual(set(), self.addresses(self.migration.source))
        self.assert_all_is_kept()
        self.ends_well()

    def test_phase_one_survives_a_reboot(self):
        self.prepare()
        tear_down(self.driver)
        self.restart()
        self.assertIsNone(self.driver.ensure_servers([self.migration.source])[self.migration.source.id].error)
        for share in self.migration.shares:
            self.ensured(share, self.GOOD)
        self.assert_serves_from(self.migration.source)
        self.ends_well()

    def test_completed_move_cannot_be_cancelled(self):
        """A repeated or late cancellation neither stops the target nor deletes data, with or without the source."""
        self.prepare()
        self.step('complete', self.migration)
        self.assertRaises(errors.Final, self.step, 'cancel', self.migration)
        self.assert_serves_from(self.migration.target)
        self.driver.teardown_server(self.migration.source)
        self.assertRaises(errors.Final, self.step, 'cancel', self.migration)
        self.assertRaises(errors.Final, self.driver.teardown_server, self.migration.target)
        self.assert_serves_from(self.migration.target)
        self.assert_all_is_kept()

    def test_late_cancellation_by_force_harms_no_later_move(self):
        """The note of a cancelled move is done when the server has moved again, and its source is gone or not."""
        for gone in (False, True):
            self.migration = first = self.a_migration(within=True)
            self.prepare()
            self.migration = dataclasses.replace(first, target=self.a_server('more'))
            for share in self.at(self.migration.target):
                self.addCleanup(self.driver_call, 'delete_share', share)
            self.prepare()
            self.step('complete', self.migration)
            if gone:
                self.driver.teardown_server(first.source)
            for _ in range(2):
                self.step('cancel', first)
                self.driver.teardown_server(first.target)
                self.assert_serves_from(self.migration.target)
                self.assert_all_is_kept()
            self.driver.teardown_server(first.source)
            self.assert_serves_from(self.migration.target)
            self.assertNotIn(first.target.id, self.driver.held_servers())

    def test_source_that_is_called_back_is_the_only_server_of_the_shares(self):
        self.break_cut_over()
        self.assertEqual(set(self.GOOD), self.in_force(self.at(self.migration.target)[0]))
        self.resume()
        self.assert_serves_from(self.migration.source)
        self.assertEqual([set(), set()], [self.in_force(share) for share in self.at(self.migration.target)])
        self.ends_well()

    def test_source_that_is_called_back_outlives_the_target(self):
        self.break_cut_over()
        self.resume()
        self.step('cancel', self.migration)
        self.driver.teardown_server(self.migration.target)
        self.assert_serves_from(self.migration.source)
        self.assert_all_is_kept()

    def test_access_changes_beside_the_cut_over(self):
        """A change at the source may fail then, but leaves no export that would keep the source from going."""
        self.prepare()
        ends = []

        def change():
            while not ends:
                with contextlib.suppress(errors.Final, CommandFailed, OSError):
                    self.driver.update_access(self.migration.shares[0], self.rules(self.GOOD))

        changing = base.Background(change)
        self.step('complete', self.migration)
        ends.append(True)
        changing.ended()
        self.driver.teardown_server(self.migration.source)
        self.assert_serves_from(self.migration.target)
