# SPDX-License-Identifier: Apache-2.0
"""Unchanged python-manilaclient, at versions where its requests change: it fills in all fields of each."""

import testtools
from keystoneauth1 import session, token_endpoint
from manilaclient import api_versions, client

from manila_lite.tests.functional import base, commandline

#: The oldest, both sides of 2.7, the last without access rules as resources, the last before scheduler hints, the newest.
VERSIONS = (0, 6, 7, 44, 64, api_versions.APIVersion(api_versions.MAX_VERSION).ver_minor)


class Versions(commandline.OverHttp, base.ServiceTest):
    """The same life cycle of a share, a type, a security service and quotas at each version."""

    def at(self, minor):
        """Return a client for one version."""
        who = session.Session(auth=token_endpoint.Token(f'{self.url}/v2', 'u:p:admin,member,reader'))
        return client.Client(
            '2',
            session=who,
            api_version=api_versions.APIVersion(f'2.{minor}'),
            service_catalog_url=f'{self.url}/v2',
        )

    def each(self, live):
        """Run ``live`` at every version; a failure names the version."""
        for minor in VERSIONS:
            self.addDetail('version', testtools.content.text_content(f'2.{minor}'))
            live(self.at(minor), minor)

    def settled(self, share, **wanted):
        for field, value in wanted.items():
            self.admin.wait(f'/shares/{share.id}', 'share', value, field=field)

    def test_share_life_cycle_works_at_each_version(self):
        self.each(self.live_share)

    def live_share(self, at, minor):
        share = at.shares.create('NFS', 1, name=f'at{minor}', metadata={'a': 'b'})
        self.settled(share, status='available')
        found = at.shares.list(search_opts={'name': f'at{minor}', 'metadata': {'a': 'b'}, 'all_tenants': 1})
        self.assertEqual([share.id], [one.id for one in found])
        at.shares.update(share, display_name='other')
        at.shares.set_metadata(share, {'k': 'v'})
        self.assertEqual('v', at.shares.get_metadata(share).k)
        self.assertEqual('other', at.shares.get(share.id).name)
        self.live_rules(at, minor, share)
        at.shares.extend(share, 2)
        self.settled(share, status='available')
        self.assertEqual(2, at.shares.get(share.id).size)
        at.shares.shrink(share, 1)
        self.settled(share, status='available')
        self.live_snapshot(at, share)
        at.shares.reset_state(share, 'error')
        self.assertEqual('error', at.shares.get(share.id).status)
        at.shares.force_delete(share)
        self.admin.wait(f'/shares/{share.id}', 'share', 'gone')

    def live_rules(self, at, minor, share):
        at.shares.allow(share, 'ip', '10.0.0.1', 'rw')
        at.shares.allow(share, 'user', 'anna', 'ro')
        self.settled(share, access_rules_status='active')
        rules = at.shares.access_list(share) if minor < 45 else at.share_access_rules.access_list(share)
        self.assertEqual(
            [('10.0.0.1', 'rw', 'active'), ('anna', 'ro', 'active')],
            [(rule.access_to, rule.access_level, rule.state) for rule in rules],
        )
        for rule in rules:
            at.shares.deny(share, rule.id)
        self.settled(share, access_rules_status='active')

    def live_snapshot(self, at, share):
        snapshot = at.share_snapshots.create(share, name='s')
        self.admin.wait(f'/snapshots/{snapshot.id}', 'snapshot', 'available')
        self.assertEqual(['s'], [one.name for one in at.share_snapshots.list()])
        clone = at.shares.create('NFS', 1, snapshot_id=snapshot.id)
        self.settled(clone, status='available')
        at.shares.delete(clone)
        self.admin.wait(f'/shares/{clone.id}', 'share', 'gone')
        at.share_snapshots.delete(snapshot)
        self.admin.wait(f'/snapshots/{snapshot.id}', 'snapshot', 'gone')

    def test_operator_calls_work_at_each_version(self):
        self.each(self.operate)

    def operate(self, at, minor):
        kind = at.share_types.create(f'type{minor}', spec_driver_handles_share_servers=False, is_public=False)
        kind.set_keys({'a': 'b'})
        self.assertEqual('b', kind.get_keys(prefer_resource_data=False)['a'])
        kind.unset_keys(['a'])
        at.share_type_access.add_project_access(kind, 'pp')
        self.assertEqual(['pp'], [one.project_id for one in at.share_type_access.list(share_type=kind)])
        at.share_type_access.remove_project_access(kind, 'pp')
        at.share_types.delete(kind)
        self.assertIn('default', [one.name for one in at.share_types.list()])
        self.assertEqual('default', at.share_types.get().name)
        at.services.disable('test', 'manila-scheduler')
        at.services.enable('test', 'manila-scheduler')
        self.assertEqual({'up'}, {one.state for one in at.services.list()})
        self.assertEqual(['nova'], [one.name for one in at.availability_zones.list()])
        self.assertEqual(['test@alpha#pool1'], [one.name for one in at.pools.list()])
        at.quotas.update('p', shares=40)
        at.quotas.update('p', user_id='u', shares=30)
        self.assertEqual((40, 30), (at.quotas.get('p').shares, at.quotas.get('p', user_id='u').shares))
        at.quotas.delete('p')
        self.assertEqual(at.quota_classes.get('default').shares, at.quotas.defaults('p').shares)
        service = at.security_services.create(
            'ldap', name='a', dns_ip='10.0.0.2', server='s', domain='d', user='u', password='secret'
        )
        at.security_services.update(service, name='b')
        self.assertEqual(['b'], [one.name for one in at.security_services.list()])
        at.security_services.delete(service)
