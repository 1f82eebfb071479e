# SPDX-License-Identifier: Apache-2.0
"""Cases beside single good calls: unknown ids, odd values, honest reports, many calls at once."""

import dataclasses
import os

from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.tests.compliance import base, cases

_WILD = '"; } EXPORT { Path = "/"; } \'$(false)\' ../../\n\tö'


class EdgeCases:
    """Mixin for a ``base.Binding``."""

    def _unknown_share(self, **changes) -> values.Share:
        return self.a_share(**changes)

    def _unknown_snapshot(self, share: values.Share) -> values.Snapshot:
        return values.Snapshot(cases.unknown(), share, share.size)

    def test_deleting_what_is_not_there_is_a_success(self):
        share = self.made_share()
        self.assertIsNone(self.driver.delete_share(self._unknown_share()))
        if isinstance(self.driver, interface.Snapshots):
            self.assertIsNone(self.driver.delete_snapshot(self._unknown_snapshot(share)))
            self.assertIsNone(self.driver.delete_snapshot(self._unknown_snapshot(self._unknown_share())))
        self.assertEqual('first', self.read(share))

    def test_share_that_is_not_there_cannot_be_resized(self):
        self.needs(interface.Resizes)
        self.assertRaises(errors.Final, self.driver.extend_share, self._unknown_share(), 2)
        self.assertRaises(errors.Final, self.driver.shrink_share, self._unknown_share(size=2), 1)

    def test_share_that_is_not_there_has_no_snapshots(self):
        self.needs(interface.Snapshots)
        self.assertRaises(
            errors.Final, self.driver.create_snapshot, self._unknown_snapshot(self._unknown_share())
        )

    def test_snapshot_that_is_not_there_cannot_be_cloned(self):
        self.needs(interface.Clones)
        clone = self.a_share()
        self.assertRaises(
            errors.Final,
            self.driver.create_share_from_snapshot,
            clone,
            self._unknown_snapshot(self.made_share()),
        )
        self.assertTrue(self.ensured(clone).error, 'half a share was left behind')

    def test_snapshot_that_is_not_there_cannot_be_reverted_to(self):
        self.needs(interface.Reverts)
        share = self.made_share(rules=self.GOOD)
        self.assertRaises(errors.Final, self.driver.revert_to_snapshot, self._unknown_snapshot(share))
        self.assertEqual('first', self.read(share))
        self.assertEqual(set(self.GOOD), self.in_force(share))

    def test_snapshot_is_served_again_after_a_loss(self):
        self.needs(interface.MountsSnapshots)
        share = self.made_share(rules=self.GOOD)
        snapshot = self.made_snapshot(share)
        rules = [dataclasses.replace(rule, level='ro') for rule in self.rules(self.GOOD)]
        before = self.driver.serve_snapshot(snapshot, rules)
        self.lose_power()
        self.ensured(share, self.GOOD)
        self.assertEqual(before, self.driver.serve_snapshot(snapshot, rules))
        self.assertEqual({(kind, to, 'ro') for kind, to, _ in self.GOOD}, self.in_force_of_snapshot(snapshot))
        self.assertEqual(set(self.GOOD), self.in_force(share))

    def test_rules_of_a_share_that_is_not_there(self):
        self.assertRaises(
            errors.Final, self.driver.update_access, self._unknown_share(), self.rules(self.GOOD)
        )

    def test_pool_that_is_not_there(self):
        self.assertRaises(errors.Final, self.driver.create_share, self._unknown_share(pool='no-such-pool'))

    def test_protocol_that_is_not_served(self):
        self.assertNotIn('MAPRFS', self.driver.PROTOCOLS)
        self.assertRaises(errors.Final, self.driver.create_share, self._unknown_share(proto='MAPRFS'))

    def test_ids_that_are_no_file_names_reach_nothing(self):
        outside = sorted(os.listdir(self.root))
        for instance_id in ('', '..', '../escape', '../../escape', '/escape', 'a/b', 'a\nb'):
            share = values.Share(instance_id, 'x', 'p', 1, 'NFS', self.driver.report()[0].name)
            self.assertRaises(errors.Final, self.driver.create_share, share)
            self.assertRaises(errors.Final, self.driver.delete_share, share)
        self.assertEqual(outside, sorted(os.listdir(self.root)))

    def test_names_are_only_names(self):
        share = self.a_share(name=_WILD, project_id=_WILD, extra_specs={_WILD: _WILD})
        locations = tuple(self.driver.create_share(share))
        self.assertEqual(locations, tuple(self.ensured(share, self.GOOD).export_locations))
        self.assertEqual(set(self.GOOD), self.in_force(share))
        self.driver.delete_share(share)
        self.assertTrue(self.ensured(share).error)

    def test_each_bad_rule_harms_no_good_one(self):
        share = self.made_share()
        for row in self.BAD:
            bad, *good = self.rules((row, *self.GOOD))
            for order in ([bad, *good], [*good, bad]):
                results = self.driver.update_access(share, order)
                self.assertEqual([bad.id], [rule_id for rule_id, result in results.items() if result.error])
                self.assertEqual(set(self.GOOD), self.in_force(share))

    def test_rules_are_exactly_those_given(self):
        share = self.made_share()
        for rows in (
            self.GOOD,
            self.OTHER,
            self.GOOD[:1],
            (),
            self.OTHER + self.GOOD[1:],
            reversed(self.GOOD),
            (),
        ):
            rules = self.rules(rows)
            results = self.driver.update_access(share, rules)
            self.assertEqual(
                {rule.id: None for rule in rules},
                {rule_id: result.error for rule_id, result in results.items()},
            )
            self.assertEqual({(rule.type, rule.to, rule.level) for rule in rules}, self.in_force(share))

    def test_shares_are_served_while_the_process_is_down(self):
        share = self.made_share(rules=self.GOOD)
        self.driver.shutdown()
        self.assertEqual(set(self.GOOD), self.in_force(share))
        self.assertEqual('first', self.read(share))

    def test_setup_adopts_what_is_there(self):
        share = self.made_share(rules=self.GOOD)
        self.restart()
        self.driver.setup()
        self.assertEqual(set(self.GOOD), self.in_force(share))
        self.assertEqual('first', self.read(share))

    def test_ensuring_gives_no_access_back_that_was_denied_since_the_call_began(self):
        share = self.made_share(rules=self.GOOD)
        self.driver.update_access(share, [])
        late = values.EnsureTarget(share, tuple(self.rules(self.GOOD)), lambda: ())
        self.assertIsNone(self.driver.ensure_shares([late])[share.id].error)
        self.assertEqual(set(), self.in_force(share))

    def test_ensuring_nothing(self):
        self.assertEqual({}, self.driver.ensure_shares([]))

    def test_ensuring_what_is_well_changes_nothing(self):
        shares = [self.made_share(rules=self.GOOD), self.made_share(content='second', rules=self.OTHER)]
        targets = [
            values.EnsureTarget(share, tuple(self.rules(rules)))
            for share, rules in zip(shares, (self.GOOD, self.OTHER), strict=True)
        ]
        for _ in range(2):
            results = self.driver.ensure_shares(targets)
            self.assertEqual(
                [(share.export_locations, None, ()) for share in shares],
                [
                    (tuple(result.export_locations), result.error, tuple(result.repaired))
                    for result in map(results.get, (share.id for share in shares))
                ],
            )
            self.assertEqual([set(self.GOOD), set(self.OTHER)], list(map(self.in_force, shares)))
            self.assertEqual(['first', 'second'], list(map(self.read, shares)))

    def test_ensuring_reports_missing_shares_and_makes_none(self):
        missing = self._unknown_share()
        for _ in range(2):
            result = self.ensured(missing, self.GOOD)
            self.assertTrue(result.error)
            self.assertEqual((), tuple(result.repaired))
        self.assertRaises(errors.Final, self.driver.update_access, missing, self.rules(self.GOOD))

    def test_report_has_free_capacity(self):
        pools = self.driver.report()
        self.assertTrue(pools)
        self.assertEqual(len(pools), len({pool.name for pool in pools}))
        for pool in pools:
            self.assertGreater(pool.total_gb, 0)
            self.assertLessEqual(0, pool.free_gb)
            self.assertLessEqual(pool.free_gb, pool.total_gb)
            self.assertNotIn('#', pool.name)

    def test_report_is_honest(self):
        pools = self.driver.report()
        self.assertTrue(pools)
        for pool in pools:
            true = interface.capabilities_of(self.driver)
            del true['driver_handles_share_servers']
            self.assertEqual(true, {flag: pool.capabilities.get(flag, False) for flag in true})
            # The manager adds this capability for drivers that do not report it.
            self.assertIs(
                self.driver.HANDLES_SHARE_SERVERS,
                pool.capabilities.get('driver_handles_share_servers', self.driver.HANDLES_SHARE_SERVERS),
            )
            self.assertEqual(
                self.driver.PROTOCOLS, frozenset(pool.capabilities['storage_protocol'].split('_'))
            )

    def test_a_share_is_mounted_by_the_name_that_was_chosen(self):
        supported = [pool.capabilities.get('mount_point_name_support') for pool in self.driver.report()]
        self.assertTrue(supported and all(supported), supported)
        share = self.a_share(mount_point_name=f'team_{uuidutils.generate_uuid(dashed=False)}')
        locations = tuple(self.driver.create_share(share))
        self.assertTrue(locations)
        for location in locations:
            self.assertTrue(
                location.path.endswith((f'/{share.mount_point_name}', f'\\{share.mount_point_name}')),
                location,
            )
        share = dataclasses.replace(share, export_locations=locations)
        self.assertEqual(locations, tuple(self.ensured(share, self.GOOD).export_locations))

    def test_many_shares_at_once(self):
        shares = [self.a_share() for _number in range(6)]
        for started in [base.Background(self.driver.create_share, share) for share in shares]:
            self.assert_locations(started.ended())
        workers = [
            base.Background(self.driver.update_access, share, self.rules(self.GOOD)) for share in shares[:3]
        ]
        workers += [base.Background(self.driver.delete_share, share) for share in shares[3:]]
        workers.append(base.Background(self.driver.report))
        for started in workers:
            started.ended()
        self.assertEqual([set(self.GOOD)] * 3, [self.in_force(share) for share in shares[:3]])
        self.assertEqual([True] * 3, [bool(self.ensured(share).error) for share in shares[3:]])
