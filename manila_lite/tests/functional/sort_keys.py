# SPDX-License-Identifier: Apache-2.0
"""Keys by which lists are sorted, by path."""

_OWN = 'id created_at updated_at project_id'
_NAMED = f'{_OWN} user_id name description'
ALIASES = 'display_name display_description'
_PLACED = (
    'id created_at updated_at share_id status host availability_zone availability_zone_id share_network_id '
    'share_server_id'
)

#: Keys of each list by which clients sort. Columns that are not shown may be among the others.
KEYS = {
    '/shares': f'{_NAMED} {ALIASES} size status host share_proto share_type share_type_id share_type_name share_network_id '
    'share_server_id share_group_id snapshot_id availability_zone availability_zone_id is_public task_state '
    'access_rules_status replication_type progress instance_id scheduled_to_be_deleted_at',
    '/snapshots': f'{_NAMED} {ALIASES} size status share_id share_size share_proto progress provider_location',
    '/snapshot-instances': 'id created_at updated_at snapshot_id share_id share_instance_id status progress provider_location',
    '/share_instances': f'{_PLACED} share_type_id access_rules_status progress',
    '/share-replicas': f'{_PLACED} share_type_id access_rules_status replica_state cast_rules_to_readonly',
    '/share-networks': f'{_NAMED} status',
    '/share-groups': f'{_NAMED} status host availability_zone availability_zone_id share_group_type_id share_network_id '
    'share_server_id source_share_group_snapshot_id',
    '/share-group-snapshots': f'{_NAMED} status share_group_id host',
    '/share-backups': f'{_NAMED} {ALIASES} share_id size status topic host availability_zone progress restore_progress '
    'backup_type',
    '/share-transfers': 'id name display_name created_at expires_at resource_id resource_type source_project_id',
    '/resource-locks': f'{_OWN} user_id resource_id resource_type resource_action lock_context lock_reason',
    '/security-services': 'id created_at updated_at project_id name description type dns_ip ou domain server user',
    '/qos-types': 'id created_at updated_at name description',
    '/messages': 'id created_at project_id request_id resource_type resource_id action_id detail_id message_level expires_at',
    '/schedules': (
        'id project_id user_id name all_projects action backup_type cron time_zone jitter missed share_type_id name_prefix '
        'paused next_run_at last_run_at last_good_at failing_since created_at updated_at'
    ),
    '/operations': 'id created_at updated_at finished_at next_run_at kind state resource_id',
}
#: Keys of fields that only administrators see: where something is, and what it has to do with a backend.
FOR_ADMINISTRATORS = {
    '/shares': 'host share_server_id',
    '/snapshots': 'provider_location',
    '/share-replicas': 'host share_server_id cast_rules_to_readonly',
    '/share-groups': 'host share_server_id',
    '/share-group-snapshots': 'host',
    '/share-backups': 'host topic',
}
#: Keys that are no fields of the answer for anybody: for others than administrators there are no such keys.
UNSEEN = {
    '/shares': 'instance_id',
    '/share-networks': 'user_id',
    '/share-groups': 'user_id',
    '/share-group-snapshots': 'user_id',
    '/share-backups': 'user_id',
}
#: Lists that only administrators see.
CLOSED = ('/snapshot-instances', '/share_instances', '/qos-types')
