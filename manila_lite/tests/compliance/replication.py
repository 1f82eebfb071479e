# SPDX-License-Identifier: Apache-2.0
"""The driver replicates: every call of that, and an active share at a second backend to follow."""

import dataclasses
from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, kinds
from manila_lite.drivers import interface
from manila_lite.tests.compliance import calls, migrations
from manila_lite.tests.compliance.cases import Case


class Follows(migrations.Origin):
    """For a class that is a ``base.Binding`` too."""

    def a_replica(self, how: str = 'readable') -> kinds.Replica:
        """Return a replica, which is not there yet, of a share that is used, with a snapshot."""
        with self.at_origin():
            active = self.a_share()
            self.driver.create_share(active)
            self.driver.update_access(active, self.rules(self.GOOD))
            self.write(active, 'first')
            snapshot = kinds.Snapshot(uuidutils.generate_uuid(), active, active.size)
            snapshot = dataclasses.replace(snapshot, provider_location=self.driver.create_snapshot(snapshot))
            self.write(active, 'later')
        replica = kinds.Replica(self.a_share(), how, 'out_of_sync', active, migrations.ORIGIN_HOST, (snapshot,),
                                tuple(self.rules(self.GOOD)))
        self.addCleanup(self.driver_call, 'delete_replica', replica)
        return replica

    def is_fenced(self, share: kinds.Share) -> bool:
        """Say whether nobody can write to the share."""
        return not self.in_force(share)

    def is_served_read_only(self, share: kinds.Share) -> None:
        """All who are let in may read the share, and that is all."""
        self.assertEqual({(kind, to, 'ro') for kind, to, _level in self.GOOD}, self.in_force(share))


class _Replication(Case):
    ABILITY = interface.Replicates
    BESIDE = False
    HOW = 'readable'

    def arrange(self) -> None:
        self.replica = self.test.a_replica(self.HOW)
        self.args = (self.replica,)

    def verify_kept(self) -> None:
        """The active one serves as if nothing had happened."""
        self.test.assertEqual(set(self.test.GOOD), self.test.there('in_force', self.replica.active))
        self.test.assertEqual('later', self.test.there('read', self.replica.active))


class Create(_Replication):
    METHOD = 'create_replica'

    def verify(self, answer: Any) -> None:
        self.test.assert_locations(answer.export_locations)
        self.test.is_served_read_only(self.replica.share)


class CreateUnmounted(_Replication):
    METHOD, HOW = 'create_replica', 'dr'

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(((), set()), (answer.export_locations, self.test.in_force(self.replica.share)))


class Update(Create):
    METHOD = 'update_replica'

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.create_replica(self.replica)

    def verify(self, answer: Any) -> None:
        super().verify(answer)
        self.test.assertEqual(('in_sync', 'later'), (answer.state, self.test.read(self.replica.share)))
        self.test.assertEqual({self.replica.snapshots[0].id}, set(answer.snapshots))


class UpdateWithoutSnapshots(Update):
    """The active one has the snapshot no more."""

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.update_replica(self.replica)
        self.args = (dataclasses.replace(self.replica, snapshots=()),)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(('in_sync', {}), (answer.state, dict(answer.snapshots)))


class UpdateUnreachable(Update):
    """The active one cannot be reached."""

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.update_replica(self.replica)
        self.args = (dataclasses.replace(self.replica, active_host='here@nowhere'),)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(('out_of_sync', 'later'), (answer.state, self.test.read(self.replica.share)))
        self.test.is_served_read_only(self.replica.share)


class Demote(Update):
    """It was the active one until now, and has its rules and words of its own."""

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.promote_replica(dataclasses.replace(self.replica, active_host='here@nowhere'))
        self.test.write(self.replica.share, 'given up')


class GiveUpSnapshots(Demote):
    """As that; the share has its snapshot no more, or in name only."""

    def arrange(self) -> None:
        super().arrange()
        self.args = (dataclasses.replace(self.replica, snapshots=(), left=(self.replica.snapshots[0].id,)),)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(('in_sync', {}), (answer.state, dict(answer.snapshots)))
        self.has_no_snapshot()

    def has_no_snapshot(self) -> None:
        """Nothing of the snapshot is here."""
        taken = dataclasses.replace(self.replica.snapshots[0], share=self.replica.share)
        copy = self.test.a_share()
        self.test.addCleanup(self.test.driver_call, 'delete_share', copy)
        self.test.assertRaises(errors.Final, self.test.driver.create_share_from_snapshot, copy, taken)


class Promote(Update):
    METHOD, HOW = 'promote_replica', 'dr'

    def verify_kept(self) -> None:
        """Nobody writes where the share was."""
        self.test.assertTrue(self.test.there('is_fenced', self.replica.active))

    def verify(self, answer: Any) -> None:
        share, [snapshot] = self.replica.share, self.replica.snapshots
        self.test.assert_locations(answer.export_locations)
        self.test.assertEqual(('later', set(self.test.GOOD)), (self.test.read(share), self.test.in_force(share)))
        taken = dataclasses.replace(snapshot, share=share, provider_location=answer.snapshots[snapshot.id])
        copy = self.test.a_share()
        self.test.driver.create_share_from_snapshot(copy, taken)
        self.test.addCleanup(self.test.driver_call, 'delete_share', copy)
        self.test.assertEqual('first', self.test.read(copy))


class PromoteUnreachable(Promote):
    """Where the share was cannot be reached: what was brought over is there."""

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.update_replica(self.replica)
        self.args = (dataclasses.replace(self.replica, active_host='here@nowhere'),)

    def verify_kept(self) -> None:
        """Nothing can be said of it."""


class Delete(_Replication):
    METHOD = 'delete_replica'

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.create_replica(self.replica)
        self.test.driver.update_replica(self.replica)

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.assertTrue(self.test.ensured(self.replica.share).error)


class DeleteGivenUp(GiveUpSnapshots):
    """It was the active one until now; its snapshot goes with it."""

    METHOD = 'delete_replica'

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.assertTrue(self.test.ensured(self.replica.share).error)
        self.has_no_snapshot()


class DeleteNothing(Delete):
    """There is no such replica."""

    arrange = _Replication.arrange


#: Every call around a replica.
REPLICATION_CASES = (Create, CreateUnmounted, Update, UpdateWithoutSnapshots, UpdateUnreachable, Demote, GiveUpSnapshots,
                     Promote, PromoteUnreachable, Delete, DeleteGivenUp, DeleteNothing)


class EveryReplicationCall(calls.EveryCall):
    """For a class that is a ``base.Binding`` and ``Follows`` too."""

    scenarios = [(case.__name__, {'case_class': case}) for case in REPLICATION_CASES]
