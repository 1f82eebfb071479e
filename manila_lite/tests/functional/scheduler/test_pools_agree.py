# SPDX-License-Identifier: Apache-2.0
"""The scheduler and its pages agree: what a pool shows, a share type can require, and an administrator can try a backend."""

from manila_lite.db.queries import services
from manila_lite.tests.functional import base
from manila_lite.tests.functional.share_replicas.test_share_replicas import Replicating
from manila_lite.values import pools

#: Specs that are met, and that are not, for capabilities that change all the time, or are no plain values.
_GIVEN = {
    **dict.fromkeys(pools.OF_ONE_POOL, ('>= 0', '>= 1000000')),
    'pool_name': ('pool1', 'pool2'),
    'free_capacity_gb': ('>= 10', '>= 1000000'),
    'timestamp': ('s>= 20', 's>= 3'),
    'access_types': ('<in> {', '<in> psi'),
    'max_over_subscription_ratio': ('<= 1.0', '> 1'),
}
_SERVERS = 'driver_handles_share_servers'


def _specs(name, value):
    """Return the texts of two extra specs: one that the shown value meets, and one that it does not."""
    if name in _GIVEN:
        return _GIVEN[name]
    if isinstance(value, bool):
        return f'<is> {value}', f'<is> {not value}'
    if isinstance(value, list):
        return f'<all-in> {" ".join(value)}', 'nothing'
    return str(value), 'nothing'


class Shown(base.ServiceTest):
    """A backend, whose driver does not report some of the capabilities."""

    EXTRA = '[quota]\nshares = -1\ngigabytes = -1\n'
    BACKENDS = {'alpha': 'dummy_pool_size_gb = 1000\n'}

    def setUp(self):
        super().setUp()
        self.types = 0

    def shown(self):
        [pool] = self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools']
        return pool['capabilities']

    def kind(self, **specs):
        """Make a share type, with specs that nothing but a filter reads; return its name."""
        self.types += 1
        name = f'{self.id()}-{self.types}'
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': name,
                    'extra_specs': {
                        _SERVERS: specs.pop(_SERVERS, 'False'),
                        **{f'capabilities:{key}': text for key, text in specs.items()},
                    },
                }
            },
        )
        return name

    def is_listed(self, kind):
        return bool(self.admin.ok('GET', f'/scheduler-stats/pools?share_type={kind}')['pools'])

    def why_not(self, kind):
        share = self.admin.share(share_type=kind, wait='error')
        [message] = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        return message['user_message']

    def test_49_6_each_capability_that_is_shown_can_be_required_or_not(self):
        shown = self.shown()
        self.assertLessEqual(
            {*pools.NOT_REPORTED, *pools.OF_ONE_POOL, 'thin_provisioning', 'storage_protocol'}, set(shown)
        )
        for name, value in sorted(shown.items()):
            if value is None:
                kind = self.kind(**{name: 'x'})
                self.assertIn(f'the pool reports no {name}', self.why_not(kind))
                self.assertFalse(self.is_listed(kind), name)
                continue
            with_it, without = (self.kind(**{name: text}) for text in _specs(name, value))
            self.assertEqual((True, False), (self.is_listed(with_it), self.is_listed(without)), (name, value))
            if name == _SERVERS:
                continue  # without a share network there is no share of the other kind of types
            self.admin.share(share_type=with_it)
            said = self.why_not(without)
            self.assertIn(name, said)
            self.assertIn('the pool reports', said)
            self.assertNotIn('the pool reports no ', said)

    def test_49_6_a_type_with_zones_lists_the_pools_of_its_zones(self):
        for zone, listed in (('nova', True), ('elsewhere', False)):
            name = f'in {zone}'
            self.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {'driver_handles_share_servers': 'False', 'availability_zones': zone},
                    }
                },
            )
            self.assertEqual(listed, self.is_listed(name), zone)

    def test_49_6_an_existing_share_is_managed_with_a_type_that_asks_for_what_is_shown(self):
        for specs, status in (
            ({'dedupe': '<is> False', 'free_capacity_gb': '>= 1'}, 404),
            ({'dedupe': '<is> True'}, 400),
        ):
            kind = self.kind(**specs)
            _, document, _ = self.admin.call(
                'POST',
                '/shares/manage',
                {
                    'share': {
                        'protocol': 'NFS',
                        'service_host': 'test@alpha#pool1',
                        'export_path': '10.0.0.1:/none',
                        'share_type': kind,
                    }
                },
            )
            self.assertEqual(status == 400, 'does not fit pool' in str(document), document)


class Chosen(base.ServiceTest):
    """A backend that is disabled, and is tried by an administrator."""

    BACKENDS = {'alpha': '', 'beta': ''}
    HINT = {'only_host': 'test@alpha'}

    def setUp(self):
        super().setUp()
        self.service_is('disable')
        self.addCleanup(self.service_is, 'enable')

    def service_is(self, verb):
        self.admin.ok('PUT', f'/services/{verb}', {'host': 'test@alpha', 'binary': 'manila-share'})
        self.service.scheduler_sees()

    def host(self, share):
        return self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host']

    def test_49_6_only_host_of_an_administrator_reaches_a_disabled_backend(self):
        for place in ('test', 'test@alpha', 'test@alpha#pool1'):
            share = self.admin.share(scheduler_hints={'only_host': place}, wait={'available', 'error'})
            self.assertEqual('available', share['status'], place)
            self.assertIn(
                self.host(share), {'test@alpha#pool1', *(['test@beta#pool1'] if place == 'test' else [])}
            )

    def test_49_6_nobody_else_gets_a_disabled_backend(self):
        user = self.caller()
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'scheduler_hints': self.HINT}}
        self.assertEqual(403, user.call('POST', '/shares', body)[0])
        for caller in (user, self.admin):
            for _ in range(4):
                self.assertEqual('test@beta#pool1', self.host(caller.share()))

    def test_49_6_a_backend_that_is_down_is_refused_with_the_reason(self):
        manager = self.service.managers['alpha']
        manager.stop()
        self.service.scheduler_sees()
        self.addCleanup(self.service.wait_for_pool, 'alpha')
        self.addCleanup(self._start_again)
        share = self.admin.share(scheduler_hints=self.HINT, wait='error')
        [message] = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertIn('UpFilter 1', message['user_message'])

    def _start_again(self):
        self.service.managers['alpha'] = again = type(self.service.managers['alpha'])(
            self.service.services, 'alpha'
        )
        again.start()


class ChosenForReplicas(Replicating):
    def test_49_6_only_host_of_a_replica_reaches_a_disabled_backend(self):
        share = self.make()
        active = self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host'].partition('#')[0]
        [there] = {'test@alpha', 'test@beta'} - {active}
        self.admin.ok('PUT', '/services/disable', {'host': there, 'binary': 'manila-share'})
        self.addCleanup(self.admin.ok, 'PUT', '/services/enable', {'host': there, 'binary': 'manila-share'})
        self.service.scheduler_sees()
        made = self.admin.ok(
            'POST',
            '/share-replicas',
            {'share_replica': {'share_id': share['id'], 'scheduler_hints': {'only_host': there}}},
        )['share_replica']
        replica = self.admin.wait(f'/share-replicas/{made["id"]}', 'share_replica', {'available', 'error'})
        self.assertEqual(('available', there), (replica['status'], (replica['host'] or '').partition('#')[0]))
        with self.service.services.db.reader() as conn:
            self.assertTrue(services.get(conn, there, 'manila-share').disabled)
        self.drop(share)
