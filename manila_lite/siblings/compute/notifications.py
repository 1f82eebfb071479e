# SPDX-License-Identifier: Apache-2.0
"""Notifications about attaching and detaching shares, with Nova's names and envelope, so that its listeners understand them."""

from typing import Any

from manila_lite import errors
from manila_lite.db.core.engine import Connection
from manila_lite.rpc.notifications import emit
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.states import SHOWN


def emit_attachment(
    conn: Connection, work: Any, event: str, attached: Any, error: Exception | None = None
) -> None:
    """Send the notification that ``share_attach`` or ``share_detach`` has begun, ended or failed (``event``)."""
    row = store.find_server(conn, attached.server_id)
    if row is None:
        return
    data = {
        'uuid': row.id,
        'display_name': row.name,
        'tenant_id': row.project_id,
        'user_id': row.user_id,
        'host': row.host,
        'state': SHOWN[row.status].vm_state,
        'task_state': SHOWN[row.status].task_state,
        'share_id': attached.share_id,
        'action_initiator_user': work.ctx.user_id,
        'action_initiator_project': work.ctx.project_id,
        'fault': _fault(error, work.ctx.request_id),
    }
    if work.ctx.conf.notifications.include_share_mapping:
        data['shares'] = [
            _object(
                'SharePayload',
                {
                    'share_mapping_uuid': one.id,
                    'share_id': one.share_id,
                    'status': one.status,
                    'tag': one.tag,
                },
            )
            for one in store.attachments(conn, (row.id,))
        ]
    emit(
        work.ctx,
        f'instance.{event}',
        _object('InstanceActionSharePayload', data),
        publisher=f'compute:{row.host}',
    )


def _fault(error: Exception | None, request_id: str | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return _object(
        'ExceptionPayload',
        {'exception': type(error).__name__, 'exception_message': errors.reason(error, request_id)},
    )


def _object(name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        'nova_object.name': name,
        'nova_object.namespace': 'nova',
        'nova_object.version': '1.0',
        'nova_object.data': data,
    }
