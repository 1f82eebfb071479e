# SPDX-License-Identifier: Apache-2.0
"""The next step after a refusal, by its error code. ``*`` matches anything.

A step is true for each resource type and each caller that gets it: ``FOR_ADMINISTRATORS`` has the differences.
"""

_OPERATOR = 'Ask the operator, and give the request id of this answer.'
_LOG = 'Find the cause in the log of the service by the request id of this answer.'
_AGAIN = 'Send the request again in a moment.'
_RETRY_AFTER = 'Send the request again after the number of seconds in Retry-After.'
_OPENAPI = 'Check the path and the method in /openapi.json of the microversion of the request.'
_VERSIONS = 'Ask for one of the microversions that GET / lists.'
_NOT_FOUND = 'Check the id in the list of your project; resources of other projects are not shown to you.'
_STAYS = ' If the status stays, ask an administrator to reset it.'


def _until(condition: str) -> str:
    return f'Wait until {condition}, and send the request again.{_STAYS}'


BY_CODE = {
    # Of resources that all projects share, and of parts of a resource.
    'availability_zone_not_found': 'Choose a zone from openstack share availability zone list.',
    'backend_not_found': 'Choose a backend from openstack share service list.',
    'pool_not_found': 'Choose a pool from openstack share pool list.',
    'service_not_found': 'Choose a service from openstack share service list.',
    'share_type_not_found': 'Choose a share type from openstack share type list.',
    'share_type_access_not_found': 'List the projects of the share type with openstack share type access list.',
    'share_group_type_not_found': 'Choose a share group type from openstack share group type list.',
    'share_group_type_access_not_found': 'List its projects with openstack share group type access list.',
    'qos_type_not_found': 'Choose a QoS type from the list at /qos-types.',
    'extension_not_found': 'Choose an extension from the list at /extensions.',
    'encryption_key_not_found': 'Choose a key of the key manager that you may read.',
    'message_not_found': 'List your messages with openstack share message list; they are deleted after 30 days.',
    '*_item_not_found': 'Show the resource to see the keys that it has.',
    '*_spec_not_found': 'Show the type to see the keys that it has.',
    '*not_found': _NOT_FOUND,
    # Of the request itself.
    'no_such_path': _OPENAPI,
    'wrong_method': _OPENAPI,
    'no_such_action': 'Check the action in /openapi.json; some actions need a newer microversion.',
    'media_type_not_offered': 'Send Accept: text/event-stream, or Accept: application/json.',
    'microversion_out_of_range': _VERSIONS,
    'malformed_body': 'Send one complete JSON document, with its length.',
    'malformed_header': 'Send the header once, in the form that RFC 9110 defines.',
    'wrong_media_type': 'Send Content-Type: application/json.',
    'body_too_large': 'Send a smaller body.',
    'query_too_long': 'Send a shorter query.',
    'filter_too_long': 'Filter by a shorter value.',
    'foreign_host': 'Use the IP address of the service, or have its name added to [api] allowed_hosts.',
    'foreign_origin': "Send the request from a program, or from a page of the API's own host.",
    'too_many_failed_logins': 'Check the user and the password, and log in again after the number of seconds in Retry-After.',
    'rate_limited': _RETRY_AFTER,
    'too_many_waiting': _RETRY_AFTER,
    'idempotency_key_reused': 'Use a new key for a new request.',
    'idempotency_key_in_flight': 'Wait for the answer to the first request, or send this one again in a moment.',
    'changed_meanwhile': 'Check the resources of the request, and send it again if it still applies.',
    # Of limits.
    'over_quota_per_share_gigabytes': 'Ask for a smaller share, or ask the operator for a higher quota.',
    'over_quota*': 'Delete resources that are no longer needed, or ask the operator for a higher quota.',
    'over_limit*': 'Delete items that are no longer needed, or ask the operator for a higher limit.',
    # Of the services behind the API.
    'identity_unavailable': _AGAIN,
    'neutron_unavailable': _AGAIN,
    'secret_unavailable': _OPERATOR,
    'service_down': _OPERATOR,
    'service_disabled': _OPERATOR,
    'backend_down': _OPERATOR,
    'backend_silent': _OPERATOR,
    'network_plugin_broken': _OPERATOR,
    'network_not_reachable': 'Choose another network, or ask the operator.',
    'backups_not_configured': 'Ask the operator to configure a type of backup.',
    'no_valid_host': 'Send the request again later, or ask the operator for another host.',
    # Of a status that changes.
    'already_ensuring': 'Wait until that check of the shares has ended, and send the request again.',
    'already_evacuating': 'Wait until that evacuation has ended, or stop it with POST /services/stop-evacuation.',
    'not_evacuating': 'List evacuations with GET /operations?kind=service.evacuate&all_tenants=1.',
    'finding_not_found': 'List the findings again with GET /findings.',
    'finding_not_mendable': 'Do what the finding says, and list the findings again with GET /findings.',
    'wrong_state': 'Wait until the status is right, and send the request again.' + _STAYS,
    'share_not_available': _until('the share is available'),
    'shares_not_available': _until('all shares of the host are available'),
    'share_network_not_active': _until('the share network is active'),
    'snapshot_not_available': _until('the snapshot is available'),
    'share_not_exported': 'Wait until the share has an export location, and send the request again.',
    # Of resources that are in use.
    'share_has_snapshots': 'Delete the snapshots first.',
    'share_has_instances': 'Delete the second share instance first.',
    'share_has_second_instance': 'Delete the share instance that the migration left first.',
    'share_has_backups': 'Delete the backups first.',
    'share_has_replicas': 'Delete all replicas but the active one first.',
    'share_in_group': 'Choose a share that is in no share group.',
    'share_in_group_snapshot': 'Delete the share group snapshots first.',
    'share_group_has_shares': 'Delete the shares of the share group first.',
    'share_group_has_snapshots': 'Delete the snapshots of the share group first.',
    'share_group_type_in_use': 'Delete the share groups of this type first.',
    'share_type_in_use': 'Delete the shares of this type first.',
    'qos_type_in_use': 'Remove the QoS type from the share type that names it first.',
    'share_network_in_use': 'Delete the shares and share groups of the share network first. If a share server stays, ask the '
    'operator to delete it.',
    'share_network_has_subnets': 'Delete all subnets but one first.',
    'subnet_in_use': 'Delete the shares in the subnet first. If a share server stays, ask the operator to delete it.',
    'security_service_in_use': 'Remove the security service from its share networks first, or create another one.',
    'servers_in_use': 'Create another share network with this change, and new shares in it.',
    'share_server_in_use': 'Delete or move its shares first, or wait for the end of its migration.',
    'share_soft_deleted': 'Restore the share first.',
    'share_resized': 'Show the share, and send the request again if the new size still fits it.',
    'share_expired': 'Create another share: this one is being deleted.',
    'subnet_without_network': 'Add a subnet with the ids of a network and of a subnet, or choose another share network.',
    'active_replica': 'Promote another replica first.',
    'not_active_replica': 'Promote this replica.',
    'already_exists': 'Use the existing one, or choose another name.',
    # Of resource locks.
    '*_locked': 'List the locks with openstack share lock list; the user that placed a lock can delete it.',
    'lock_of_another': 'Ask the user that placed the lock, or an administrator.',
    'lock_failed': 'Leave lock_visibility and lock_deletion out, or ask an administrator.',
    'too_late_to_lock': 'Choose another resource: this one is being deleted.',
    # Of migrations and share servers.
    'already_migrating': 'Wait for the end of that migration, or cancel it. openstack share migration show, or openstack share '
    'server migration show, has its progress.',
    'already_there': 'Leave it there, or choose another destination.',
    'share_usage_not_known': 'Wait for the next measurement, some minutes after the share was made. A backend whose driver '
    'cannot measure never has one.',
    'not_migrating': 'Check the task state with openstack share show, or openstack share server show.',
    'destination_down': 'Start manila-share on the host of the destination, or cancel with manila-manage migration cancel '
    '--force.',
    'cut_over_failed': 'Repeat migration_complete once the cause is repaired; the user message names it.',
    'former_export_open': 'Start manila-share on the host from which it moved, and wait for migration_success. If the deletion '
    'failed there, delete that share instance or share server again. If nobody can read there any more, set the task '
    'state of the resource that is named to migration_success.',
    'migration_not_cancellable': 'Complete the migration, and move the data back afterwards.',
    'migration_refused': 'Choose another destination, or fewer demands such as writable or nondisruptive.',
    'no_host_assisted_migration': 'Set these options to false, or send the request without force_host_assisted_migration.',
    'share_on_share_server': 'Ask for microversion 2.49 or later.',
    'share_server_encrypted': 'Choose another share server: an encrypted one is neither moved nor unmanaged.',
    'bad_share_server': 'Choose an active share server of the host that fits the share type.',
    'identifier_in_use': 'Choose a share server of the backend that is not managed.',
    'share_already_managed': 'Choose a share of the backend that is not managed.',
    'snapshot_already_managed': 'Choose a snapshot of the backend that is not managed.',
    # Of access rules and transfers.
    'access_rule_exists': 'Use the existing rule, or delete it first.',
    'access_rules_in_error': 'Delete the access rules in error, and send the request again.',
    'wrong_auth_key': 'Ask the owner of the share for the key. If the key is lost, the owner has to create another transfer.',
    'share_not_transferable': 'Choose another share, or copy the data to a share of the other project.',
    'share_of_another_project': 'Choose a share of your own project, or ask its owner to send the request.',
    # Of abilities that are missing.
    'share_type_unfit': 'Choose a share type that the pool and its zone offer.',
    'share_type_without_qos_type': 'Choose another share type, and tell the operator.',
    'share_type_is_public': 'Make the share type private first.',
    'share_group_type_is_public': 'Make the share group type private first.',
    'share_type_not_accessible': 'Ask an administrator for access to the share type.',
    'snapshots_not_supported': 'Choose a share whose type has snapshot_support.',
    'snapshot_inherits_access': 'Grant or deny access to the share; its snapshots follow.',
    'mount_snapshot_not_supported': 'Choose a snapshot of a share whose type has mount_snapshot_support.',
    'mount_point_name_exists': 'Choose another name.',
    'mount_point_name_not_supported': 'Leave mount_point_name out, or choose a share type with mount_point_name_support.',
    'share_too_small': 'Extend the share, or restore the backup to a larger share.',
    'replica_in_error': 'Ask for microversion 2.74 or later, or delete the replica in error.',
    'replica_not_in_sync': 'Wait until the replica is in sync, or ask an administrator to promote it.',
    'replication_not_supported': 'Choose a share whose type has the extra spec replication_type.',
    'encryption_key_differs': 'Leave encryption_key_ref out: the new share gets the key of the snapshot.',
    'encryption_not_supported': 'Leave encryption_key_ref out, or choose a share type with encryption_support.',
    # Of networks.
    'network_not_known': 'Choose a network of the project; with Neutron, openstack network list shows them.',
    'subnet_not_known': 'Choose a subnet of the network; with Neutron, openstack subnet list shows them.',
    'subnet_not_there': 'Choose a subnet of the share network in the zone of the host.',
    'not_one_subnet': 'Name one subnet in share_network_subnet_id.',
    'no_default_subnet': 'Add the new subnet to the share network, and delete the old one.',
    'same_change_pending': 'Show the share network once the other request has its answer; send this one again if it still '
    'applies.',
    'subnet_denied': 'Choose another subnet, or another share network.',
    'security_service_denied': 'Choose another security service, or another share network.',
    'subnets_overlap': 'Choose a subnet with other addresses.',
    'zone_has_subnet': 'Ask for microversion 2.70 or later, or delete the existing subnet.',
    'security_service_not_attached': 'Check the security services of the share network with openstack share network show.',
    'security_service_type_differs': 'Choose a security service of the same type.',
    'security_service_type_taken': 'Remove the security service of this type first, or replace it with an update.',
}

#: The steps that differ for callers with the rights of an administrator.
FOR_ADMINISTRATORS = {
    'over_quota_per_share_gigabytes': 'Ask for a smaller share, or raise the quota with openstack share quota set.',
    'over_quota_*': 'Delete resources that are no longer needed, or raise the quota with openstack share quota set.',
    'over_quota': 'Delete resources that are no longer needed, or raise the maximum in the configuration.',
    'over_limit*': 'Delete items that are no longer needed, or raise the limit in the section [limits].',
    'service_down': 'Start the service, or find the cause in its log.',
    'service_disabled': 'Enable the service with openstack share service set --enable.',
    'backend_down': 'Start manila-share on the host of the backend, or find the cause in its log.',
    'backend_silent': 'Send the request again; if this repeats, see the log of manila-share on that host.',
    'network_plugin_broken': 'Correct the configuration of the network plugin; the log of the API has the cause.',
    'network_not_reachable': 'Choose another network, or set [neutron] physical_network.',
    'backups_not_configured': 'Configure a type of backup in enabled_backup_types.',
    'no_valid_host': 'Add or enable a host, and send the request again.',
    'secret_unavailable': _LOG,
    'internal_error': _LOG,
    'finding_not_found': 'List the findings again with GET /findings.',
    'finding_not_mendable': 'Do what the finding says, and list the findings again with GET /findings.',
    'wrong_state': 'Wait until the status is right, or reset it; then send the request again.',
    'share_not_available': 'Wait until the share is available, or reset its status; then send the request again.',
    'shares_not_available': 'Wait until the shares are available, or reset their status; then send the request again.',
    'share_network_not_active': 'Wait until the share network is active, or reset its status; then send the request again.',
    'snapshot_not_available': 'Wait until the snapshot is available, or reset its status; then send the request again.',
    'share_has_snapshots': 'Delete the snapshots first; before a share is unmanaged, unmanage them.',
    'share_network_in_use': 'Delete the shares and share groups of the share network first, and delete or unmanage its share '
    'servers, as the message says.',
    'subnet_in_use': 'Delete the shares in the subnet first, and delete or unmanage its share servers, as the message says.',
    '*_locked': 'List the locks with openstack share lock list, and delete them first.',
    'lock_of_another': 'Ask the user or the service that placed the lock.',
    'lock_failed': 'Leave lock_visibility and lock_deletion out.',
    'share_type_without_qos_type': 'Create the QoS type that default_qos_type of the share type names, or correct that spec.',
    'share_type_not_accessible': 'Give the project access with openstack share type access create.',
    'replica_not_in_sync': 'Wait until the replica is in sync, or resynchronize it.',
    'forbidden': 'Change what the message names, or the policy ([oslo_policy] policy_file) if that denies the request.',
    '*_item_not_found': BY_CODE['*_item_not_found'],
    '*_spec_not_found': BY_CODE['*_spec_not_found'],
    '*not_found': 'Check the id in the list of all projects.',
}

#: The steps of codes that have none of their own.
BY_STATUS = {
    400: 'Correct the field that the message names, and send the request again.',
    401: 'Log in again, and send the request with valid credentials.',
    403: 'Ask an administrator for a role that allows this.',
    404: _NOT_FOUND,
    405: _OPENAPI,
    406: _VERSIONS,
    409: 'Remove the cause that the message names, or wait until it is over, and send the request again.',
    413: 'Ask for less, or ask the operator for a higher limit.',
    415: 'Send Content-Type: application/json.',
    422: 'Add the part that is missing, and send the request again.',
    429: _RETRY_AFTER,
    500: _OPERATOR,
    503: _AGAIN,
}
