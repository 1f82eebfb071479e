# SPDX-License-Identifier: Apache-2.0
"""Peculiarities of the dummy driver: its knobs, its pools, its records. Tests of every driver are in tests/compliance."""

import threading
from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

from manila_lite import errors, values
from manila_lite.conf import backend as backend_conf
from manila_lite.drivers import interface, load
from manila_lite.drivers.dummy import knobs, options, report, store
from manila_lite.drivers.dummy.driver import DummyDriver
from manila_lite.tests import waiting


def a_share(share_id: str = 's1', **changes) -> values.Share:
    return values.Share(
        **{
            'id': share_id,
            'share_id': f'share-of-{share_id}',
            'project_id': 'p',
            'size': 1,
            'proto': 'NFS',
            'pool': 'pool1',
        }
        | changes
    )


def a_rule(rule_id: str, kind: str = 'ip', to: str = '10.0.0.0/8', level: str = 'rw') -> values.AccessRule:
    return values.AccessRule(rule_id, kind, to, level)


class DummyCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state_dir = Path(self.useFixture(fixtures.TempDir()).path) / 'state'

    def make(self, **values) -> interface.ShareDriver:
        conf = cfg.ConfigOpts()
        conf([], project='manila_lite', default_config_files=[])
        conf.register_opts(options.OPTIONS, group='d')
        backend_conf.register_backend(conf, 'd')
        for name, value in values.items():
            conf.set_override(name, value, group='d')
        driver = load.make('dummy', 'd', 'h@d', conf, self.state_dir)
        driver.setup()
        self.addCleanup(driver.shutdown)
        return driver


class KnobsTest(DummyCase):
    def test_all_calls_of_the_contract_have_knobs(self):
        wanted = {
            'setup',
            'report',
            'create_share',
            'delete_share',
            'update_access',
            'ensure_shares',
            'extend_share',
            'shrink_share',
            'create_snapshot',
            'delete_snapshot',
            'create_share_from_snapshot',
            'revert_to_snapshot',
        }
        self.assertLessEqual(wanted, knobs.METHODS)
        driver = self.make()
        plain = [name for name in knobs.METHODS if not hasattr(getattr(driver, name), '__wrapped__')]
        self.assertEqual([], plain)

    def test_each_method_with_knobs_can_be_named_in_one(self):
        with_knobs = {name for name in dir(DummyDriver) if hasattr(getattr(DummyDriver, name), '__wrapped__')}
        self.assertEqual(knobs.METHODS, with_knobs)

    def test_valid_lines_are_parsed_as_knobs(self):
        for text, knob in (
            ('create_share:delay=2', {'method': 'create_share', 'action': 'delay', 'seconds': 2.0}),
            ('*:delay=0.5@times=3', {'method': '*', 'action': 'delay', 'seconds': 0.5, 'times': 3}),
            ('delete_share:fail_final', {'method': 'delete_share', 'action': 'fail_final'}),
            (
                'delete_share:fail_after@once',
                {'method': 'delete_share', 'action': 'fail', 'after': True, 'times': 1},
            ),
            ('extend_share:die_before', {'method': 'extend_share', 'action': 'die'}),
        ):
            self.assertEqual(knobs.Knob(text=text, **knob), knobs.Knob.parse(text))

    def test_invalid_knob_texts_are_refused(self):
        for text in (
            '',
            'create_share',
            'create_share:',
            'create_share:explode',
            'make_share:fail',
            'create_share:fail@',
            'create_share:delay=long',
            'create_share:fail@twice',
            'check:fail',
        ):
            self.assertRaises(ValueError, knobs.Knob.parse, text)

    def test_fail_may_be_tried_again_and_final_may_not(self):
        driver = self.make(dummy_knobs=['create_share:fail@once', 'delete_share:fail_final'])
        self.assertRaises(ConnectionError, driver.create_share, a_share())
        self.assertIsNone(driver.store.shares.get('s1'))
        self.assertTrue(driver.create_share(a_share()))
        self.assertRaises(errors.Final, driver.delete_share, a_share())
        self.assertRaises(errors.Final, driver.delete_share, a_share())
        self.assertIsNotNone(driver.store.shares.get('s1'))

    def test_fail_after_has_done_the_work(self):
        driver = self.make(dummy_knobs=['create_share:fail_after@once'])
        self.assertRaises(ConnectionError, driver.create_share, a_share())
        self.assertIsNotNone(driver.store.shares.get('s1'))

    def test_file_is_read_at_each_call(self):
        driver = self.make()
        driver.create_share(a_share())
        outside = knobs.Knobs(self.state_dir)
        outside.turn('create_share:fail_final')
        self.assertRaises(errors.Final, driver.create_share, a_share('s2'))
        outside.turn()
        self.assertTrue(driver.create_share(a_share('s2')))

    def test_nonsense_is_not_written_to_the_file(self):
        outside = knobs.Knobs(self.state_dir)
        outside.turn('create_share:fail')
        self.assertRaises(ValueError, outside.turn, 'delete_share:fail', 'create_share:explode')
        self.assertEqual('create_share:fail\n', (self.state_dir / 'knobs').read_text())

    def test_uses_are_counted_across_restarts_until_turned_again(self):
        text = 'create_share:fail@times=2'
        self.make().knobs.turn(text)
        self.assertRaises(ConnectionError, self.make().create_share, a_share())
        self.assertRaises(ConnectionError, self.make().create_share, a_share())
        self.assertTrue(self.make().create_share(a_share()))
        self.make().knobs.turn(text)
        self.assertRaises(ConnectionError, self.make().create_share, a_share())

    def test_hang_ends_when_the_knob_is_gone(self):
        driver = self.make()
        driver.knobs.turn('create_share:hang')
        caller = threading.Thread(target=driver.create_share, args=(a_share(),), daemon=True)
        caller.start()
        caller.join(0.3)
        self.assertTrue(caller.is_alive())
        self.assertIsNone(driver.store.shares.get('s1'))
        driver.knobs.turn()
        caller.join(waiting.LIMIT)
        self.assertFalse(caller.is_alive())
        self.assertIsNotNone(driver.store.shares.get('s1'))

    def test_hang_ends_at_shutdown(self):
        driver = self.make(dummy_knobs=['create_share:hang'])
        threading.Timer(0.1, driver.shutdown).start()
        self.assertRaises(ConnectionError, driver.create_share, a_share())

    def test_partial_knob_shortens_the_results(self):
        driver = self.make(dummy_knobs=['ensure_shares:partial', 'create_share:partial@once'])
        self.assertEqual(1, len(driver.create_share(a_share('s1'))))
        self.assertEqual(2, len(driver.create_share(a_share('s2'))))
        targets = [values.EnsureTarget(a_share(name)) for name in ('s1', 's2')]
        self.assertEqual(['s1'], list(driver.ensure_shares(targets)))

    def test_refused_shrink_keeps_the_size(self):
        driver = self.make(dummy_knobs=['shrink_share:refuse'])
        driver.create_share(a_share(size=5))
        self.assertRaises(errors.RefusedShrink, driver.shrink_share, a_share(size=5), 2)
        self.assertEqual(5, driver.store.share('s1').size)

    def test_calls_are_counted(self):
        driver = self.make()
        driver.create_share(a_share())
        driver.ensure_shares([values.EnsureTarget(a_share(name)) for name in ('s1', 's2')])
        driver.report()
        self.assertEqual(
            [('setup', '-'), ('create_share', 's1'), ('ensure_shares', 's1,s2'), ('report', '-')],
            driver.store.calls(),
        )
        self.assertEqual([('create_share', 's1')], store.Store(self.state_dir).calls('create_share'))


class PoolsTest(DummyCase):
    def test_thick_pool_reserves_the_promised_sizes(self):
        driver = self.make(dummy_pools=['pool1', 'pool2'], dummy_pool_size_gb=10, dummy_reserved_percentage=5)
        driver.create_share(a_share(size=4))
        driver.create_share(a_share('s2', size=1, pool='pool2'))
        driver.write('s1', 'x', used=3)
        one, two = driver.report()
        self.assertEqual(
            ('pool1', 10, 6, 5, False, 1.0),
            (
                one.name,
                one.total_gb,
                one.free_gb,
                one.reserved_percentage,
                one.thin_provisioning,
                one.max_over_subscription_ratio,
            ),
        )
        self.assertEqual(('pool2', 9), (two.name, two.free_gb))

    def test_thin_pool_loses_only_the_written_space(self):
        driver = self.make(
            dummy_pool_size_gb=10, dummy_thin_provisioning=True, dummy_max_over_subscription_ratio=2
        )
        driver.create_share(a_share(size=15))
        driver.write('s1', 'x', used=3)
        (pool,) = driver.report()
        self.assertEqual(
            (7, True, 2.0), (pool.free_gb, pool.thin_provisioning, pool.max_over_subscription_ratio)
        )
        self.assertRaises(errors.Final, driver.create_share, a_share('s2', size=6))
        self.assertTrue(driver.create_share(a_share('s2', size=5)))

    def test_report_includes_changes_of_another_process(self):
        driver, other = self.make(dummy_pool_size_gb=10), self.make()
        self.assertEqual(10, driver.report()[0].free_gb)
        for size in (2, 3, 4):
            other.create_share(a_share(size=size))
            self.assertEqual(10 - size, driver.report()[0].free_gb)
            other.delete_share(a_share())
            self.assertEqual(10, driver.report()[0].free_gb)

    def test_full_pool_refuses_new_and_larger_shares(self):
        driver = self.make(dummy_pool_size_gb=10)
        driver.create_share(a_share(size=10))
        full = self.assertRaises(errors.Final, driver.create_share, a_share('s2', size=1))
        self.assertEqual('FILTER_CAPACITY', full.detail)
        self.assertRaises(errors.Final, driver.extend_share, a_share(size=10), 11)
        driver.extend_share(a_share(size=10), 10)

    def test_pool_filled_by_another_process_refuses_new_shares(self):
        driver, other = self.make(dummy_pool_size_gb=4), self.make(dummy_pool_size_gb=4)
        for number in range(3):
            (driver, other)[number % 2].create_share(a_share(f's{number}'))
        other.extend_share(a_share('s1'), 2)
        self.assertRaises(errors.Final, driver.create_share, a_share('s3'))
        other.delete_share(a_share('s0'))
        self.assertTrue(driver.create_share(a_share('s3')))
        self.assertRaises(errors.Final, other.create_share, a_share('s4'))

    def test_pool_smaller_than_its_shares_has_no_free_space(self):
        self.make(dummy_pool_size_gb=10).create_share(a_share(size=10))
        driver = self.make(dummy_pool_size_gb=5)
        self.assertEqual(0, driver.report()[0].free_gb)
        driver.extend_share(a_share(size=10), 10)
        driver.shrink_share(a_share(size=10), 4)
        self.assertEqual(1, driver.report()[0].free_gb)

    def test_concurrent_creates_do_not_overfill_the_pool(self):
        driver = self.make(dummy_pool_size_gb=5)
        refused = []

        def create(share_id: str) -> None:
            try:
                driver.create_share(a_share(share_id))
            except errors.Final:
                refused.append(share_id)

        threads = [threading.Thread(target=create, args=(f's{number}',)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(waiting.LIMIT)
        self.assertEqual(15, len(refused))
        self.assertEqual(0, driver.report()[0].free_gb)

    def test_capabilities_are_those_of_the_options(self):
        driver = self.make(
            dummy_capabilities={'qos': 'True', 'tier': 'gold', 'snapshot_support': 'false'},
            dummy_export_ips=['10.0.0.1'],
        )
        said = driver.report()[0].capabilities
        self.assertEqual(
            (True, 'gold', False, True, False),
            (said['qos'], said['tier'], said['snapshot_support'], said['ipv4_support'], said['ipv6_support']),
        )
        self.assertEqual('NFS_CIFS', said['storage_protocol'])
        self.assertEqual({'NFS'}, self.make(dummy_protocols=['nfs']).PROTOCOLS)

    def test_without_abilities_their_flags_are_false(self):
        bases = interface.ShareDriver, interface.Snapshots
        promised = {name: None for base in bases for name in base.__abstractmethods__}
        plain = type('Plain', bases, promised)(self.make().backend)
        flags = report.capabilities(plain)
        self.assertEqual(
            (True, False, False),
            (
                flags['snapshot_support'],
                flags['create_share_from_snapshot_support'],
                flags['revert_to_snapshot_support'],
            ),
        )


class SharesTest(DummyCase):
    def test_exports_are_at_the_addresses_of_the_options(self):
        driver = self.make(dummy_admin_export_ip='192.0.2.1')
        self.assertEqual(
            [
                values.ExportLocation('10.0.0.1:/shares/s1', preferred=True),
                values.ExportLocation('[fd00::1]:/shares/s1'),
                values.ExportLocation('192.0.2.1:/shares/s1', is_admin_only=True),
            ],
            driver.create_share(a_share()),
        )
        self.assertEqual('\\\\10.0.0.1\\s2', driver.create_share(a_share('s2', proto='cifs'))[0].path)
        self.assertEqual(
            '10.0.0.1:/shares/mine', driver.create_share(a_share('s3', mount_point_name='mine'))[0].path
        )

    def test_unsupported_rules_get_an_error(self):
        driver = self.make(dummy_access_types=['ip'])
        driver.create_share(a_share())
        results = driver.update_access(
            a_share(),
            [
                a_rule('good'),
                a_rule('type', 'user', 'joe'),
                a_rule('level', level='rwx'),
                a_rule('to', to='joe'),
            ],
        )
        self.assertEqual(
            {'good': False, 'type': True, 'level': True, 'to': True},
            {name: bool(result.error) for name, result in results.items()},
        )
        self.assertEqual({'good': ['ip', '10.0.0.0/8', 'rw']}, driver.store.share('s1').rules)
        self.assertIsNone(self.make().update_access(a_share(), [a_rule('joe', 'user', 'joe')])['joe'].error)

    def test_rules_of_a_deleted_share_are_refused(self):
        driver = self.make()
        self.assertEqual({}, driver.update_access(a_share(), []))
        self.assertRaises(errors.Final, driver.update_access, a_share(), [a_rule('r')])

    def test_protocol_that_is_not_served(self):
        self.assertRaises(errors.Final, self.make(dummy_protocols=['CIFS']).create_share, a_share())

    def test_drafts_of_dead_processes_are_deleted_at_setup(self):
        driver = self.make()
        driver.create_share(a_share())
        draft = self.state_dir / 'shares' / '.draft'
        draft.write_text('{"id": "s')
        self.assertEqual(['s1'], [record.id for record in driver.store.shares.all()])
        driver.setup()
        self.assertFalse(draft.exists())
        self.assertEqual('s1', driver.store.share('s1').id)

    def test_ids_that_are_no_file_names_are_refused(self):
        records = self.make().store.shares
        for record_id in ('', '.', '..', '../x', 'a/b', '.hidden'):
            self.assertRaises(errors.Final, records.get, record_id)
            self.assertRaises(errors.Final, records.drop, record_id)

    def test_sums_of_sizes_follow_each_change_also_of_another_process(self):
        ours, theirs, reader = (self.make().store.shares for _ in range(3))

        def sums():
            found = {pool: sum(one.size for one in reader.all() if one.pool == pool) for pool in ('a', 'b')}
            self.assertEqual(
                [found] * 2, [{pool: records.allocated(pool) for pool in found} for records in (ours, theirs)]
            )
            return found

        self.assertEqual({'a': 0, 'b': 0}, sums())
        for share_id, pool, size in (('s1', 'a', 3), ('s2', 'b', 5), ('s1', 'a', 7), ('s2', 'a', 5)):
            record = ours.get(share_id) or store.ShareRecord(share_id, pool, size, 'NFS', share_id)
            record.pool, record.size = pool, size
            ours.put(record)
            sums()
        self.assertEqual({'a': 12, 'b': 0}, sums())
        theirs.drop('s1')
        theirs.put(store.ShareRecord('s3', 'b', 9, 'NFS', 's3'))
        self.assertEqual({'a': 5, 'b': 9}, sums())
        ours.drop('s2')
        self.assertEqual({'a': 0, 'b': 9}, sums())


def a_server(server_id: str = 'server', *addresses: str) -> values.ShareServer:
    given = [
        values.Allocation(
            f'a{address}', address, f'{address}/{64 if ":" in address else 24}', 6 if ':' in address else 4
        )
        for address in addresses or ('10.1.0.5', 'fd01::5')
    ]
    return values.ShareServer(
        server_id,
        tuple(
            values.ServerNetwork(
                f'n{allocation.ip_address}', allocation.cidr, allocation.ip_version, (allocation,)
            )
            for allocation in given
        ),
    )


class ServersTest(DummyCase):
    def make(self, **values) -> interface.ShareDriver:
        return super().make(**{'driver_handles_share_servers': True} | values)

    def test_abilities_follow_the_option(self):
        names = (
            'driver_handles_share_servers',
            'share_server_multiple_subnet_support',
            'network_allocation_update_support',
        )
        for handles in (True, False):
            driver = self.make(driver_handles_share_servers=handles)
            said = driver.report()[0].capabilities
            self.assertEqual({handles}, {said[name] for name in names})
            self.assertIs(handles, driver.HANDLES_SHARE_SERVERS)
            self.assertIs(handles, values.Ability.SUBNET_METADATA in interface.abilities_of(driver))
            self.assertIn(values.Ability.SHARE_SERVERS, interface.abilities_of(type(driver)))

    def test_a_capability_can_be_denied(self):
        driver = self.make(dummy_capabilities={'network_allocation_update_support': 'false'})
        self.assertIs(False, driver.report()[0].capabilities['network_allocation_update_support'])

    def test_number_of_addresses_follows_the_options(self):
        driver = self.make(dummy_allocations_per_subnet=3, dummy_admin_allocations=1)
        self.assertEqual((3, 1), (driver.ALLOCATIONS_PER_SUBNET, driver.ADMIN_ALLOCATIONS))

    def test_exports_are_at_the_addresses_of_the_server(self):
        driver = self.make()
        driver.setup_server(a_server())
        self.assertEqual(
            [
                values.ExportLocation('10.1.0.5:/shares/s1', preferred=True),
                values.ExportLocation('[fd01::5]:/shares/s1'),
            ],
            driver.create_share(a_share(server=a_server())),
        )

    def test_deny_knob_refuses_the_check_of_a_new_subnet(self):
        driver = self.make(dummy_knobs=['check_update_share_server_network_allocations:deny@once'])
        driver.setup_server(a_server())
        call = (
            driver.check_update_share_server_network_allocations,
            a_server(),
            a_server('x', '10.2.0.5').networks[0],
            [],
            [],
        )
        self.assertIn('told to deny', str(self.assertRaises(errors.Final, *call)))
        self.assertIsNone(call[0](*call[1:]))

    def test_update_that_failed_after_its_work_is_completed_by_a_retry(self):
        driver = self.make(dummy_knobs=['update_share_server_network_allocations:fail_after@once'])
        driver.setup_server(a_server())
        driver.create_share(a_share(server=a_server()))
        call = (
            a_server(),
            a_server('x', '10.2.0.5').networks[0],
            [a_share(server=a_server()), a_share('gone')],
            [],
        )
        self.assertRaises(ConnectionError, driver.update_share_server_network_allocations, *call)
        update = driver.update_share_server_network_allocations(*call)
        self.assertEqual(
            ['10.1.0.5:/shares/s1', '10.2.0.5:/shares/s1', '[fd01::5]:/shares/s1'],
            [location.path for location in update.export_locations['s1']],
        )
        self.assertEqual(['gone'], list(update.lost))
        self.assertEqual('n10.1.0.5,nfd01::5,n10.2.0.5', update.details['subnets'])

    def test_metadata_of_a_subnet_outlives_an_update(self):
        driver = self.make()
        driver.setup_server(a_server())
        driver.update_share_network_subnet_from_metadata(
            a_server(), a_server().networks[0], {'quality': 'good'}
        )
        driver.update_share_server_network_allocations(
            a_server(), a_server('x', '10.2.0.5').networks[0], [], []
        )
        self.assertEqual({'n10.1.0.5': {'quality': 'good'}}, driver.store.server('server').metadata)

    def test_calls_are_noted_by_the_ids_of_servers(self):
        driver = self.make()
        driver.ensure_servers([a_server('one'), a_server('two')])
        driver.teardown_server(a_server('one'))
        self.assertEqual([('ensure_servers', 'one,two')], driver.store.calls('ensure_servers'))
        self.assertEqual([('teardown_server', 'one')], driver.store.calls('teardown_server'))
