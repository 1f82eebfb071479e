# SPDX-License-Identifier: Apache-2.0
"""What a backend has already and is not taken over, each with the code and the reason."""

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db import services as service_rows
from manila_lite.tests.factories import networks
from manila_lite.tests.fixtures import DEFAULT_TYPE
from manila_lite.tests.functional import refused

_WANTED = {'service_host': refused.HOST, 'protocol': 'NFS', 'export_path': '10.0.0.1:/somewhere'}


class Managing(refused.Refusing):
    """Two backends that seem to be there for as long as it takes; the first one has a pool."""

    EXTRA = 'service_down_time = 86400\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        now = timeutils.utcnow()
        with cls.service.services.db.writer() as conn:
            zone = service_rows.zone_id(conn, 'here', create=True)
            conn.execute(models.services.insert(), [
                {'host': host, 'binary': 'manila-share', 'topic': 'share', 'heartbeat_at': seen, 'availability_zone_id': zone}
                for host, seen in (('test@alpha', now), ('test@gone', now.replace(year=2001)))])
            conn.execute(models.pools.insert(), [{
                'host': refused.HOST, 'backend_host': 'test@alpha', 'total_gb': 9, 'free_gb': 9, 'reported_at': now,
                'capabilities': {**{name: [True, False] for name in DEFAULT_TYPE}, 'flash': False}}])

    def manage_no(self, status, code, words, caller=None, **more):
        """The share is not taken over."""
        self.no(status, code, words, '/shares/manage', {'share': {**_WANTED, **more}}, caller or self.admin)

    def test_all_that_is_needed_is_there(self):
        for name in _WANTED:
            self.manage_no(422, 'entity_missing', f'{name}: missing.', **{name: ''})
        for name in ('share_id', 'provider_location'):
            self.no(422, 'entity_missing', f'{name}: missing.', '/snapshots/manage', {'snapshot': {
                'share_id': refused.NOWHERE, 'provider_location': 'x', name: None}}, self.admin)

    def test_a_pool_that_is_there_of_a_backend_that_works(self):
        self.manage_no(400, 'invalid_input', 'service_host: test@alpha names no pool; give host@backend#pool.',
                       service_host='test@alpha')
        self.manage_no(400, 'backend_down', 'service_host: test@gone is down.', service_host='test@gone#pool1')
        self.manage_no(400, 'pool_not_found', 'service_host: test@alpha reports no such pool as test@alpha#pool9.',
                       service_host='test@alpha#pool9')

    def test_a_type_that_the_pool_can_have(self):
        self.manage_no(400, 'invalid_input', 'protocol: GLUSTERFS is not enabled; NFS, CIFS is.', protocol='GLUSTERFS')
        self.type('fast', flash='<is> True')
        self.manage_no(400, 'share_type_unfit', f'share_type: fast does not fit pool {refused.HOST}: ', share_type='fast')
        self.type('far', availability_zones='there')
        self.manage_no(400, 'share_type_unfit', 'share_type: far is not offered in here, where test@alpha is.',
                       share_type='far')
        self.option('default_share_type', '')
        self.manage_no(400, 'invalid_input', 'share_type: none was given, and no default share type is configured.')

    def test_a_share_server_that_can_export_it(self):
        with self.service.services.db.writer() as conn:
            [(*_, server)] = networks.make(conn, 1)
        self.type('served', driver_handles_share_servers='True')
        self.manage_no(400, 'invalid_input', 'share_server_id: share type default makes no use of share servers.',
                       share_server_id=server)
        self.manage_no(400, 'invalid_input', 'share_server_id: missing; share type served needs a share server.',
                       share_type='served')
        wants = {'share_type': 'served', 'share_server_id': server}
        self.manage_no(409, 'bad_share_server', f'share_server_id: Share server {refused.NOWHERE} could not be found.',
                       share_type='served', share_server_id=refused.NOWHERE)
        self.put(models.share_servers, server, status='error')
        self.manage_no(409, 'bad_share_server', f'share server {server} is error on test@alpha; it must be active', **wants)
        self.put(models.share_servers, server, status='active', host='test@gone')
        self.manage_no(409, 'bad_share_server', f'share server {server} is active on test@gone; it must be active', **wants)
        self.put(models.share_servers, server, host='test@alpha', encryption_key_ref=refused.NOWHERE)
        self.manage_no(409, 'bad_share_server', f'share server {server} is encrypted, and shares of type served are', **wants)

    def test_what_is_known_already(self):
        self.admin.ok('POST', '/shares/manage', {'share': {**_WANTED, 'export_path': '10.0.0.1:/known'}})
        self.manage_no(409, 'share_already_managed', 'export_path: 10.0.0.1:/known on test@alpha is share',
                       export_path='10.0.0.1:/known')
        share = self.share()
        snapshot = self.snapshot(share)
        self.put(models.snapshots, snapshot, provider_location='there')
        self.no(409, 'snapshot_already_managed', f'provider_location: there is snapshot {snapshot}.', '/snapshots/manage',
                {'snapshot': {'share_id': share, 'provider_location': 'there'}}, self.admin)

    def test_a_snapshot_of_a_type_that_does_none(self):
        self.type('without', snapshot_support='False')
        share = self.share(share_type='without')
        words = f'share_id: the share type of share {share} does not do snapshots.'
        self.no(400, 'snapshots_not_supported', words, '/snapshots/manage', {'snapshot': {
            'share_id': share, 'provider_location': 'x'}}, self.admin)
        self.no(400, 'snapshots_not_supported', words, '/snapshots', {'snapshot': {'share_id': share}})

    def test_what_a_share_server_exports_was_left_alone_until_2_49(self):
        self.type('on servers', driver_handles_share_servers='True')
        with self.service.services.db.writer() as conn:
            [(network, *_, server)] = networks.make(conn, 1)
        share = self.share(share_type='on servers', share_network_id=network)
        snapshot = self.snapshot(share)
        self.share_is(share, share_server_id=server)
        old = self.caller(roles='admin,member,reader', version='2.48')
        words = f'Share {share} is on a share server; from microversion 2.49 on that may be asked for.'
        for path, body in ((f'/shares/{share}/action', {'unmanage': None}),
                           (f'/snapshots/{snapshot}/action', {'unmanage': None}),
                           ('/snapshots/manage', {'snapshot': {'share_id': share, 'provider_location': 'x'}})):
            self.no(403, 'share_on_share_server', words, path, body, old)

    def test_only_administrators_make_public_shares(self):
        rules = self.service.services.enforcer.rules
        for name in ('share:manage', 'share:create_public_share'):
            self.addCleanup(rules.__setitem__, name, rules[name])
        rules['share:manage'], rules['share:create_public_share'] = rules['share:create'], rules['admin_api']
        self.manage_no(403, 'forbidden', 'is_public: only administrators make public shares.', self.user, is_public=True)
