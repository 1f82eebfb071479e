# SPDX-License-Identifier: Apache-2.0
"""Every call of a driver for the migration of a share server to it: preconditions and results, however often it is made.

``server_cases.py`` has those about servers that stay; its rules apply here too.
"""

import dataclasses
from typing import Any

from manila_lite.drivers import interface
from manila_lite.tests.compliance.server_cases import ServerCase


class Started:
    """Begin of the copy, of a share or of a share server."""

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.near(self.migration)
        self.verify_kept()


class Continued:
    """The copy continues until it is near."""

    def arrange(self) -> None:
        super().arrange()
        self.test.step('start', self.migration)

    def call(self) -> bool:
        return self.test.near(self.migration)

    def verify(self, answer: Any) -> None:
        progress = self.test.step('get_progress', self.migration)
        self.test.assertEqual((100, progress.bytes_total), (progress.percent, progress.bytes_done))


class Unreachable:
    """A source backend that the driver cannot reach."""

    def arrange(self) -> None:
        super().arrange()
        self.args = (dataclasses.replace(self.migration, source_host='here@elsewhere'),)

    def verify(self, answer: Any) -> None:
        self.test.assertFalse(answer.compatible)
        self.test.assertTrue(answer.reason)
        self.nothing_is_here()


class _Migration(ServerCase):
    ABILITY = interface.MigratesServers
    #: Whether the server moves within the backend.
    WITHIN = False

    def arrange(self) -> None:
        super().arrange()
        self.migration = self.test.a_migration(within=self.WITHIN)
        self.args = (self.migration,)

    def verify_kept(self) -> None:
        super().verify_kept()
        self.test.assert_serves_there(self.migration)


class Check(_Migration):
    METHOD = 'share_server_migration_check_compatibility'

    def verify(self, answer: Any) -> None:
        self.test.assertEqual((True, ''), (answer.compatible, answer.reason))
        self.nothing_is_here()

    def nothing_is_here(self) -> None:
        self.test.assertEqual(set(), self.test.addresses(self.migration.target))
        self.test.assertNotIn(self.migration.target.id, self.test.driver.held_servers())
        for share in () if self.WITHIN else self.migration.shares:
            self.test.assertTrue(self.test.ensured(dataclasses.replace(share, server=self.test.server)).error)


class CheckUnknown(Unreachable, Check):
    """A source backend that the driver cannot reach."""


class CheckHere(CheckUnknown):
    """The server is on this backend already, in the same share network."""

    def arrange(self) -> None:
        super().arrange()
        self.args = (
            dataclasses.replace(
                self.migration, source_host=self.test.driver.backend.host, keeps_addresses=True
            ),
        )


class Start(Started, _Migration):
    METHOD = 'share_server_migration_start'


class Continue(Continued, _Migration):
    METHOD = 'share_server_migration_continue'


class Cancel(Continue):
    METHOD = 'share_server_migration_cancel'

    def arrange(self) -> None:
        super().arrange()
        self.test.near(self.migration)

    def call(self) -> Any:
        return _Migration.call(self)

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        Check.nothing_is_here(self)
        self.test.assertEqual([], self.test.left_of(self.migration))


class Complete(Cancel):
    METHOD = 'share_server_migration_complete'
    KEEPS_ADDRESSES = False

    def arrange(self) -> None:
        super(_Migration, self).arrange()
        self.migration = self.test.a_migration(keeps_addresses=self.KEEPS_ADDRESSES, within=self.WITHIN)
        target = self.migration.target
        early = dataclasses.replace(target, networks=()) if self.KEEPS_ADDRESSES else target
        migration = dataclasses.replace(self.migration, target=early)
        self.test.driver.share_server_migration_start(migration)
        self.test.near(migration)
        with self.test.at_origin():
            self.test.write(self.migration.shares[1], 'written late')
        self.args = (self.migration,)

    def verify_kept(self) -> None:
        ServerCase.verify_kept(self)

    def verify(self, answer: Any) -> None:
        test = self.test
        self._serves_here(answer)
        self.test.assertEqual([], self.test.left_of(self.migration))
        for share in self.here:
            test.write(share, 'mine')
        test.assertEqual(answer, self.call(), 'a repeated call has another answer')
        self._source_goes()
        test.assertEqual(['mine', 'mine'], [test.read(share) for share in self.here])

    def _serves_here(self, answer: Any) -> None:
        test, migration = self.test, self.migration
        test.assertEqual({share.id for share in migration.shares}, set(answer.export_locations))
        for locations in answer.export_locations.values():
            test.assert_serves(migration.target, locations)
        test.assertEqual(test.planned(migration.target), test.addresses(migration.target))
        self.here = [
            dataclasses.replace(share, server=migration.target, pool=migration.pool)
            for share in migration.shares
        ]
        test.assertEqual(['later', 'written late'], [test.read(share) for share in self.here])
        for share in self.here:
            test.assertEqual((set(test.GOOD), share.size), (test.in_force(share), test.limit(share)))
        self._snapshot_is_here(answer)

    def _snapshot_is_here(self, answer: Any) -> None:
        test, taken = self.test, self.migration.snapshots[0]
        test.assertEqual({taken.id}, set(answer.provider_locations))
        snapshot = dataclasses.replace(
            taken, share=self.here[0], provider_location=answer.provider_locations[taken.id]
        )
        if isinstance(test.driver, interface.Clones):
            clone = test.a_share(server=self.migration.target)
            test.driver.create_share_from_snapshot(clone, snapshot)
            test.assertEqual('first', test.read(clone))
            test.driver.delete_share(clone)

    def _source_goes(self) -> None:
        """Delete the source as the manager does, and check that its server runs at no time."""
        test, migration = self.test, self.migration
        test.bother_origin(migration)
        test.assertEqual(set(), test.there('addresses', migration.source))
        with test.at_origin():
            if not self.WITHIN:
                for snapshot in migration.snapshots:
                    test.driver.delete_snapshot(snapshot)
                for share in migration.shares:
                    test.driver.delete_share(share)
            test.driver.teardown_server(migration.source)
        test.assertEqual(set(), test.there('addresses', migration.source))
        test.assertEqual(test.planned(migration.target), test.addresses(migration.target))


class CompleteInPlace(Complete):
    """The target takes over the addresses of the source."""

    KEEPS_ADDRESSES = True


class Within:
    """The server moves into another share network of the same backend, so there is one copy of all data."""

    WITHIN = True

    def verify(self, answer: Any) -> None:
        """Check that snapshots are still those of the shares, wherever these are served."""
        super().verify(answer)
        test, taken = self.test, self.migration.snapshots[0]
        now = next((share for share in getattr(self, 'here', ()) if share.id == taken.share.id), taken.share)
        if isinstance(test.driver, interface.Reverts):
            test.driver.revert_to_snapshot(dataclasses.replace(taken, share=now))
            test.assertEqual('first', test.read(now))
        test.assertEqual((set(test.GOOD), now.size), (test.in_force(now), test.limit(now)))


class CheckWithin(Within, Check):
    """Another share network of the same backend."""


class StartWithin(Within, Start):
    """Another share network of the same backend."""


class ContinueWithin(Within, Continue):
    """Another share network of the same backend."""


class CancelWithin(Within, Cancel):
    """Another share network of the same backend."""


class CompleteWithin(Within, Complete):
    """Another share network of the same backend."""


MIGRATION_CASES = (
    Start,
    Continue,
    Cancel,
    Complete,
    CompleteInPlace,
    StartWithin,
    ContinueWithin,
    CancelWithin,
    CompleteWithin,
)
#: Calls that change nothing, whatever their result.
MIGRATION_QUESTIONS = (Check, CheckUnknown, CheckHere, CheckWithin)
