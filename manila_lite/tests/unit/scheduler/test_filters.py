# SPDX-License-Identifier: Apache-2.0

import dataclasses

import testscenarios
import testtools

from manila_lite.db.queries import messages
from manila_lite.scheduler.filters import (
    affinity,
    availability_zone,
    capabilities,
    capacity,
    create_from_snapshot,
    driver_handles_share_servers,
    excluded,
    only_host,
    protocol,
    share_network,
    share_replication,
    up,
)
from manila_lite.scheduler.interface import PlacementRequest, PoolState

POOL = PoolState(
    'h1@b1#p1',
    'nova',
    {
        'storage_protocol': 'NFS_CIFS',
        'driver_handles_share_servers': False,
        'snapshot_support': True,
        'replication_domain': 'east',
    },
    100.0,
    50.0,
)


def asks(**specs):
    return {'extra_specs': {key.replace('__', ':'): text for key, text in specs.items()}}


def has(**reported):
    return {'capabilities': {**POOL.capabilities, **reported}}


# Filter, fields of the request, fields of the pool, part of the reason or None.
CASES = [
    (up.Up, {}, {}, None),
    (up.Up, {}, {'up': False}, 'is down'),
    (up.Up, {}, {'disabled': True}, 'is disabled'),
    (up.Up, {'even_disabled': True}, {'disabled': True}, None),
    (up.Up, {'even_disabled': True}, {'up': False}, 'is down'),
    (excluded.Excluded, {'excluded': {'h1@b1#p2': 'disk full'}}, {}, None),
    (excluded.Excluded, {'excluded': {'h1@b1#p1': 'disk full'}}, {}, 'failed: disk full'),
    (excluded.Excluded, {'excluded': {'h1@b1': 'no quota'}}, {}, 'failed: no quota'),
    (excluded.Excluded, {'excluded': {'h1@b1#p1': ''}}, {}, 'failed: '),
    (only_host.OnlyHost, {'only_host': 'h1@b1#p1'}, {}, None),
    (only_host.OnlyHost, {'only_host': 'h1@b1'}, {}, None),
    (only_host.OnlyHost, {'only_host': 'h1'}, {}, None),
    (only_host.OnlyHost, {'only_host': 'h1@b'}, {}, 'for h1@b only'),
    (only_host.OnlyHost, {'only_host': 'h1@b1#p'}, {}, 'for h1@b1#p only'),
    (availability_zone.AvailabilityZone, {}, {'availability_zone': None}, None),
    (availability_zone.AvailabilityZone, {'availability_zone': 'nova'}, {}, None),
    (
        availability_zone.AvailabilityZone,
        {'availability_zone': 'nov'},
        {},
        "zone 'nov', the pool is in 'nova'",
    ),
    (availability_zone.AvailabilityZone, asks(availability_zones='x, nova'), {}, None),
    (availability_zone.AvailabilityZone, asks(availability_zones=''), {}, None),
    (
        availability_zone.AvailabilityZone,
        asks(availability_zones='nova2,supernova'),
        {},
        "availability_zones='nova2,supernova', the pool is in 'nova'",
    ),
    (
        availability_zone.AvailabilityZone,
        {'availability_zone': 'nova', **asks(availability_zones='x')},
        {},
        "='x'",
    ),
    (availability_zone.AvailabilityZone, {'also': ({}, {'availability_zones': 'x'})}, {}, "='x'"),
    (
        driver_handles_share_servers.DriverHandlesShareServers,
        {'also': ({'driver_handles_share_servers': 'True'},)},
        {},
        "driver_handles_share_servers='True'",
    ),
    (driver_handles_share_servers.DriverHandlesShareServers, {}, {}, None),
    (
        driver_handles_share_servers.DriverHandlesShareServers,
        asks(driver_handles_share_servers='false'),
        {},
        None,
    ),
    (
        driver_handles_share_servers.DriverHandlesShareServers,
        asks(driver_handles_share_servers='True'),
        {},
        "driver_handles_share_servers='True', the pool reports False",
    ),
    (
        driver_handles_share_servers.DriverHandlesShareServers,
        asks(driver_handles_share_servers='False'),
        {'capabilities': {}},
        'reports no driver_handles_share_servers',
    ),
    (protocol.Protocol, {'proto': 'NFS'}, {}, None),
    (protocol.Protocol, {'proto': 'cifs'}, {}, None),
    (protocol.Protocol, {'proto': 'FS'}, {}, "protocol FS, the pool reports storage_protocol 'NFS_CIFS'"),
    (protocol.Protocol, {'proto': 'NFS'}, has(storage_protocol='GLUSTERFS_NFSX'), 'protocol NFS'),
    (protocol.Protocol, {'proto': 'CEPHFS'}, has(storage_protocol=['NFS', 'CEPHFS']), None),
    (protocol.Protocol, {'proto': 'NFS'}, {'capabilities': {}}, 'storage_protocol None'),
    (capabilities.Capabilities, {}, {}, None),
    (capabilities.Capabilities, {'also': ({'snapshot_support': 'True'}, {'vendor:key': 'x'})}, {}, None),
    (
        capabilities.Capabilities,
        {**asks(snapshot_support='True'), 'also': ({'a': '2'},)},
        {},
        "a='2', the pool reports no a",
    ),
    (capabilities.Capabilities, asks(snapshot_support='<is> True'), {}, None),
    (
        capabilities.Capabilities,
        asks(snapshot_support='<is> True'),
        has(snapshot_support=False),
        "the share type asks snapshot_support='<is> True', the pool reports False",
    ),
    (capabilities.Capabilities, asks(capabilities__snapshot_support='False'), {}, "snapshot_support='False'"),
    (
        capabilities.Capabilities,
        asks(
            netapp__thing='x',
            provisioning__min_share_size='5',
            availability_zones='q',
            driver_handles_share_servers='True',
        ),
        {},
        None,
    ),
    (capabilities.Capabilities, asks(default_qos_type='gold'), has(qos=True), None),
    (
        capabilities.Capabilities,
        asks(default_qos_type='gold'),
        has(qos=False),
        "qos='<is> True', the pool reports False",
    ),
    (capabilities.Capabilities, asks(b='1', a='2'), {}, "a='2', the pool reports no a"),
    (capabilities.Capabilities, asks(thin_provisioning='<is> True'), {}, 'the pool reports False'),
    (capabilities.Capabilities, asks(thin_provisioning='<is> True'), {'thin_provisioning': True}, None),
    (
        capabilities.Capabilities,
        asks(thin_provisioning='<is> False'),
        {'thin_provisioning': True, **has(thin_provisioning=[True, False])},
        None,
    ),
    (create_from_snapshot.CreateFromSnapshot, {'source_host': 'h1@b1#p9'}, {}, None),
    (
        create_from_snapshot.CreateFromSnapshot,
        {'source_host': 'h2@b1#p1'},
        {},
        'the snapshot is on h2@b1, the pool is on h1@b1',
    ),
    (affinity.Affinity, {'same_hosts': frozenset({'h1@b1#p1', 'h2@b1#p1'})}, {}, None),
    (affinity.Affinity, {'same_hosts': frozenset({'h1@b1'})}, {}, None),
    (
        affinity.Affinity,
        {'same_hosts': frozenset({'h1@b1#p2', 'h2@b1'})},
        {},
        'asks for a pool of the shares that it names',
    ),
    (affinity.AntiAffinity, {'different_hosts': frozenset({'h1@b1#p2', 'h2@b1'})}, {}, None),
    (
        affinity.AntiAffinity,
        {'different_hosts': frozenset({'h1@b1#p1'})},
        {},
        'away from the pools of the shares',
    ),
    (
        affinity.AntiAffinity,
        {'different_hosts': frozenset({'h1@b1', 'h7'})},
        {},
        'away from the pools of the shares',
    ),
    (share_network.ShareNetwork, {}, {}, None),
    (share_network.ShareNetwork, {'subnets': {'z': 1}}, {'availability_zone_id': 'z'}, None),
    (share_network.ShareNetwork, {'subnets': {None: 1}}, {'availability_zone_id': 'z'}, None),
    (share_network.ShareNetwork, {'subnets': {'z': 1, None: 2}}, {'availability_zone_id': 'z'}, None),
    (
        share_network.ShareNetwork,
        {'subnets': {'y': 1}},
        {'availability_zone_id': 'z'},
        "no subnet in zone 'nova'",
    ),
    (share_network.ShareNetwork, {'subnets': {}}, {'availability_zone_id': 'z'}, "no subnet in zone 'nova'"),
    *(
        (
            share_network.ShareNetwork,
            {'subnets': {zone: count}},
            {'availability_zone_id': 'z', **has(share_server_multiple_subnet_support=several)},
            reason and f'has {count} {reason}',
        )
        for zone in ('z', None)
        for count in (2, 3)
        for several, reason in (
            (True, None),
            (False, "subnets in zone 'nova', and the pool has no share_server_multiple"),
        )
    ),
    (share_network.ShareNetwork, {'subnets': {'z': 2}}, {'availability_zone_id': 'z'}, 'and the pool has no'),
    (capacity.Capacity, {'size': 50}, {}, None),
    (
        capacity.Capacity,
        {'size': 51},
        {},
        '51 GiB asked for, 50 GiB left: free 50 GiB of 100 GiB, 0 % reserved, 0 GiB',
    ),
]


class TestFilters(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (f'{kind.__name__}-{number}', {'kind': kind, 'asked': asked, 'held': held, 'reason': reason})
        for number, (kind, asked, held, reason) in enumerate(CASES)
    ]

    def test_check_returns_none_or_the_reason(self):
        request, pool = PlacementRequest(**{'size': 1, **self.asked}), dataclasses.replace(POOL, **self.held)
        item = self.kind()
        self.assertTrue(item.applies(request))
        found = item.check(request, pool)
        if self.reason is None:
            self.assertIsNone(found)
        else:
            self.assertIn(self.reason, found)


KINDS = sorted({case[0] for case in CASES}, key=lambda kind: kind.__name__)

# Fields that a static filter may read; all others of a pool or a request may change without a new verdict.
STATIC_REQUEST = {'size', 'extra_specs', 'proto', 'availability_zone', 'also'}
STATIC_POOL = {'host', 'availability_zone', 'capabilities', 'thin_provisioning'}


class Spy:
    """A stand-in for a value that notes which of its fields are read."""

    def __init__(self, value, seen):
        self._value, self._seen = value, seen

    def __getattr__(self, name):
        if name in {field.name for field in dataclasses.fields(self._value)}:
            self._seen.add(name)
        return getattr(self._value, name)


class TestEveryFilter(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [(kind.__name__, {'kind': kind}) for kind in KINDS]

    def test_a_plain_request_passes(self):
        request = PlacementRequest(1, only_host='h1', source_host='h1@b1#p1', same_hosts=frozenset({'h1'}))
        self.assertIsNone(self.kind().check(request, POOL))

    def test_filter_has_refusing_and_passing_cases(self):
        reasons = [case[3] for case in CASES if case[0] is self.kind]
        self.assertIn(None, reasons)
        self.assertTrue(any(reasons))

    def test_static_filter_reads_only_the_cached_fields(self):
        for kind, asked, held, _reason in CASES:
            if kind is self.kind and kind.static:
                seen_request, seen_pool = set(), set()
                kind().check(
                    Spy(PlacementRequest(**{'size': 1, **asked}), seen_request),
                    Spy(dataclasses.replace(POOL, **held), seen_pool),
                )
                self.assertEqual(set(), seen_request - STATIC_REQUEST)
                self.assertEqual(set(), seen_pool - STATIC_POOL)

    def test_detail_is_a_user_message(self):
        self.assertIsNot(messages.Detail.UNKNOWN_ERROR, messages.Detail.named(self.kind.detail))


class TestRollback(testtools.TestCase):
    def test_details_of_refusals_are_those_that_make_clients_roll_back(self):
        # manila-csi deletes the share that it asked for at these details and no others.
        for kind in (
            up.Up,
            excluded.Excluded,
            capacity.Capacity,
            capabilities.Capabilities,
            protocol.Protocol,
            availability_zone.AvailabilityZone,
            affinity.Affinity,
            affinity.AntiAffinity,
            only_host.OnlyHost,
        ):
            self.assertIn(messages.Detail.named(kind.detail).value[0], ('002', '003', '007', '008', '009'))


class TestWithoutHints(testtools.TestCase):
    def test_filters_for_hints_do_not_apply(self):
        for kind in (
            excluded.Excluded,
            only_host.OnlyHost,
            affinity.Affinity,
            affinity.AntiAffinity,
            create_from_snapshot.CreateFromSnapshot,
        ):
            self.assertFalse(kind().applies(PlacementRequest(1)))


class TestShareReplication(testtools.TestCase):
    ASKS = {'replication_type': 'dr'}

    def refused(self, host, capabilities, **asked):
        item = share_replication.ShareReplication()
        pools = [PoolState('a@home#1', capabilities={'replication_domain': 'east'})]
        request = PlacementRequest(1, self.ASKS, **asked)
        self.assertTrue(item.applies(request))
        return item.check(item.prepare(request, pools), PoolState(host, capabilities=capabilities))

    def test_replicated_share_needs_a_replication_domain(self):
        self.assertFalse(share_replication.ShareReplication().applies(PlacementRequest(1)))
        self.assertIn('no replication domain', self.refused('a@b#1', {}))
        self.assertIsNone(self.refused('a@b#1', {'replication_domain': 'west'}))

    def test_replica_needs_the_same_domain_and_another_backend(self):
        there = {'active_host': 'a@home#1', 'replica_hosts': frozenset({'a@home', 'a@full'})}
        east = {'replication_domain': 'east'}
        self.assertIsNone(self.refused('a@b#1', east, **there))
        self.assertIn('already', self.refused('a@full#2', east, **there))
        self.assertIn('west', self.refused('a@b#1', {'replication_domain': 'west'}, **there))
        self.assertIn('none', self.refused('a@b#1', east, active_host='gone@home#1'))
