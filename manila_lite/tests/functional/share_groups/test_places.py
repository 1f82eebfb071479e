# SPDX-License-Identifier: Apache-2.0
"""Backends for new share groups, and lists of groups by host."""

import time

from manila_lite.db import models
from manila_lite.tests.functional.share_groups.test_share_groups import GroupTest

_SERVERS = 'driver_handles_share_servers = true\nbackend_availability_zone = {}\n'


class Places(GroupTest):
    def switch(self, how):
        for name in self.BACKENDS:
            self.admin.ok('PUT', f'/services/{how}', {'host': f'test@{name}', 'binary': 'manila-share'})

    def test_group_is_not_placed_on_a_disabled_backend(self):
        self.addCleanup(self.switch, 'enable')
        self.switch('disable')
        with self.service.services.db.reader() as conn:
            # The scheduler's pools may be a second old, unless it reads them anew.
            self.service.scheduler.hosts.pools(conn, time.monotonic())
        group = self.group(wait='error')
        (message,) = self.user.ok('GET', f'/messages?resource_id={group["id"]}')['messages']
        self.assertIn('disabled', message['user_message'])

    def test_group_waits_for_the_first_report_of_a_backend(self):
        self.service.stop()
        for name in self.BACKENDS:
            self.service.knob(name, 'setup:fail@times=2')
        with self.service.services.db.writer() as conn:
            conn.execute(models.pools.delete())
        self.service.start()
        self.group()

    def test_groups_are_filtered_by_host_backend_and_pool(self):
        group = self.group()
        for host in (group['host'], group['host'].partition('#')[0], 'test'):
            found = self.admin.ok('GET', f'/share-groups?all_tenants=1&host={host.replace("#", "%23")}')[
                'share_groups'
            ]
            self.assertIn(group['id'], [one['id'] for one in found], host)
        self.assertEqual([], self.admin.ok('GET', '/share-groups?all_tenants=1&host=tes')['share_groups'])


class Zones(GroupTest):
    BACKENDS = {'gamma': _SERVERS.format('here'), 'delta': _SERVERS.format('there')}

    def test_group_is_placed_in_the_zone_of_its_network_subnet(self):
        for name, zone in (('gamma', 'here'), ('delta', 'there')):
            network = self.network(availability_zone=zone)
            group = self.group(
                share_group_type_id=self.together, share_types=[self.served], share_network_id=network['id']
            )
            self.assertEqual(f'test@{name}', group['host'].partition('#')[0])
