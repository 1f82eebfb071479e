# SPDX-License-Identifier: Apache-2.0
"""Sort keys: each list takes its own fields, in both directions and beside a marker, and refuses any other key."""

from manila_lite.tests.functional import refused

_OWN = 'id created_at updated_at project_id'
_NAMED = f'{_OWN} user_id name description'
_ALIASES = 'display_name display_description'
_PLACED = ('id created_at updated_at share_id status host availability_zone availability_zone_id share_network_id '
           'share_server_id')

#: Keys of each list by which clients sort. Columns that are not shown may be among the others.
_KEYS = {
    '/shares': f'{_NAMED} {_ALIASES} size status host share_proto share_type share_type_id share_type_name share_network_id '
               'share_server_id share_group_id snapshot_id availability_zone availability_zone_id is_public task_state '
               'access_rules_status replication_type progress instance_id scheduled_to_be_deleted_at',
    '/snapshots': f'{_NAMED} {_ALIASES} size status share_id share_size share_proto progress',
    '/snapshot-instances': 'id created_at updated_at snapshot_id share_id share_instance_id status progress provider_location',
    '/share_instances': f'{_PLACED} share_type_id access_rules_status progress',
    '/share-replicas': f'{_PLACED} share_type_id access_rules_status replica_state',
    '/share-networks': f'{_NAMED} status',
    '/share-groups': f'{_NAMED} status host availability_zone availability_zone_id share_group_type_id share_network_id '
                     'share_server_id source_share_group_snapshot_id',
    '/share-group-snapshots': f'{_NAMED} status share_group_id host',
    '/share-backups': f'{_NAMED} {_ALIASES} share_id size status topic host availability_zone progress restore_progress '
                      'backup_type',
    '/share-transfers': 'id name display_name created_at expires_at resource_id resource_type source_project_id',
    '/resource-locks': f'{_OWN} user_id resource_id resource_type resource_action lock_context lock_reason',
    '/security-services': 'id created_at updated_at project_id name description type dns_ip ou domain server user',
    '/qos-types': 'id created_at updated_at name description',
    '/messages': 'id created_at project_id request_id resource_type resource_id action_id detail_id message_level expires_at',
    '/operations': 'id created_at updated_at finished_at next_run_at kind state resource_id',
}


class Sorted(refused.Refusing):
    """Lists, which may be empty."""

    def test_each_list_by_each_of_its_keys_and_not_by_what_is_none(self):
        for path, keys in _KEYS.items():
            for key in keys.split():
                for way in ('asc', 'desc&marker=nobody'):
                    status, said, _ = self.admin.call('GET', f'{path}?sort_key={key}&sort_dir={way}')
                    self.assertEqual(200, status, (path, key, said))
            self.no(400, 'invalid_input', "sort_key: 'colour' is not a field to sort by.", f'{path}?sort_key=colour',
                    caller=self.admin, method='GET')
