# SPDX-License-Identifier: Apache-2.0
"""The calls for user messages. Clients choose their next step by message ids (manila-csi does)."""

from typing import Any

from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import PAGE, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import CTX, PAGING, QUERY, path, read
from manila_lite.api.request import Request
from manila_lite.db.queries import messages
from manila_lite.db.queries.messages import Detail

_AGAIN = 'Try again, or ask the operator with the request id {request_id}.'
_SMALLER = 'Ask for less, or ask the operator for more space.'
_TYPE = 'Choose another share type, or ask the operator which one fits.'
_NETWORK = 'Try again; if it fails again, ask the operator with the request id {request_id}.'

#: Next steps for users after a failure, by its reason; empty where the cause says them already. ``request_id`` is the
#: message's.
NEXT_STEPS = {
    Detail.UNKNOWN_ERROR: 'Ask the operator, with the request id {request_id}.',
    Detail.NO_VALID_HOST: _AGAIN,
    Detail.UNEXPECTED_NETWORK: 'Leave the share network out, or choose a share type with share servers.',
    Detail.NO_SHARE_SERVER: _NETWORK,
    Detail.FILTER_AVAILABILITY: 'Ask for another availability zone, or for none.',
    Detail.FILTER_CAPABILITIES: _TYPE,
    Detail.FILTER_CAPACITY: _SMALLER,
    Detail.FILTER_DRIVER: _TYPE,
    Detail.FILTER_RETRY: _AGAIN,
    Detail.FILTER_REPLICATION: _TYPE,
    Detail.DRIVER_FAILED_EXTEND: 'Ask the operator to check the share, and to reset it to available.',
    Detail.FILTER_CREATE_FROM_SNAPSHOT: 'Choose the share type and the zone of the share of the snapshot.',
    Detail.DRIVER_FAILED_CREATING_FROM_SNAP: 'Delete the share, and try again.',
    Detail.DRIVER_REFUSED_SHRINK: 'Delete data from it, or ask for a larger size.',
    Detail.DRIVER_FAILED_SHRINK: 'Ask the operator to check the share, and to reset it to available.',
    Detail.FORBIDDEN_CLIENT_ACCESS: 'Delete the rule, and create one for another client.',
    Detail.UNSUPPORTED_CLIENT_ACCESS: '',
    Detail.SECURITY_SERVICE_DENIED: 'Choose another security service, or another share network.',
    Detail.SUBNET_DENIED: 'Choose another subnet, or another share network.',
    Detail.SUBNET_NOT_ADDED: 'Add the subnet again; share servers that have it keep it. While no share server is in it, you '
    'can delete it instead.',
    Detail.SECURITY_SERVICE_NOT_UPDATED: _AGAIN,
    Detail.SERVER_NOT_MANAGED: 'Correct the cause, and manage it again.',
    Detail.SERVER_NOT_UNMANAGED: 'Correct the cause, and unmanage it again.',
    Detail.NOT_MANAGED: '',
    Detail.NOT_UNMANAGED: '',
    Detail.MIGRATION_REFUSED: 'Choose another destination, or fewer demands such as writable or nondisruptive.',
    Detail.SHARE_CHANGES_FAST: 'Complete the migration when clients write less, or cancel it.',
    Detail.ATTRIBUTES_LOST: 'Cancel the migration if you need them.',
    Detail.FORMER_EXPORT_OPEN: 'Have all clients mount the new export locations.',
    Detail.SHARE_BROKEN: 'Ask the operator, with the request id {request_id}; openstack share service ensure shares repairs '
    'what can be repaired.',
    Detail.NOT_ENSURED: 'Do nothing: the share is checked again automatically.',
    Detail.COPY_KEPT: '',
    Detail.SHARE_NEARLY_FULL: 'Delete data, or extend the share.',
    Detail.SHARE_GROWS: 'Do nothing, or set usage:grow_to in its metadata to the largest size that you want.',
    Detail.GROWTH_REFUSED: 'Delete data, or remove what keeps it from being extended.',
    Detail.NO_BACKEND_READY: '',
    Detail.METADATA_NOT_PUSHED: 'Set the metadata again, or ask the operator.',
    Detail.SUBNET_FULL: '',
}

_STEP_BY_ID = {detail.value[0]: step for detail, step in NEXT_STEPS.items()}


def sentence(row: Any, req: Request) -> str:
    """Read the message for people: the action, the reason of its failure, and the next step."""
    step = _STEP_BY_ID.get(row.detail_id, '').format(request_id=row.request_id or 'of this message')
    return f'{messages.user_message(row)} {step}'.rstrip()


def delete(req: Request) -> None:
    """Delete a user message."""
    with req.ctx.db.writer() as conn:
        messages.delete(conn, req.ctx, req.params['message_id'])


# Fields and calls -------------------------------------------------------------------------------


MESSAGE = View(
    'message',
    'messages',
    (
        Field('id', shapes.ID),
        Field('project_id', shapes.STRING),
        Field('action_id', shapes.STRING),
        Field('detail_id', shapes.STRING),
        Field('message_level', shapes.STRING),
        Field('created_at', shapes.TIME),
        Field('expires_at', shapes.NULL_TIME),
        Field('request_id', shapes.NULL_STRING),
        Field('resource_type', shapes.NULL_STRING),
        Field('resource_id', shapes.NULL_STRING),
        Field('user_message', shapes.STRING, read=sentence),
    ),
    'messages',
)

FILTERS = (
    Field('id', shapes.STRING, aliases=('message_id',)),
    *(
        Field(name, shapes.STRING)
        for name in ('action_id', 'detail_id', 'message_level', 'request_id', 'resource_id', 'resource_type')
    ),
    Field('created_since', shapes.STRING, parse=shapes.time, since='2.52'),
    Field('created_before', shapes.STRING, parse=shapes.time, since='2.52'),
    *PAGE,
)

CALLS = [
    Call(
        'GET',
        '/messages',
        read('List user messages.', messages.list_messages, CTX, QUERY, PAGING, name='index'),
        'message:get_all',
        Many(MESSAGE, paged=True),
        since='2.37',
        query=FILTERS,
    ),
    Call(
        'GET',
        '/messages/{message_id}',
        read('Show one user message.', messages.get, CTX, path('message_id'), name='show'),
        'message:get',
        One(MESSAGE),
        since='2.37',
    ),
    Call('DELETE', '/messages/{message_id}', delete, 'message:delete', ok=204, since='2.37'),
]
