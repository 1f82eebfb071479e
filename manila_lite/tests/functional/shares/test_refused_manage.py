# SPDX-License-Identifier: Apache-2.0
"""Shares and snapshots of a backend that are not managed or unmanaged, each with the code and the reason."""

from manila_lite.db import models
from manila_lite.tests.factories import networks
from manila_lite.tests.fixtures import DEFAULT_TYPE
from manila_lite.tests.functional import refused
from manila_lite.tests.policy_rules import PolicyRules

_WANTED = {'service_host': refused.HOST, 'protocol': 'NFS', 'export_path': '10.0.0.1:/somewhere'}


class Managing(refused.WithBackends):
    """Two backends, one of which is up and has a pool."""

    UP = {'test@alpha': True, 'test@gone': False}
    POOLS = {refused.HOST: (9, {**{name: [True, False] for name in DEFAULT_TYPE}, 'flash': False})}

    def manage_no(self, status, code, words, caller=None, **more):
        """Check that a request to manage the share is refused."""
        self.no(status, code, words, '/shares/manage', {'share': {**_WANTED, **more}}, caller or self.admin)

    def test_missing_fields_are_refused(self):
        for name in _WANTED:
            self.manage_no(422, 'entity_missing', f'{name}: missing.', **{name: ''})
        for name in ('share_id', 'provider_location'):
            self.no(
                422,
                'entity_missing',
                f'{name}: missing.',
                '/snapshots/manage',
                {'snapshot': {'share_id': refused.NOWHERE, 'provider_location': 'x', name: None}},
                self.admin,
            )

    def test_unknown_pools_and_backends_that_are_down_are_refused(self):
        self.manage_no(
            400,
            'invalid_input',
            'service_host: test@alpha names no pool; give host@backend#pool.',
            service_host='test@alpha',
        )
        self.manage_no(
            400, 'backend_down', 'service_host: test@gone is down.', service_host='test@gone#pool1'
        )
        self.manage_no(
            400,
            'pool_not_found',
            'service_host: test@alpha reports no pool test@alpha#pool9.',
            service_host='test@alpha#pool9',
        )

    def test_types_that_do_not_fit_the_pool_are_refused(self):
        self.type('promising', default_qos_type='nonesuch')
        self.manage_no(
            400,
            'share_type_without_qos_type',
            'share type promising refers to a QoS type that does not exist.',
            share_type='promising',
        )
        self.type('fast', flash='<is> True')
        self.manage_no(
            400, 'share_type_unfit', f'share_type: fast does not fit pool {refused.HOST}: ', share_type='fast'
        )
        self.type('far', availability_zones='there')
        self.manage_no(
            400,
            'share_type_unfit',
            'share_type: far is not offered in here, where test@alpha is.',
            share_type='far',
        )
        self.option('default_share_type', '')
        self.manage_no(400, 'invalid_input', 'share_type: missing, and no default share type is configured.')

    def test_unsuitable_share_servers_are_refused(self):
        with self.service.services.db.writer() as conn:
            [(*_, server)] = networks.make(conn, 1)
        self.type('served', driver_handles_share_servers='True')
        self.manage_no(
            400,
            'invalid_input',
            'share_server_id: share type default does not use share servers.',
            share_server_id=server,
        )
        self.manage_no(
            400,
            'invalid_input',
            'share_server_id: missing; share type served needs a share server.',
            share_type='served',
        )
        wants = {'share_type': 'served', 'share_server_id': server}
        self.manage_no(
            400,
            'bad_share_server',
            f'share_server_id: Share server {refused.NOWHERE} could not be found.',
            share_type='served',
            share_server_id=refused.NOWHERE,
        )
        self.put(models.share_servers, server, status='error')
        self.manage_no(
            409,
            'bad_share_server',
            f'share server {server} is error on test@alpha; it must be active',
            **wants,
        )
        self.put(models.share_servers, server, status='active', host='test@gone')
        self.manage_no(
            409,
            'bad_share_server',
            f'share server {server} is active on test@gone; it must be active',
            **wants,
        )
        self.put(models.share_servers, server, host='test@alpha', encryption_key_ref=refused.NOWHERE)
        self.manage_no(
            409,
            'bad_share_server',
            f'share server {server} is encrypted, but share type served does',
            **wants,
        )

    def test_shares_and_snapshots_that_are_managed_already_are_refused(self):
        self.admin.ok('POST', '/shares/manage', {'share': {**_WANTED, 'export_path': '10.0.0.1:/known'}})
        self.manage_no(
            409,
            'share_already_managed',
            'export_path: 10.0.0.1:/known on test@alpha is managed already',
            export_path='10.0.0.1:/known',
        )
        share = self.share()
        snapshot = self.snapshot(share)
        self.put(models.snapshots, snapshot, provider_location='there')
        self.no(
            409,
            'snapshot_already_managed',
            f'provider_location: there is managed already, as snapshot {snapshot}.',
            '/snapshots/manage',
            {'snapshot': {'share_id': share, 'provider_location': 'there'}},
            self.admin,
        )

    def test_snapshot_of_a_type_without_snapshot_support_is_refused(self):
        self.type('without', snapshot_support='False')
        share = self.share(share_type='without')
        words = f'share_id: the share type of share {share} does not support snapshots.'
        self.no(
            400,
            'snapshots_not_supported',
            words,
            '/snapshots/manage',
            {'snapshot': {'share_id': share, 'provider_location': 'x'}},
            self.admin,
        )
        self.no(400, 'snapshots_not_supported', words, '/snapshots', {'snapshot': {'share_id': share}})

    def served(self):
        """Make a share on a share server, and a snapshot of it; return their ids."""
        name = self.getUniqueString()
        self.type(name, driver_handles_share_servers='True')
        with self.service.services.db.writer() as conn:
            [(network, *_, server)] = networks.make(conn, 1)
        share = self.share(share_type=name, share_network_id=network)
        self.share_is(share, share_server_id=server)
        return share, self.snapshot(share)

    def test_requests_for_shares_on_share_servers_are_refused_below_2_49(self):
        share, snapshot = self.served()
        old = self.caller(roles='admin,member,reader', version='2.48')
        words = f'Share {share} is on a share server; this request then needs microversion 2.49.'
        for path, body in (
            (f'/shares/{share}/action', {'unmanage': None}),
            (f'/snapshots/{snapshot}/action', {'unmanage': None}),
            ('/snapshots/manage', {'snapshot': {'share_id': share, 'provider_location': 'x'}}),
        ):
            self.no(403, 'share_on_share_server', words, path, body, old)

    def test_snapshot_on_a_share_server_is_unmanaged_from_2_49_on(self):
        _, snapshot = self.served()
        self.all_done()
        self.caller(roles='admin,member,reader', version='2.49').ok(
            'POST', f'/snapshots/{snapshot}/action', {'unmanage': None}
        )
        self.assertEqual(
            'unmanage_starting', self.user.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status']
        )

    def members_may(self, **rules):
        """Allow members the policy rules that are true, and only administrators the others, until the test ends."""
        enforcer = self.service.services.enforcer
        self.useFixture(
            PolicyRules(
                enforcer,
                {
                    f'share:{name}': enforcer.rules['share:create' if may else 'admin_api']
                    for name, may in rules.items()
                },
            )
        )

    def test_only_administrators_make_public_shares(self):
        self.members_may(manage=True, create_public_share=False)
        self.manage_no(
            403,
            'forbidden',
            'is_public: only administrators may create public shares.',
            self.user,
            is_public=True,
        )
        for number, private in enumerate(({}, {'is_public': False})):
            path = f'10.0.0.1:/private{number}'
            share = self.user.ok(
                'POST', '/shares/manage', {'share': {**_WANTED, 'export_path': path, **private}}
            )['share']
            self.assertFalse(share['is_public'])

    def test_snapshot_of_a_public_share_of_another_project_is_refused(self):
        enforcer = self.service.services.enforcer
        self.useFixture(
            PolicyRules(enforcer, {'share_snapshot:manage_snapshot': enforcer.rules['share:create']})
        )
        share = self.share(self.caller('other'))
        self.admin.ok('PUT', f'/shares/{share}', {'share': {'is_public': True}})
        self.user.ok('GET', f'/shares/{share}')
        message = f'Share {share} is public, but belongs to another project.'
        self.no(
            403,
            'share_of_another_project',
            message,
            '/snapshots/manage',
            {'snapshot': {'share_id': share, 'provider_location': 'theirs'}},
        )
