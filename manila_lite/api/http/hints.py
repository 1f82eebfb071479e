# SPDX-License-Identifier: Apache-2.0
"""The next step after a refusal: by its reason (``*`` matches anything), else by its status."""

import fnmatch
import functools

_WAIT = 'Wait until that is over, and send the request again.'
_OPERATOR = 'Ask the operator, with the request id of this answer.'

BY_REASON = {
    'over_quota*': 'Delete what is no longer needed, or ask the operator for more.',
    'image_exists': 'Choose another name, or delete that image first.',
    'image_is_public': 'Ask the operator, who alone can change it.',
    'secret_unavailable': _OPERATOR,
    'share_of_another_project': 'Name a share of your own project, or have its owner do it.',
    'over_limit*': 'Delete some of what there is first, or ask the operator to raise the limit.',
    'no_such_path': 'Look the path up in /openapi.json of the microversion that you ask for.',
    'no_such_action': 'Look the action up in /openapi.json; some need a newer microversion.',
    'wrong_method': 'Look the call up in /openapi.json of the microversion that you ask for.',
    '*not_found': 'Look up the id in the list of what there is; what other projects have is not found either.',
    'microversion_out_of_range': 'GET / says which microversions are served.',
    'malformed_body': 'Send one JSON document, with its length.',
    'wrong_media_type': 'Send Content-Type: application/json.',
    'body_too_large': 'Send less at once.',
    'changed_meanwhile': 'Look what is there, and send the request again if it still fits.',
    'foreign_host': 'Use the IP address, or have the operator add the name to [api] allowed_hosts.',
    'query_too_long': 'Ask for less at once.', 'filter_too_long': 'Filter by less.',
    'malformed_header': 'Send the header once, in the form that RFC 9110 has for it.',
    'foreign_origin': "Call from a program, or from a page of the API's own host.",
    'identity_unavailable': 'Send the request again in a moment.',
    'rate_limited': 'Wait for as many seconds as Retry-After says, and send the request again.',
    'too_many_waiting': 'Send the request again after as many seconds as Retry-After says.',
    'idempotency_key_reused': 'Use a new key for a new request.',
    'idempotency_key_in_flight': 'Wait for the answer of the first, or send the request again in a moment.',
    'share_has_snapshots': 'Delete its snapshots first.',
    'share_has_instances': 'Delete them first.',
    'share_has_second_instance': 'Complete or cancel its migration first.',
    'share_type_in_use': 'Delete what is of this type first.',
    'share_network_in_use': 'Delete what is in the share network first.',
    'share_network_has_subnets': 'Delete the subnets first, all but one.',
    'subnet_in_use': 'Delete the shares and share servers in it first.',
    'security_service_in_use': 'Remove it from the share networks first.',
    'servers_in_use': 'Delete the shares on them first.',
    'share_server_in_use': 'Delete the shares on it first.',
    'share_soft_deleted': 'Restore the share first.',
    'share_expired': 'Make another share: this one is being deleted.',
    '*_locked': 'See openstack share lock list; who placed the lock can delete it.',
    'lock_of_another': 'Ask the one who placed it, or an administrator.',
    'too_late_to_lock': 'It is being deleted: nothing is left to lock.',
    'not_migrating': 'Begin with openstack share migration start, or openstack share server migration start.',
    'migration_not_cancellable': 'Wait for its end, and move it back if need be.',
    'migration_refused': 'Choose another destination or fewer demands; a check without a start says what fits.',
    'no_host_assisted_migration': 'Ask for it without force_host_assisted_migration.',
    'access_rule_exists': 'Use the rule that there is, or delete it first.',
    'access_rules_in_error': 'Delete the rule that is in error, and try again.',
    'wrong_auth_key': 'Use the auth_key that was shown when the transfer was created; if it is lost, create another transfer.',
    'share_type_unfit': 'Choose another share type, or ask the operator which one fits.',
    'share_type_is_public': 'Make the share type private first.',
    'share_type_not_accessible': 'Ask an administrator for access to the share type.',
    'snapshots_not_supported': 'Choose a share of a type that does snapshots.',
    'snapshot_already_managed': 'Use the one that there is.', 'share_already_managed': 'Use the one that there is.',
    'share_in_group': 'Name the share group in the request, or delete the share group first.',
    'share_group_has_shares': 'Delete the shares in the group first.',
    'share_group_has_snapshots': 'Delete the snapshots of the group first.',
    'share_group_type_in_use': 'Delete the share groups of this type first.',
    'share_group_type_is_public': 'Make the share group type private first.',
    'share_in_group_snapshot': 'Delete the snapshots of its group first.',
    'share_has_backups': 'Delete its backups first.',
    'share_too_small': 'Extend the share, or restore the backup to a larger one.',
    'backups_not_configured': 'Ask the operator to configure a type of backup.',
    'share_has_replicas': 'Delete its replicas first, all but the active one.',
    'active_replica': 'Promote another replica first.',
    'replica_in_error': 'Delete the replica that is in error, or resynchronize it.',
    'replica_not_in_sync': 'Wait until it is in sync, or resynchronize it.',
    'replication_not_supported': 'Choose a share of a type that has the extra spec replication_type.',
    'mount_snapshot_not_supported': 'Choose a snapshot of a share whose type has mount_snapshot_support.',
    'snapshot_not_available': _WAIT,
    'encryption_key_differs': 'Use the key that is named, or another share network.',
    'encryption_not_supported': 'Leave encryption_key_ref out, or choose a share type with encryption_support.',
    'qos_type_in_use': 'Take it out of the share types that name it first.',
    # Of the sibling "compute".
    'no_disk': 'Choose a server that was made of an image.',
    'no_shared_memory': 'Create the server anew, with shared_memory.',
    'no_virtiofs': 'Choose a server on another host, or ask the operator to install virtiofsd there.',
    'not_offered': 'Do without: this service has no such call.',
    'server_has_shares': 'Detach its shares first.',
    'share_attachment_exists': 'Use the attachment that there is, or another tag.',
    'share_not_exported': _WAIT,
    'share_protocol_not_supported': 'Choose a share of another protocol.',
    'too_many_attachments': 'Detach a share first.',
    'address_in_use': 'Choose another address, or name none.',
    'no_free_address': 'Choose another network, or delete a server in this one.',
    'network_ambiguous': 'Name a network in networks, or none.',
    'share_not_transferable': 'Change what the sentence names first.',
    'share_on_share_server': 'Ask for microversion 2.49 or later.',
    'share_server_encrypted': 'It cannot be given away: move its shares, and delete it.',
    'bad_share_server': 'Choose an active share server of that host.',
    'identifier_in_use': 'Use the share server that there is.',
    'lock_failed': 'Leave lock_visibility and lock_deletion out, or ask an administrator.',
    'mount_point_name_exists': 'Choose another name.',
    'mount_point_name_not_supported': 'Leave the name out, or choose a share type that allows one.',
    'network_not_known': 'Choose a network of the project; openstack network list shows them.',
    'subnet_not_known': 'Choose a subnet of the network; openstack subnet list shows them.',
    'subnet_not_there': 'Choose a subnet of the share network that is in the zone of the host.',
    'not_one_subnet': 'Name the subnet with share_network_subnet_id, or delete the others.',
    'no_default_subnet': 'Add and delete subnets instead.',
    'subnets_overlap': 'Choose a subnet with other addresses.',
    'zone_has_subnet': 'Ask for microversion 2.70 or later, or delete the one that there is.',
    'security_service_not_attached': 'openstack share network show lists those that are attached.',
    'security_service_type_differs': 'Choose a security service of the same type.',
    'security_service_type_taken': 'Remove the one that there is, or update it to the other.',
    'service_down': _OPERATOR, 'service_disabled': _OPERATOR, 'backend_down': _OPERATOR, 'backend_silent': _OPERATOR,
    'network_plugin_broken': _OPERATOR, 'network_not_reachable': _OPERATOR,
    'neutron_unavailable': 'Send the request again in a moment.',
    'already_ensuring': _WAIT,
    'wrong_state': _WAIT + ' An administrator can reset a status that stays.',
    'share_not_available': _WAIT, 'shares_not_available': _WAIT, 'share_network_not_active': _WAIT,
}

BY_STATUS = {
    400: 'Correct what is named, and send the request again.',
    401: 'Log in again, and send the request with the new token.',
    403: 'Ask for a role that may do this, or ask someone who has it.',
    404: 'Look up the id in the list of what there is; what other projects have is not found either.',
    405: 'Look the call up in /openapi.json of the microversion that you ask for.',
    406: 'GET / says which microversions are served.',
    409: 'Change what is named, or wait until it has changed, and send the request again.',
    413: 'Send less, or ask the operator for more.',
    415: 'Send Content-Type: application/json.',
    422: 'Add what is missing, and send the request again.',
    429: 'Wait for as many seconds as Retry-After says, and send the request again.',
    500: _OPERATOR,
    503: 'Send the request again in a moment.',
}


#: Refusals whose messages name only the problem. The messages of others name the field, or the next step in detail.
_SILENT = ('*not_found', 'over_quota*', 'over_limit*', 'no_such_*', 'wrong_method', 'wrong_media_type', 'body_too_large',
           'microversion_out_of_range', 'unauthorized', 'forbidden', 'internal_error', 'service_down', 'service_disabled',
           'backend_down', 'backend_silent', 'not_migrating')


@functools.cache
def next_step(status: int, reason: str) -> str:
    """Return the next step after a refusal."""
    exact = BY_REASON.get(reason)
    patterns = (step for pattern, step in BY_REASON.items() if '*' in pattern and fnmatch.fnmatchcase(reason, pattern))
    return exact or next(patterns, '') or BY_STATUS.get(status, _OPERATOR)


def sentence(message: str, status: int, reason: str) -> str:
    """Return the message for people, with the next step if the message does not have it.

    Some clients show nothing else.
    """
    if any(fnmatch.fnmatchcase(reason, pattern) for pattern in _SILENT):
        return f'{message} {next_step(status, reason)}'
    return message
