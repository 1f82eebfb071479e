# SPDX-License-Identifier: Apache-2.0
"""Calls that manage and unmanage shares and snapshots."""

import dataclasses
from typing import Any

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.tests.compliance import calls, cases


class ManageShare(cases.Case):
    METHOD = 'manage_share'
    ABILITY = interface.ManagesShares
    BESIDE = False

    def arrange(self) -> None:
        test = self.test
        self.old = test.made_share(2, rules=test.GOOD)
        self.bystander = test.made_share(content='mine', rules=test.OTHER)
        test.driver.unmanage_share(self.old)
        self.share = test.a_share(0)
        self.args = (self.share, self.old.export_locations[0].path, {})

    def verify(self, answer: Any) -> None:
        test, mine = self.test, dataclasses.replace(self.share, size=2)
        test.assertEqual(2, answer.size)
        test.assert_locations(answer.export_locations)
        test.assertEqual(('first', 2, set()), (test.read(mine), test.limit(mine), test.in_force(mine)))
        test.assertEqual(
            tuple(answer.export_locations), tuple(test.ensured(mine, test.GOOD).export_locations)
        )
        test.assertEqual(set(test.GOOD), test.in_force(mine))
        test.driver.delete_share(self.old)
        test.assertTrue(test.ensured(self.old).error)
        test.assertEqual('first', test.read(mine), 'it went with what it was')

    def verify_kept(self) -> None:
        self.test.assertEqual(
            ('mine', set(self.test.OTHER)),
            (self.test.read(self.bystander), self.test.in_force(self.bystander)),
        )


class UnmanageShare(cases.Case):
    METHOD = 'unmanage_share'
    ABILITY = interface.ManagesShares
    BESIDE = False

    def arrange(self) -> None:
        self.share = self.test.made_share(rules=self.test.GOOD)
        self.bystander = self.test.made_share(content='mine', rules=self.test.OTHER)
        self.args = (self.share,)

    def verify(self, answer: Any) -> None:
        test = self.test
        test.assertIsNone(answer)
        test.assertEqual(set(), test.in_force(self.share))
        test.assertRaises(errors.Final, test.driver.update_access, self.share, test.rules(test.GOOD))
        test.assertEqual({}, test.driver.update_access(self.share, []))
        test.assertTrue(test.ensured(self.share, test.GOOD).error)
        test.driver.delete_share(self.share)
        test.assertEqual(set(), test.in_force(self.share), 'a late call brought it back')
        again = test.a_share(0)
        test.driver.manage_share(again, self.share.export_locations[0].path, {})
        test.assertEqual('first', test.read(again))
        test.driver.delete_share(again)

    def verify_kept(self) -> None:
        self.test.assertEqual(
            ('mine', set(self.test.OTHER)),
            (self.test.read(self.bystander), self.test.in_force(self.bystander)),
        )


class _OfSnapshot(cases.Case):
    ABILITY = interface.ManagesSnapshots
    BESIDE = False

    def arrange(self) -> None:
        self.share = self.test.made_share(rules=self.test.GOOD)
        self.old = self.test.made_snapshot(self.share)
        self.test.write(self.share, 'later')

    def verify_kept(self) -> None:
        self.test.assertEqual(
            ('later', set(self.test.GOOD)), (self.test.read(self.share), self.test.in_force(self.share))
        )

    def content(self, snapshot: values.Snapshot) -> str:
        clone = self.test.a_share()
        self.test.driver.create_share_from_snapshot(clone, snapshot)
        return self.test.read(clone)

    def is_gone(self, snapshot: values.Snapshot) -> None:
        self.test.assertRaises(
            errors.Final, self.test.driver.create_share_from_snapshot, self.test.a_share(), snapshot
        )


class ManageSnapshot(_OfSnapshot):
    METHOD = 'manage_snapshot'

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.unmanage_snapshot(self.old)
        self.snapshot = dataclasses.replace(
            self.test.a_snapshot(self.share), provider_location=self.old.provider_location
        )
        self.args = (self.snapshot, {})

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(1, answer.size)
        self.test.driver.delete_snapshot(self.old)
        self.is_gone(self.old)
        mine = dataclasses.replace(self.snapshot, provider_location=answer.provider_location)
        self.test.assertEqual('first', self.content(mine))
        self.test.driver.unmanage_snapshot(mine)
        again = dataclasses.replace(
            self.test.a_snapshot(self.share), provider_location=answer.provider_location
        )
        self.test.driver.manage_snapshot(again, {})
        self.test.assertEqual('first', self.content(again))


class UnmanageSnapshot(_OfSnapshot):
    METHOD = 'unmanage_snapshot'

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.old,)

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.is_gone(self.old)
        self.test.driver.delete_snapshot(self.old)
        again = dataclasses.replace(
            self.test.a_snapshot(self.share), provider_location=self.old.provider_location
        )
        self.test.driver.manage_snapshot(again, {})
        self.test.assertEqual('first', self.content(again))


CASES = (ManageShare, UnmanageShare, ManageSnapshot, UnmanageSnapshot)


class EveryManageCall(calls.EveryCall):
    """Mixin for a ``base.Binding``."""

    scenarios = [(case.__name__, {'case_class': case}) for case in CASES]


class ManageEdgeCases:
    """Mixin for a ``base.Binding``."""

    def test_unknown_paths_and_managed_shares_are_refused(self):
        self.needs(interface.ManagesShares)
        share = self.made_share(rules=self.GOOD)
        [path, *_] = [location.path for location in share.export_locations]
        new = self.a_share(0)
        self.assertRaises(errors.Final, self.driver.manage_share, new, path, {})
        for way in ('none', '../none', '', 'a\0b'):
            wrong = path.replace(share.id, way)
            self.assertRaises(errors.Final, self.driver.manage_share, new, wrong, {})
        self.driver.unmanage_share(new)
        self.assertEqual(('first', set(self.GOOD)), (self.read(share), self.in_force(share)))
        self.assertTrue(self.ensured(new).error)

    def test_share_of_another_protocol_is_refused(self):
        self.needs(interface.ManagesShares)
        share = self.made_share()
        self.driver.unmanage_share(share)
        [path, *_] = [location.path for location in share.export_locations]
        odd = dataclasses.replace(
            self.a_share(0), proto='ODDFS', export_locations=(values.ExportLocation(path),)
        )
        self.assertRaises(errors.Final, self.driver.manage_share, odd, path, {})
        self.driver.unmanage_share(odd)
        self.assertEqual(1, self.driver.manage_share(self.a_share(0), path, {}).size)

    def test_failed_takeover_changes_nothing(self):
        self.needs(interface.ManagesShares)
        share = self.made_share()
        self.driver.unmanage_share(share)
        [path, *_] = [location.path for location in share.export_locations]
        half = self.a_share(0)
        self.driver.manage_share(half, path, {})
        self.driver.unmanage_share(dataclasses.replace(half, export_locations=(values.ExportLocation(path),)))
        new = self.a_share(0)
        self.assertEqual(1, self.driver.manage_share(new, path, {}).size)
        self.assertEqual('first', self.read(new))
        self.assertRaises(errors.Final, self.driver.manage_share, half, path, {})

    def test_snapshots_that_cannot_be_taken_over(self):
        self.needs(interface.ManagesSnapshots)
        share, other = self.made_share(), self.made_share()
        old = self.made_snapshot(other)
        self.driver.unmanage_snapshot(old)
        for place in ('', 'none', old.provider_location.replace(old.id, 'none'), old.provider_location):
            new = dataclasses.replace(self.a_snapshot(share), provider_location=place)
            self.assertRaises(errors.Final, self.driver.manage_snapshot, new, {})
            self.driver.unmanage_snapshot(new)
        self.driver.manage_snapshot(
            dataclasses.replace(self.a_snapshot(other), provider_location=old.provider_location), {}
        )
