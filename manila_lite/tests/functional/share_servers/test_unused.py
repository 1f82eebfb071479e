# SPDX-License-Identifier: Apache-2.0
"""Unused share servers: the time after which they are deleted, and reasons to keep them."""

import datetime

from manila_lite import states
from manila_lite.db import models
from manila_lite.manager.plans import share_server_upkeep
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import base, refused, served

#: Minutes: half a percent of it is longer than any test.
_INTERVAL = 10_000


class Looks(refused.Refusing):
    """Share servers in the database, for whose backend no share manager works."""

    def setUp(self):
        super().setUp()
        self.manager = self.service.managers['alpha']
        with self.service.services.db.writer() as conn:
            conn.execute(models.share_instances.delete())
            conn.execute(models.share_servers.delete())
            self.idents = [resource_id for *_, resource_id in networks.make(conn, 2)]
        self.option('unused_share_server_cleanup_interval', _INTERVAL)

    def unused_for(self, resource_id, minutes, status='active'):
        self.put(
            models.share_servers,
            resource_id,
            updated_at=self.now() - datetime.timedelta(minutes=minutes),
            status=status,
        )

    def statuses(self):
        """Return the statuses of the two servers."""
        table = models.share_servers
        with self.service.services.db.reader() as conn:
            found = dict(conn.execute(table.select().with_only_columns(table.c.id, table.c.status)).all())
        return [found[resource_id] for resource_id in self.idents]

    def test_unused_server_is_deleted_after_the_configured_interval(self):
        early, late = self.idents
        self.unused_for(early, _INTERVAL * 0.995)
        self.unused_for(late, _INTERVAL * 1.005)
        share_server_upkeep.remove_unused(self.manager)
        self.assertEqual(['active', 'deleting'], self.statuses())

    def test_only_active_servers_and_servers_in_error_are_deleted(self):
        one, other = self.idents
        for status in sorted(states.SHARE_SERVER.statuses - {'active', 'error'}):
            self.unused_for(one, 2 * _INTERVAL, status=status)
            share_server_upkeep.remove_unused(self.manager)
            self.assertEqual([status, 'active'], self.statuses())
        self.unused_for(one, 2 * _INTERVAL, status='error')
        self.unused_for(other, 2 * _INTERVAL)
        share_server_upkeep.remove_unused(self.manager)
        self.assertEqual(['deleting', 'deleting'], self.statuses())

    def test_servers_are_kept_when_the_cleanup_is_off(self):
        self.option('automatic_share_server_cleanup', False)
        self.unused_for(self.idents[0], 2 * _INTERVAL)
        share_server_upkeep.remove_unused(self.manager)
        self.assertEqual(['active', 'active'], self.statuses())

    def test_servers_are_kept_by_a_process_without_the_backend_lease(self):
        self.unused_for(self.idents[0], 2 * _INTERVAL)
        self.manager._work_if_may(share_server_upkeep.remove_unused)
        self.assertEqual(['active', 'active'], self.statuses())

    def test_server_that_gets_a_share_during_the_cleanup_is_kept(self):
        share, table, used = self.share(), models.share_instances, self.idents[0]
        for resource_id in self.idents:
            self.unused_for(resource_id, 2 * _INTERVAL)
        with self.meanwhile(
            '^UPDATE share_networks',
            table.update().where(table.c.share_id == share).values(share_server_id=used),
        ):
            share_server_upkeep.remove_unused(self.manager)
        self.assertEqual(['active', 'deleting'], self.statuses())


class Timer(served.ServedTest):
    """A backend whose share manager works."""

    def test_share_manager_deletes_unused_servers(self):
        network = self.network()
        share = self.share(network)
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.service.conf.set_override('unused_share_server_cleanup_interval', 0)
        self.addCleanup(self.service.conf.clear_override, 'unused_share_server_cleanup_interval')

        def deleted():
            # It does nothing for the moment in which a busy machine has not renewed the backend lease.
            self.service.managers['alpha']._work_if_may(share_server_upkeep.remove_unused)
            return 'active' not in [server.status for server in self.servers(network)]

        base.eventually(deleted, 'a server stays')
