# SPDX-License-Identifier: Apache-2.0
"""Call every method of openstacksdk's proxy, and check the results."""

import collections.abc

import openstack

from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.clients import sdk, service


class Recorder:
    """Wrapper of the proxy that records calls. Lists are read to their end."""

    def __init__(self, proxy):
        self._proxy = proxy
        self.called = set()

    def __getattr__(self, name):
        method = getattr(self._proxy, name)

        def call(*args, **more):
            self.called.add(name)
            found = method(*args, **more)
            return list(found) if isinstance(found, collections.abc.Iterator) else found

        return call


class Sdk(service.ClientTest):
    BACKENDS = service.ClientTest.BACKENDS | {'alpha': 'dummy_replication_domain = here\n'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recorder = Recorder(cls.proxy(auth_type='none'))

    @classmethod
    def proxy(cls, **login):
        return openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            shared_file_system_endpoint_override=f'{cls.url}/v2',
            shared_file_system_default_microversion='2.86',
            **login,
        ).shared_file_system

    def test_each_role_finds_by_name_and_id(self):
        made = self.admin.share(name='docs')
        grouped = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': 'found', 'share_types': [made['share_type']]}},
        )['share_group_type']
        group = self.admin.ok(
            'POST', '/share-groups', {'share_group': {'name': 'pack', 'share_group_type_id': grouped['id']}}
        )['share_group']
        for roles in ('reader', 'member,reader', 'admin,member,reader'):
            proxy = self.proxy(auth_type='admin_token', auth={'endpoint': self.url, 'token': f'u:p:{roles}'})
            for find, name, wanted in (
                (proxy.find_share, 'docs', made),
                (proxy.find_share_group, 'pack', group),
            ):
                self.assertEqual({wanted['id']}, {find(name).id, find(wanted['id']).id}, (roles, name))

    def until(self, find, wanted, field='status'):
        """Wait until the object that ``find`` returns has the wanted value; return the object."""

        def looks():
            found = find()
            return (found,) if getattr(found, field) == wanted else None

        return waiting.until(looks, lambda: f'{field} is {wanted}: {find()}')[0]

    def share(self, name):
        made = self.recorder.create_share(name=name, size=1, share_protocol='NFS', share_type='default')
        return self.recorder.wait_for_status(made, 'available', interval=0.05, wait=waiting.LIMIT)

    def test_every_served_method_gives_the_expected_result(self):
        one = self.share('one')
        for part in (
            self.shares,
            self.metadata,
            self.access,
            self.locks,
            self.snapshots,
            self.managing,
            self.endings,
        ):
            one = part(self.recorder, one) or one
        for part in (
            self.replicas,
            self.groups,
            self.operators,
            self.quotas,
            self.types,
            self.network,
            self.messages,
        ):
            part(self.recorder)
        self.assertEqual(sdk.methods() - sdk.NOT_SERVED, self.recorder.called)

    def shares(self, proxy, one):
        self.assertEqual([one.id], [row.id for row in proxy.shares(name='one')])
        self.assertEqual((one.id, one.id), (proxy.find_share('one').id, proxy.get_share(one.id).id))
        self.assertEqual('said', proxy.update_share(one.id, display_description='said').description)
        proxy.resize_share(one.id, 2)
        self.until(lambda: proxy.get_share(one.id), 'available')
        location, *_ = proxy.export_locations(one.id)
        self.assertEqual(location.path, proxy.get_export_location(location.id, one.id).path)
        proxy.reset_share_status(one.id, 'available')
        [instance] = proxy.share_instances(share_id=one.id)
        self.assertEqual(one.id, proxy.get_share_instance(instance.id).share_id)
        proxy.reset_share_instance_status(instance.id, 'available')
        two = self.share('two')
        [other] = [row for row in proxy.share_instances() if row.share_id == two.id]
        proxy.delete_share_instance(other.id)
        proxy.wait_for_delete(two, interval=0.05, wait=waiting.LIMIT)

    def metadata(self, proxy, one):
        proxy.set_share_metadata(one.id, a='b')
        proxy.create_share_metadata(one.id, c='d')
        proxy.update_share_metadata(one.id, {'e': 'f'})
        for read in (proxy.fetch_share_metadata, proxy.get_share_metadata):
            self.assertEqual({'a': 'b', 'c': 'd', 'e': 'f'}, read(one.id).metadata)
        for read in (proxy.fetch_share_metadata_item, proxy.get_share_metadata_item):
            self.assertEqual('b', read(one.id, 'a').metadata['a'])
        proxy.delete_share_metadata(one.id, ['a', 'c'])
        self.assertEqual({'e': 'f'}, proxy.fetch_share_metadata(one.id).metadata)

    def access(self, proxy, one):
        rule = proxy.create_access_rule(
            one.id, access_type='ip', access_to='10.0.0.9', access_level='rw', lock_deletion=True
        )
        self.until(lambda: proxy.get_access_rule(rule.id), 'active', 'state')
        self.assertEqual(['10.0.0.9'], [row.access_to for row in proxy.access_rules(one.id)])
        proxy.delete_access_rule(rule.id, one.id, unrestrict=True)
        base.eventually(lambda: not proxy.access_rules(one.id), 'it stays')

    def locks(self, proxy, one):
        lock = proxy.create_resource_lock(resource_id=one.id, resource_type='share', resource_action='delete')
        self.assertIn(lock.id, [row.id for row in proxy.resource_locks(resource_id=one.id)])
        self.assertEqual(one.id, proxy.get_resource_lock(lock.id).resource_id)
        self.assertEqual('why', proxy.update_resource_lock(lock.id, lock_reason='why').lock_reason)
        proxy.delete_resource_lock(lock.id)

    def snapshots(self, proxy, one):
        made = proxy.create_share_snapshot(share_id=one.id, name='s')
        self.until(lambda: proxy.get_share_snapshot(made.id), 'available')
        self.assertEqual([made.id], [row.id for row in proxy.share_snapshots(share_id=one.id)])
        self.assertEqual('t', proxy.update_share_snapshot(made.id, display_name='t').name)
        proxy.set_share_snapshot_metadata(made.id, a='b', c='d')
        proxy.delete_share_snapshot_metadata(made.id, ['a'])
        self.assertEqual({'c': 'd'}, proxy.fetch_share_snapshot_metadata(made.id).metadata)
        self.assertEqual('d', proxy.fetch_share_snapshot_metadata_item(made.id, 'c').metadata['c'])
        proxy.reset_share_snapshot_status(made.id, 'available')
        [copy] = [row for row in proxy.share_snapshot_instances() if row.snapshot_id == made.id]
        self.assertEqual(made.id, proxy.get_share_snapshot_instance(copy.id).snapshot_id)
        proxy.revert_share_to_snapshot(one.id, made.id)
        self.until(lambda: proxy.get_share(one.id), 'available')
        place = copy.provider_location
        proxy.unmanage_share_snapshot(made.id)
        proxy.wait_for_delete(made, interval=0.05, wait=waiting.LIMIT)
        back = proxy.manage_share_snapshot(one.id, place)
        self.until(lambda: proxy.get_share_snapshot(back.id), 'available')
        proxy.delete_share_snapshot(back.id)
        proxy.wait_for_delete(back, interval=0.05, wait=waiting.LIMIT)

    def managing(self, proxy, one):
        path = proxy.export_locations(one.id)[0].path
        host = proxy.get_share(one.id).host
        proxy.unmanage_share(one.id)
        proxy.wait_for_delete(one, interval=0.05, wait=waiting.LIMIT)
        back = proxy.manage_share('NFS', path, host, name='one', share_type='default')
        return self.until(lambda: proxy.get_share(back.id), 'available')

    def endings(self, proxy, one):
        proxy.soft_delete_share(one.id)
        proxy.restore_share(one.id)
        transfer = proxy.create_share_transfer(share_id=one.id, name='t')
        for rows in (proxy.share_transfers(), proxy.share_transfers(details=True)):
            # The SDK does not know the key of the rows, and takes the whole answer for one row.
            self.assertEqual(1, len(rows))
        self.assertEqual(
            (one.id, transfer.id),
            (proxy.get_share_transfer(transfer.id).resource_id, proxy.find_share_transfer(transfer.id).id),
        )
        proxy.accept_share_transfer(transfer.id, auth_key=transfer.auth_key)
        proxy.delete_share_transfers(proxy.create_share_transfer(share_id=one.id))
        proxy.delete_share(one.id)
        proxy.wait_for_delete(one, interval=0.05, wait=waiting.LIMIT)

    def groups(self, proxy):
        kind = proxy._proxy.post(
            '/share-group-types',
            microversion='2.55',
            json={'share_group_type': {'name': 'plain', 'share_types': ['default']}},
        ).json()['share_group_type']['id']
        made = proxy.create_share_group(name='pack', share_group_type_id=kind)
        self.until(lambda: proxy.get_share_group(made.id), 'available')
        self.assertEqual(
            (made.id, [made.id]),
            (proxy.find_share_group('pack').id, [row.id for row in proxy.share_groups()]),
        )
        self.assertEqual('said', proxy.update_share_group(made.id, description='said').description)
        snapshot = proxy.create_share_group_snapshot(made.id, name='packed')
        self.until(lambda: proxy.get_share_group_snapshot(snapshot.id), 'available')
        self.assertEqual(
            [snapshot.id], [row.id for row in proxy.share_group_snapshots(share_group_id=made.id)]
        )
        self.assertEqual(
            'said', proxy.update_share_group_snapshot(snapshot.id, description='said').description
        )
        self.assertEqual(
            {'share_group_snapshot_members': []}, proxy.share_group_snapshot_members(snapshot.id)
        )
        proxy.reset_share_group_snapshot_status(snapshot.id, 'available')
        proxy.delete_share_group_snapshot(snapshot.id)
        proxy.wait_for_delete(snapshot, interval=0.05, wait=waiting.LIMIT)
        proxy.delete_share_group(made.id)
        proxy.wait_for_delete(made, interval=0.05, wait=waiting.LIMIT)

    def replicas(self, proxy):
        proxy.create_share_type(
            'safe', extra_specs={'driver_handles_share_servers': 'False', 'replication_type': 'dr'}
        )
        share = proxy.create_share(name='kept', size=1, share_protocol='NFS', share_type='safe')
        proxy.wait_for_status(share, 'available', interval=0.05, wait=waiting.LIMIT)
        [active] = proxy.share_replicas(share_id=share.id)
        # The only backend that replicates has the share already.
        other = proxy.create_share_replica(share.id, availability_zone='nova')
        self.until(lambda: proxy.get_share_replica(other.id), 'error')
        proxy.reset_share_replica_status(other.id, 'available')
        proxy.reset_share_replica_state(other.id, 'in_sync')
        self.until(lambda: proxy.get_share_replica(other.id), 'in_sync', 'replica_state')
        for change in (proxy.resync_share_replica, proxy.promote_share_replica):
            change(active.id)  # changes nothing
        proxy.delete_share_replica(other.id)
        proxy.wait_for_delete(other, interval=0.05, wait=waiting.LIMIT)
        proxy.delete_share(share.id)
        proxy.wait_for_delete(share, interval=0.05, wait=waiting.LIMIT)

    def operators(self, proxy):
        [service] = proxy.services(host='test@alpha')
        self.assertEqual(
            'disabled',
            proxy.disable_service(service, service.host, service.binary, disable_reason='why').status,
        )
        self.assertEqual('enabled', proxy.enable_service(service, service.host, service.binary).status)
        proxy.ensure_shares_service('test@alpha')
        self.assertIn('test@alpha#pool1', [row.name for row in proxy.storage_pools()])
        self.assertEqual(['nova'], [row.name for row in proxy.availability_zones()])
        self.assertEqual(1, len(proxy.limits()))

    def quotas(self, proxy):
        self.assertEqual(7, proxy.update_quota_set('someone', shares=7).shares)
        self.assertEqual(7, proxy.get_quota_set('someone').shares)
        proxy.revert_quota_set('someone')
        self.assertEqual(9, proxy.update_quota_class_set('default', snapshots=9).snapshots)
        self.assertEqual(9, proxy.get_quota_class_set('default').snapshots)

    def types(self, proxy):
        kind = proxy.create_share_type('sdk', extra_specs={'driver_handles_share_servers': 'False'})
        self.assertIn('sdk', [row.name for row in proxy.share_types()])
        self.assertEqual('said', proxy.update_share_type(kind.id, description='said').description)
        proxy.update_share_type_extra_specs(kind.id, a='b')
        self.assertEqual('b', proxy.get_share_type(kind.id).extra_specs['a'])
        proxy.delete_share_type_extra_spec_property(kind.id, 'a')
        proxy.delete_share_type(kind.id)

    def network(self, proxy):
        network = proxy.create_share_network(name='sdk', neutron_net_id='blue', neutron_subnet_id='blue-v4')
        self.assertEqual([network.id], [row.id for row in proxy.share_networks(name='sdk')])
        self.assertEqual('other', proxy.update_share_network(network.id, name='other').name)
        self.assertEqual(network.id, proxy.get_share_network(network.id).id)
        subnet = proxy.create_share_network_subnet(
            network.id, neutron_net_id='blue', neutron_subnet_id='blue-v6'
        )
        self.assertEqual(2, len(proxy.share_network_subnets(network.id)))
        self.assertEqual('fd10::/64', proxy.get_share_network_subnet(network.id, subnet.id).cidr)
        proxy.set_share_network_subnet_metadata(network.id, subnet.id, a='b', c='d')
        proxy.delete_share_network_subnet_metadata(network.id, subnet.id, ['a'])
        self.assertEqual(
            {'c': 'd'}, proxy.fetch_share_network_subnet_metadata(network.id, subnet.id).metadata
        )
        self.assertEqual(
            'd', proxy.fetch_share_network_subnet_metadata_item(network.id, subnet.id, 'c').metadata['c']
        )
        proxy.delete_share_network_subnet(network.id, subnet.id)
        proxy.delete_share_network(network.id)

    def messages(self, proxy):
        lost = proxy.create_share(name='lost', size=900, share_protocol='NFS')
        self.until(lambda: proxy.get_share(lost.id), 'error')
        [message] = proxy.user_messages(resource_id=lost.id)
        self.assertIn('900 GiB asked for', proxy.get_user_message(message.id).user_message)
        proxy.delete_user_message(message.id)
        proxy.delete_share(lost.id, force=True)
