# SPDX-License-Identifier: Apache-2.0
"""Replication by a driver: every call, with an active replica at a second backend."""

import dataclasses
from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.tests.compliance import calls, migrations
from manila_lite.tests.compliance.cases import Case


class Follows(migrations.Origin):
    """Mixin for a ``base.Binding``."""

    def a_replica(self, how: str = 'readable') -> values.Replica:
        """Return a replica that is not made yet, of a share that is in use and has a snapshot."""
        with self.at_origin():
            active = self.a_share()
            self.driver.create_share(active)
            self.driver.update_access(active, self.rules(self.GOOD))
            self.write(active, 'first')
            snapshot = values.Snapshot(uuidutils.generate_uuid(), active, active.size)
            snapshot = dataclasses.replace(snapshot, provider_location=self.driver.create_snapshot(snapshot))
            self.write(active, 'later')
        replica = values.Replica(
            self.a_share(),
            how,
            'out_of_sync',
            active,
            migrations.ORIGIN_HOST,
            (snapshot,),
            tuple(self.rules(self.GOOD)),
        )
        self.addCleanup(self.driver_call, 'delete_replica', replica)
        return replica

    def is_fenced(self, share: values.Share) -> bool:
        """Say whether no client can write to the share."""
        return not self.in_force(share)

    def is_served_read_only(self, share: values.Share) -> None:
        """Check that all clients of the rules can read the share, and do nothing else."""
        self.assertEqual({(kind, to, 'ro') for kind, to, _level in self.GOOD}, self.in_force(share))


class _Replication(Case):
    ABILITY = interface.Replicates
    BESIDE = False
    HOW = 'readable'

    def arrange(self) -> None:
        self.replica = self.test.a_replica(self.HOW)
        self.args = (self.replica,)

    def verify_kept(self) -> None:
        """Check that the active replica serves as if nothing had happened."""
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
    """The active replica has lost the snapshot."""

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.update_replica(self.replica)
        self.args = (dataclasses.replace(self.replica, snapshots=()),)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(('in_sync', {}), (answer.state, dict(answer.snapshots)))


class UpdateUnreachable(Update):
    """The active replica cannot be reached."""

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.update_replica(self.replica)
        self.args = (dataclasses.replace(self.replica, active_host='here@nowhere'),)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(('out_of_sync', 'later'), (answer.state, self.test.read(self.replica.share)))
        self.test.is_served_read_only(self.replica.share)


class Demote(Update):
    """A replica that was active until now, with rules and content of its own."""

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.promote_replica(dataclasses.replace(self.replica, active_host='here@nowhere'))
        self.test.write(self.replica.share, 'given up')


class GiveUpSnapshots(Demote):
    """The same after the share lost its snapshot, or has it in name only."""

    def arrange(self) -> None:
        super().arrange()
        self.args = (dataclasses.replace(self.replica, snapshots=(), left=(self.replica.snapshots[0].id,)),)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(('in_sync', {}), (answer.state, dict(answer.snapshots)))
        self.has_no_snapshot()

    def has_no_snapshot(self) -> None:
        """Check that the snapshot is gone from this backend."""
        taken = dataclasses.replace(self.replica.snapshots[0], share=self.replica.share)
        copy = self.test.a_share()
        self.test.addCleanup(self.test.driver_call, 'delete_share', copy)
        self.test.assertRaises(errors.Final, self.test.driver.create_share_from_snapshot, copy, taken)


class Promote(Update):
    METHOD, HOW = 'promote_replica', 'dr'

    def verify_kept(self) -> None:
        """Check that the former active replica cannot be written to."""
        self.test.assertTrue(self.test.there('is_fenced', self.replica.active))

    def verify(self, answer: Any) -> None:
        share, [snapshot] = self.replica.share, self.replica.snapshots
        self.test.assert_locations(answer.export_locations)
        self.test.assertEqual(
            ('later', set(self.test.GOOD)), (self.test.read(share), self.test.in_force(share))
        )
        taken = dataclasses.replace(snapshot, share=share, provider_location=answer.snapshots[snapshot.id])
        copy = self.test.a_share()
        self.test.driver.create_share_from_snapshot(copy, taken)
        self.test.addCleanup(self.test.driver_call, 'delete_share', copy)
        self.test.assertEqual('first', self.test.read(copy))


class PromoteUnreachable(Promote):
    """A former active replica that cannot be reached: the data that was copied is served."""

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.update_replica(self.replica)
        self.args = (dataclasses.replace(self.replica, active_host='here@nowhere'),)

    def verify_kept(self) -> None:
        """Check nothing: the former active replica cannot be reached."""


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
    """A replica that was active until now; its snapshot is deleted with it."""

    METHOD = 'delete_replica'

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.assertTrue(self.test.ensured(self.replica.share).error)
        self.has_no_snapshot()


class DeleteNothing(Delete):
    """A replica that does not exist."""

    arrange = _Replication.arrange


#: Every call about replicas.
REPLICATION_CASES = (
    Create,
    CreateUnmounted,
    Update,
    UpdateWithoutSnapshots,
    UpdateUnreachable,
    Demote,
    GiveUpSnapshots,
    Promote,
    PromoteUnreachable,
    Delete,
    DeleteGivenUp,
    DeleteNothing,
)


class EveryReplicationCall(calls.EveryCall):
    """Mixin for a ``base.Binding`` with ``Follows``."""

    scenarios = [(case.__name__, {'case_class': case}) for case in REPLICATION_CASES]
