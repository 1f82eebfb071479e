# SPDX-License-Identifier: Apache-2.0
"""Base of tests of migrations that are refused."""

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import services as service_rows
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import refused
from manila_lite.tests.unit.operation_data import stored

TO = 'test@beta#pool1'
WANTED = {'host': TO, 'writable': False, 'nondisruptive': False, 'preserve_snapshots': True}


class Moving(refused.Refusing):
    """Two backends that count as up although no process answers for them."""

    EXTRA = 'service_down_time = 86400\n[api]\nmigration_check_timeout = 1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with cls.service.services.db.writer() as conn:
            cls.zones = {name: service_rows.zone_id(conn, name, create=True) for name in ('here', 'there')}
            conn.execute(
                models.services.insert(),
                [
                    {
                        'host': host,
                        'binary': 'manila-share',
                        'topic': 'share',
                        'heartbeat_at': timeutils.utcnow(),
                        'availability_zone_id': cls.zones['here'],
                    }
                    for host in ('test@alpha', 'test@beta')
                ],
            )

    def setUp(self):
        super().setUp()
        self.backend_is(
            disabled=False, heartbeat_at=timeutils.utcnow(), availability_zone_id=self.zones['here']
        )

    def backend_is(self, **values):
        table = models.services
        with self.service.services.db.writer() as conn:
            conn.execute(table.update().where(table.c.host == 'test@beta').values(**values))

    def network(self, project='p'):
        """Return the ids of a share network with two subnets in the zone "here", and of a share server in it."""
        with self.service.services.db.writer() as conn:
            [(network, *_, server)] = networks.make(conn, 1, project=project, zone_id=self.zones['here'])
        return network, server

    def served(self, **values):
        """Return the ids of a share, of its share network and of its share server."""
        self.kind = self.type(self.getUniqueString(), driver_handles_share_servers='True')
        network, server = self.network()
        share = self.share(share_type=self.kind, share_network_id=network)
        self.share_is(share, share_server_id=server, **values)
        return share, network, server

    def broken_off(self, resource_id, kind, target, state='failed', *, cut=True):
        """Insert a migration whose cut-over failed, or that ended in another way."""
        self.insert(
            models.operations,
            kind=kind,
            resource_type='x',
            resource_id=resource_id,
            topic='scheduler',
            lane='work',
            state=state,
            data={**stored.MOVE, 'cut': cut, 'target': target},
            next_run_at=timeutils.utcnow(),
        )
