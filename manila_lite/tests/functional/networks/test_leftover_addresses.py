# SPDX-License-Identifier: Apache-2.0
"""Addresses that a network plugin keeps for deleted share servers are freed; those of other owners stay."""

from oslo_utils import uuidutils

from manila_lite import engine
from manila_lite.db.queries import share_network_subnets, share_server_queries, share_servers
from manila_lite.manager.plans import allocated_addresses, share_server_upkeep
from manila_lite.manager.runtime import service as share_manager
from manila_lite.network.standalone import Standalone
from manila_lite.tests.functional import base, served


class Keeps(Standalone):
    """Network plugin with a list of owners."""

    def __init__(self, conf, kept):
        super().__init__(conf)
        self.kept = set(kept)
        self.asked = []

    def owners(self):
        return set(self.kept)

    def forget(self, owner, subnet_id=None):
        self.asked.append((owner, subnet_id))
        self.kept.discard(owner)


class Leftovers(base.ServiceTest):
    BACKENDS = {}
    PARTS = ()

    @property
    def services(self):
        return self.service.services

    def worked_on(self, count):
        """Begin operations on share servers, which need not exist. Return the servers' ids."""
        idents = [uuidutils.generate_uuid() for _ in range(count)]
        with self.services.db.writer() as conn:
            for resource_id in idents:
                engine.begin(
                    conn,
                    self.service.context(),
                    'share_server.create',
                    'share_server',
                    resource_id,
                    topic='share',
                    host='test@alpha',
                )
        return idents

    def server(self, server_id):
        """Insert a share server with this id. Return the ids of its network and subnet."""
        network = self.admin.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        with self.services.db.writer() as conn:
            [row] = share_network_subnets.of_network(conn, network)
            share_network_subnets.update(conn, row.id, neutron_net_id='net', neutron_subnet_id='subnet')
            share_servers.insert(
                conn, {'id': server_id, 'share_network_id': network, 'host': 'test@alpha'}, [row.id]
            )
        return network, row.id

    def test_only_addresses_of_deleted_servers_of_this_service_are_freed(self):
        there, gone, never = *self.worked_on(2), uuidutils.generate_uuid()
        self.server(there)
        plugin = Keeps(self.service.conf, (there, gone, never))
        for _ in range(2):
            allocated_addresses.free_leftovers(self.services, plugin)
        self.assertEqual({there, never}, plugin.kept)
        self.assertEqual([(gone, None)], plugin.asked)

    def test_deleted_servers_are_found_among_any_number_of_owners(self):
        strangers = [uuidutils.generate_uuid() for _ in range(1200)]
        gone = self.worked_on(3)
        with self.services.db.reader() as conn:
            self.assertEqual(sorted(gone), share_server_queries.filter_deleted(conn, [*strangers, *gone]))
            self.assertEqual([], share_server_queries.filter_deleted(conn, []))

    def test_addresses_without_rows_are_freed(self):
        """Check that addresses without rows are freed: for a whole server, or for one of its subnets by the plugin's id.

        Nothing is freed for a subnet that the server is not in.
        """
        [server_id] = self.worked_on(1)
        _, subnet = self.server(server_id)
        plugin = Keeps(self.service.conf, ())
        for which in (subnet, uuidutils.generate_uuid(), None):
            allocated_addresses.free(self.services, plugin, server_id, which)
        self.assertEqual([(server_id, 'subnet'), (server_id, None)], plugin.asked)


class Timer(served.ServedTest):
    """A backend whose share manager works, and looks for leftovers all the time."""

    @classmethod
    def setUpClass(cls):
        plain = share_manager._LEFTOVERS_EVERY
        cls.addClassCleanup(setattr, share_manager, '_LEFTOVERS_EVERY', plain)
        share_manager._LEFTOVERS_EVERY = 0.1
        super().setUpClass()

    def test_periodic_check_frees_addresses_of_deleted_servers(self):
        network = self.network()
        share = self.share(network)
        [there], gone, never = self.servers(network), *(uuidutils.generate_uuid() for _ in range(2))
        with self.service.services.db.writer() as conn:
            engine.begin(
                conn,
                self.service.context(),
                'share_server.create',
                'share_server',
                gone,
                topic='share',
                host='test@nobody',
            )
        kept = {there.id, gone, never}
        self.patch(Standalone, 'owners', lambda plugin: set(kept))
        self.patch(Standalone, 'forget', lambda plugin, owner, subnet_id=None: kept.discard(owner))
        base.eventually(lambda: gone not in kept, 'it is kept')
        self.assertEqual({there.id, never}, kept)
        self.user.ok('DELETE', f'/shares/{share["id"]}')


class Elsewhere(served.ServedTest):
    """A backend at which another process works."""

    PARTS = ()

    def test_process_without_the_backend_lease_frees_nothing(self):
        asked = []
        self.patch(Standalone, 'owners', lambda plugin: asked.append(plugin) or set())
        self.service.managers['alpha']._work_if_may(share_server_upkeep.free_leftovers)
        self.assertEqual([], asked)
