# SPDX-License-Identifier: Apache-2.0
"""Migration of single shares to the driver: every call, with a share at a second backend as the source."""

import dataclasses
from typing import Any

from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.drivers import interface
from manila_lite.tests.compliance import calls, migration_cases, migrations
from manila_lite.tests.compliance.cases import Case


class MovesShares(migrations.Origin):
    """Mixin for a ``base.Binding``."""

    def a_move(self) -> values.ShareMigration:
        """Return the migration of a share that is in use, with a snapshot."""
        with self.at_origin():
            source = self.a_share()
            self.driver.create_share(source)
            self.driver.update_access(source, self.rules(self.GOOD))
            self.write(source, 'first')
            snapshot = values.Snapshot(uuidutils.generate_uuid(), source, source.size)
            snapshot = dataclasses.replace(snapshot, provider_location=self.driver.create_snapshot(snapshot))
            self.write(source, 'later')
        migration = values.ShareMigration(
            source, migrations.ORIGIN_HOST, self.a_share(), (snapshot,), tuple(self.rules(self.GOOD))
        )
        self.addCleanup(self.driver_call, 'delete_share', migration.target)
        self.addCleanup(self.call_off, migration)
        self.addCleanup(self.driver_call, 'delete_snapshot', snapshot)
        return migration

    def left_of(self, migration: values.ShareMigration) -> list[str]:
        """Return all that was made for the migration only and is left at either backend, as the backends report it."""
        raise NotImplementedError


class _Migration(Case):
    ABILITY = interface.MigratesShares
    BESIDE = False

    def arrange(self) -> None:
        self.migration = self.test.a_move()
        self.args = (self.migration,)

    def verify_kept(self) -> None:
        """Check that the source backend serves as if nothing had happened."""
        self.test.assertEqual(set(self.test.GOOD), self.test.there('in_force', self.migration.source))
        self.test.assertEqual('later', self.test.there('read', self.migration.source))


class Check(_Migration):
    METHOD = 'share_migration_check_compatibility'

    def verify(self, answer: Any) -> None:
        self.test.assertEqual((True, '', True), (answer.compatible, answer.reason, answer.preserve_snapshots))
        self.nothing_is_here()

    def nothing_is_here(self) -> None:
        self.test.assertTrue(self.test.ensured(self.migration.target).error)
        self.test.assertEqual([], self.test.left_of(self.migration))


class CheckUnknown(migration_cases.Unreachable, Check):
    """A source backend that the driver cannot reach."""


class Start(migration_cases.Started, _Migration):
    METHOD = 'share_migration_start'


class Continue(migration_cases.Continued, _Migration):
    METHOD = 'share_migration_continue'


class Cancel(_Migration):
    METHOD = 'share_migration_cancel'

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.share_migration_start(self.migration)
        self.test.near(self.migration)

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        Check.nothing_is_here(self)


class Complete(Cancel):
    METHOD = 'share_migration_complete'

    def arrange(self) -> None:
        super().arrange()
        with self.test.at_origin():
            self.test.write(self.migration.source, 'written late')

    def verify_kept(self) -> None:
        """Check nothing: the target has replaced the source."""

    def verify(self, answer: Any) -> None:
        target, [snapshot] = self.migration.target, self.migration.snapshots
        self.test.assert_locations(answer.export_locations)
        self.test.assertEqual(('written late', 1), (self.test.read(target), self.test.limit(target)))
        self.test.assertEqual(set(self.test.GOOD), self.test.in_force(target))
        self.test.assertEqual([], self.test.left_of(self.migration))
        taken = dataclasses.replace(
            snapshot, share=target, provider_location=answer.provider_locations[snapshot.id]
        )
        copy = self.test.a_share()
        self.test.driver.create_share_from_snapshot(copy, taken)
        self.test.addCleanup(self.test.driver_call, 'delete_share', copy)
        self.test.assertEqual('first', self.test.read(copy))


#: Every call of a share's migration.
SHARE_MIGRATION_CASES = (Check, CheckUnknown, Start, Continue, Cancel, Complete)


class EveryShareMigrationCall(calls.EveryCall):
    """Mixin for a ``base.Binding`` with ``MovesShares``."""

    scenarios = [(case.__name__, {'case_class': case}) for case in SHARE_MIGRATION_CASES]
