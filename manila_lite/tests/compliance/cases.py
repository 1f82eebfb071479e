# SPDX-License-Identifier: Apache-2.0
"""Every call of the contract: its preconditions, and what must be true after it, however often it was made."""

import dataclasses
from typing import Any, ClassVar

from oslo_utils import units, uuidutils

from manila_lite import errors, values
from manila_lite.drivers import interface


class Case:
    """One call. ``arrange`` sets ``args`` and ``share``, the share that the call works on."""

    METHOD: ClassVar[str]
    ABILITY: ClassVar[type | None] = None
    #: Exception that every call ends with, if any.
    RAISES: ClassVar[type[Exception] | None] = None
    #: Whether ``share`` exists before the call, so that its rules can change during the call.
    BESIDE: ClassVar[bool] = True

    args: tuple
    share: values.Share

    def __init__(self, test: Any):
        self.test = test

    def arrange(self) -> None:
        raise NotImplementedError

    def call(self) -> Any:
        """Make the call to the driver that the test has now; return its answer."""
        method = getattr(self.test.driver, self.METHOD)
        if self.RAISES:
            self.test.assertRaises(self.RAISES, method, *self.args)
            return None
        return method(*self.args)

    def lasting(self, answer: Any) -> Any:
        """Return the part of an answer that a second call must repeat: all but reports about the past."""
        return answer

    def verify(self, answer: Any) -> None:
        """Check all that the contract promises; ``answer`` is that of the last call."""
        raise NotImplementedError

    def verify_kept(self) -> None:
        """Check that rules and exports that the call must not touch are as before."""


class _Keeps(Case):
    """A call that leaves the rules and exports of the share alone."""

    SIZE = 1
    #: Size of the share after the call, if it changes.
    NEW_SIZE: int | None = None

    def arrange(self) -> None:
        self.share = self.test.made_share(self.SIZE, rules=self.test.GOOD)

    def verify_kept(self) -> None:
        self.test.assertEqual(set(self.test.GOOD), self.test.in_force(self.share))
        ensured = self.test.ensured(
            dataclasses.replace(self.share, size=self.NEW_SIZE or self.SIZE), self.test.GOOD
        )
        self.test.assertEqual(self.share.export_locations, tuple(ensured.export_locations))


class CreateShare(Case):
    METHOD = 'create_share'
    BESIDE = False

    def arrange(self) -> None:
        self.share = self.test.a_share()
        self.args = (self.share,)

    def verify(self, answer: Any) -> None:
        self.test.assert_locations(answer)
        self.test.assertEqual('', self.test.read(self.share))
        self.test.assertEqual(1, self.test.limit(self.share))
        self.test.assertEqual(set(), self.test.in_force(self.share))
        self.test.assertEqual(tuple(answer), tuple(self.test.ensured(self.share).export_locations))


class DeleteShare(Case):
    METHOD = 'delete_share'

    def arrange(self) -> None:
        self.share = self.test.made_share(rules=self.test.GOOD)
        self.bystander = self.test.made_share(rules=self.test.OTHER)
        self.args = (self.share,)

    def verify(self, answer: Any) -> None:
        self.test.assertIsNotNone(self.test.ensured(self.share).error)
        self.test.assertEqual('first', self.test.read(self.bystander))
        self.test.assertEqual(set(self.test.OTHER), self.test.in_force(self.bystander))


#: Each type of access rule, with a client that any backend with the type would take.
_KINDS = {'ip': '10.9.9.9', 'user': 'stranger', 'cert': 'stranger', 'cephx': 'stranger'}


class UpdateAccess(Case):
    METHOD = 'update_access'

    def arrange(self) -> None:
        self.share = self.test.made_share(rules=self.test.OTHER)
        self.good = self.test.rules(self.test.GOOD)
        taken = self.test.driver.ACCESS_TYPES.get(self.share.proto.upper(), _KINDS)
        self.test.assertLessEqual({kind for kind, *_ in self.test.GOOD}, set(taken))
        self.bad = self.test.rules(
            [*self.test.BAD, *((kind, to, 'rw') for kind, to in _KINDS.items() if kind not in taken)]
        )
        self.args = (self.share, [self.bad[0], *self.good, *self.bad[1:]])

    def verify(self, answer: Any) -> None:
        refused = {rule_id for rule_id, result in answer.items() if result.error}
        self.test.assertEqual({rule.id for rule in self.args[1]}, set(answer))
        self.test.assertEqual({rule.id for rule in self.bad}, refused)

    def verify_kept(self) -> None:
        self.test.assertEqual(set(self.test.GOOD), self.test.in_force(self.share))
        self.test.assertEqual('first', self.test.read(self.share))


class EnsureShares(Case):
    METHOD = 'ensure_shares'

    def arrange(self) -> None:
        self.share = self.test.made_share(rules=self.test.GOOD)
        self.second = self.test.made_share(content='second', rules=self.test.OTHER)
        self.missing = self.test.a_share()
        self.test.lose_power()
        self.args = (
            [
                values.EnsureTarget(self.missing, tuple(self.test.rules(self.test.GOOD))),
                values.EnsureTarget(self.share, tuple(self.test.rules(self.test.GOOD))),
                values.EnsureTarget(self.second, tuple(self.test.rules(self.test.OTHER))),
            ],
        )

    def lasting(self, answer: Any) -> Any:
        return {
            instance_id: dataclasses.replace(result, repaired=()) for instance_id, result in answer.items()
        }

    def verify(self, answer: Any) -> None:
        self.test.assertEqual({target.share.id for target in self.args[0]}, set(answer))
        self.test.assertTrue(answer[self.missing.id].error)
        for target in self.args[0][1:]:
            result = answer[target.share.id]
            self.test.assertIsNone(result.error)
            self.test.assertEqual(target.share.export_locations, tuple(result.export_locations))
            self.test.assertEqual(
                {rule.id: None for rule in target.rules},
                {rule_id: rule.error for rule_id, rule in result.rules.items()},
            )
        self.test.assertEqual(
            ['first', 'second'], [self.test.read(share) for share in (self.share, self.second)]
        )
        self.test.assertEqual(set(self.test.OTHER), self.test.in_force(self.second))

    def verify_kept(self) -> None:
        self.test.assertEqual(set(self.test.GOOD), self.test.in_force(self.share))


class ExtendShare(_Keeps):
    METHOD = 'extend_share'
    NEW_SIZE = 2
    ABILITY = interface.Resizes

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.share, 2)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(2, self.test.limit(self.share))
        self.test.assertEqual('first', self.test.read(self.share))


class ShrinkShare(_Keeps):
    METHOD = 'shrink_share'
    NEW_SIZE = 1
    ABILITY = interface.Resizes
    SIZE = 2

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.share, 1)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(1, self.test.limit(self.share))
        self.test.assertEqual('first', self.test.read(self.share))


class ShrinkFullShare(_Keeps):
    METHOD = 'shrink_share'
    ABILITY = interface.Resizes
    RAISES = errors.RefusedShrink
    SIZE = 2

    def arrange(self) -> None:
        super().arrange()
        self.test.fill(self.share, 1.5)
        self.args = (self.share, 1)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(2, self.test.limit(self.share))
        self.test.assertEqual('first', self.test.read(self.share))


class MeasureUsage(_Keeps):
    METHOD = 'measure_usage'
    ABILITY = interface.MeasuresUsage

    def arrange(self) -> None:
        super().arrange()
        self.test.fill(self.share, 0.5)
        self.other = self.test.made_share()
        targets = [
            values.UsageTarget(share.id, share.export_locations[0].path) for share in (self.share, self.other)
        ]
        self.args = ([*targets, values.UsageTarget(unknown())],)

    def lasting(self, answer: Any) -> Any:
        return sorted(answer)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual({self.share.id, self.other.id}, set(answer))
        filled, other = answer[self.share.id], answer[self.other.id]
        self.test.assertLess(abs(filled.used_bytes - units.Gi // 2), units.Mi, filled)
        self.test.assertLess(other.used_bytes, units.Mi, other)
        self.test.assertIn(filled.limit_bytes, (None, units.Gi))


class CreateSnapshot(_Keeps):
    METHOD = 'create_snapshot'
    ABILITY = interface.Snapshots

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.a_snapshot(self.share),)

    def verify(self, answer: Any) -> None:
        self.test.write(self.share, 'later')
        self.test.assertEqual(answer, self.call(), 'a repeated call has another answer')
        if isinstance(self.test.driver, interface.Clones):
            clone = self.test.a_share()
            self.test.driver.create_share_from_snapshot(clone, self.args[0])
            self.test.assertEqual('first', self.test.read(clone), 'a repeated call took the snapshot anew')
        self.test.assertEqual('later', self.test.read(self.share))


class CreateGroupSnapshot(_Keeps):
    METHOD = 'create_group_snapshot'
    ABILITY = interface.ConsistentSnapshots

    def arrange(self) -> None:
        super().arrange()
        self.shares = [self.share, self.test.made_share(1)]
        self.args = ([self.test.a_snapshot(share) for share in self.shares],)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual({snapshot.id for snapshot in self.args[0]}, set(answer))
        for share in self.shares:
            self.test.write(share, 'later')
        self.test.assertEqual(answer, self.call(), 'a repeated call has another answer')
        for snapshot in self.args[0]:
            clone = self.test.a_share()
            self.test.driver.create_share_from_snapshot(clone, snapshot)
            self.test.assertEqual('first', self.test.read(clone), 'a repeated call took a snapshot anew')
            self.test.driver.delete_snapshot(snapshot)


class DeleteSnapshot(_Keeps):
    METHOD = 'delete_snapshot'
    ABILITY = interface.Snapshots

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.made_snapshot(self.share),)
        self.other = self.test.made_snapshot(self.share)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual('first', self.test.read(self.share))
        if isinstance(self.test.driver, interface.Clones):
            self.test.assertRaises(
                errors.Final, self.test.driver.create_share_from_snapshot, self.test.a_share(), self.args[0]
            )
            clone = self.test.a_share()
            self.test.driver.create_share_from_snapshot(clone, self.other)
            self.test.assertEqual('first', self.test.read(clone))


class ServeSnapshot(_Keeps):
    METHOD = 'serve_snapshot'
    ABILITY = interface.MountsSnapshots

    def arrange(self) -> None:
        super().arrange()
        snapshot = self.test.made_snapshot(self.share)
        self.test.driver.serve_snapshot(snapshot, self.read_only(self.test.OTHER))
        self.good, self.bad = self.read_only(self.test.GOOD), self.read_only(self.test.BAD[:1])
        self.args = (snapshot, [*self.bad, *self.good])

    def read_only(self, rows: Any) -> list[values.AccessRule]:
        return self.test.rules((kind, to, 'ro') for kind, to, _ in rows)

    def verify(self, answer: Any) -> None:
        self.test.assert_locations(answer.export_locations)
        self.test.assertEqual({rule.id for rule in (*self.bad, *self.good)}, set(answer.rules))
        self.test.assertEqual(
            {rule.id for rule in self.bad},
            {rule_id for rule_id, result in answer.rules.items() if result.error},
        )
        snapshot, wanted = self.args[0], {(rule.type, rule.to, 'ro') for rule in self.good}
        self.test.assertEqual(wanted, self.test.in_force_of_snapshot(snapshot))
        self.test.driver.serve_snapshot(snapshot, [])
        self.test.assertEqual(set(), self.test.in_force_of_snapshot(snapshot))
        self.test.driver.delete_snapshot(snapshot)
        self.test.assertRaises(errors.Final, self.call)
        self.test.assertEqual('first', self.test.read(self.share))


class Clone(_Keeps):
    METHOD = 'create_share_from_snapshot'
    ABILITY = interface.Clones

    def arrange(self) -> None:
        super().arrange()
        self.snapshot = self.test.made_snapshot(self.share)
        self.test.write(self.share, 'later')
        self.clone = dataclasses.replace(self.test.a_share(2), snapshot_id=self.snapshot.id)
        self.args = (self.clone, self.snapshot)

    def verify(self, answer: Any) -> None:
        self.test.assert_locations(answer)
        self.test.assertEqual(set(), self.test.in_force(self.clone))
        self.test.assertEqual(2, self.test.limit(self.clone))
        self.test.assertEqual('first', self.test.read(self.clone))
        self.test.write(self.clone, 'mine')
        self.test.driver.delete_snapshot(self.snapshot)
        self.test.assertEqual('mine', self.test.read(self.clone))
        self.test.assertEqual('later', self.test.read(self.share))


class Revert(_Keeps):
    METHOD = 'revert_to_snapshot'
    ABILITY = interface.Reverts
    SIZE = 1

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.made_snapshot(self.share),)
        if isinstance(self.test.driver, interface.Resizes):
            self.test.driver.extend_share(self.share, 2)
        self.test.write(self.share, 'later')

    def verify(self, answer: Any) -> None:
        self.test.assertEqual('first', self.test.read(self.share))
        self.test.assertEqual(1, self.test.limit(self.share))
        self.test.write(self.share, 'much later')
        self.call()
        self.test.assertEqual('first', self.test.read(self.share), 'the snapshot was used up')


CASES = (
    CreateShare,
    DeleteShare,
    UpdateAccess,
    EnsureShares,
    ExtendShare,
    ShrinkShare,
    ShrinkFullShare,
    MeasureUsage,
    CreateSnapshot,
    CreateGroupSnapshot,
    DeleteSnapshot,
    ServeSnapshot,
    Clone,
    Revert,
)


def unknown() -> str:
    """Return an id that no backend knows."""
    return uuidutils.generate_uuid()
