# SPDX-License-Identifier: Apache-2.0
"""User messages. The ids are part of the API: clients decide by them, as manila-csi does."""

import datetime
import enum
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import context
from manila_lite.db import models
from manila_lite.db.core import database_clock, host_time, paging
from manila_lite.db.core.rows import get_row

_messages = models.messages
_SORTABLE = {column.name: column for column in _messages.c}
_KEEP = datetime.timedelta(days=30)


class Action(enum.Enum):
    """The action that failed: id and description."""

    ALLOCATE_HOST = ('001', 'allocate host')
    CREATE = ('002', 'create')
    DELETE_ACCESS_RULES = ('003', 'delete access rules')
    PROMOTE = ('004', 'promote')
    UPDATE = ('005', 'update')
    REVERT_TO_SNAPSHOT = ('006', 'revert to snapshot')
    DELETE = ('007', 'delete')
    EXTEND = ('008', 'extend')
    SHRINK = ('009', 'shrink')
    UPDATE_ACCESS_RULES = ('010', 'update access rules')
    ADD_UPDATE_SECURITY_SERVICE = ('011', 'add or update security service')
    UPDATE_METADATA = ('027', 'update metadata')
    # Additions to the actions that Manila has.
    ADD_SUBNET = ('901', 'add subnet to share network')
    MANAGE_SERVER = ('902', 'manage share server')
    UNMANAGE_SERVER = ('903', 'unmanage share server')
    MIGRATE_SERVER = ('904', 'migrate share server')
    ENSURE = ('920', 'ensure share')
    COMPLETE_MIGRATION = ('905', 'complete migration of share server')
    CANCEL_MIGRATION = ('906', 'cancel migration of share server')
    MIGRATE_SHARE = ('907', 'migrate share')
    MANAGE = ('908', 'manage')
    UNMANAGE = ('909', 'unmanage')
    RESTORE_BACKUP = ('910', 'restore backup')
    RUN_SCHEDULE = ('930', 'run schedule')
    MEASURE_USAGE = ('940', 'measure usage')


class Detail(enum.Enum):
    """The reason of the failure: id and general sentence. The message's own text adds the particulars."""

    UNKNOWN_ERROR = ('001', 'An unexpected error happened.')
    NO_VALID_HOST = ('002', 'No backend could take the share.')
    UNEXPECTED_NETWORK = ('003', 'The backend did not expect the share network that was given.')
    NO_SHARE_SERVER = ('004', 'No share server could be found or created for the share.')
    FILTER_AVAILABILITY = ('007', 'No backend of the requested availability zone could take the share.')
    FILTER_CAPABILITIES = ('008', 'No backend has the capabilities that the share type asks for.')
    FILTER_CAPACITY = ('009', 'No backend has enough free space.')
    FILTER_DRIVER = ('010', 'No backend has the value of driver_handles_share_servers in the share type.')
    FILTER_RETRY = ('013', 'Every suitable backend was tried and failed.')
    FILTER_REPLICATION = ('014', 'No backend supports the replication type of the share type.')
    DRIVER_FAILED_EXTEND = ('015', 'The backend could not extend the share.')
    FILTER_CREATE_FROM_SNAPSHOT = ('016', 'No backend can create a share from this snapshot.')
    DRIVER_FAILED_CREATING_FROM_SNAP = ('017', 'The backend could not create the share from the snapshot.')
    DRIVER_REFUSED_SHRINK = ('018', 'The share holds more data than the new size; it was not shrunk.')
    DRIVER_FAILED_SHRINK = ('019', 'The backend could not shrink the share.')
    FORBIDDEN_CLIENT_ACCESS = ('020', 'The backend refuses this client.')
    UNSUPPORTED_CLIENT_ACCESS = (
        '021',
        'The backend does not support this access rule. Delete it, and create another one.',
    )
    SECURITY_SERVICE_DENIED = ('022', 'A backend cannot update its share servers with this security service.')
    # Additions to the details that Manila has: it has no message for subnets that servers could not be given, and for
    # servers that could not be managed. Its own numbers stay far below.
    SUBNET_DENIED = ('901', 'A backend cannot add this subnet to its share servers.')
    SUBNET_NOT_ADDED = ('902', 'The subnet could not be added to a share server.')
    SECURITY_SERVICE_NOT_UPDATED = ('903', 'A share server could not be updated with the security service.')
    SERVER_NOT_MANAGED = ('904', 'The share server could not be managed.')
    SERVER_NOT_UNMANAGED = ('905', 'The share server could not be unmanaged.')
    NOT_MANAGED = (
        '908',
        'It was not managed. Unmanage this entry, correct the cause that follows, and manage it again.',
    )
    NOT_UNMANAGED = (
        '909',
        'It was not unmanaged. Correct the cause that follows and unmanage it again, or reset it.',
    )
    MIGRATION_REFUSED = ('910', 'The destination cannot take the share.')
    SHARE_CHANGES_FAST = (
        '911',
        'The copy is ready, but clients change the share faster than it can be copied.',
    )
    ATTRIBUTES_LOST = ('912', 'The content of files is copied, but not all of their attributes.')
    FORMER_EXPORT_OPEN = ('913', 'The share has moved, but its former export is still open.')
    SHARE_BROKEN = ('920', 'The backend found the share broken.')
    NOT_ENSURED = ('921', 'The backend could not check the share. The share was not changed.')
    COPY_KEPT = (
        '930',
        'A copy that the schedule need not keep any more cannot be deleted now. The next run tries again.',
    )
    SHARE_NEARLY_FULL = ('940', 'The share is nearly full.')
    SHARE_GROWS = ('941', 'The share is extended automatically, before it is full.')
    GROWTH_REFUSED = ('942', 'The share is nearly full, and cannot be extended automatically.')
    NO_BACKEND_READY = ('028', 'The storage backends are not ready yet. Try again in a minute.')
    METADATA_NOT_PUSHED = ('030', 'A share server could not apply the metadata of its subnet.')
    SUBNET_FULL = (
        '033',
        'The subnet of the share network has no free address left. Free some, or add a subnet.',
    )

    @classmethod
    def named(cls, name: str | None) -> 'Detail':
        """Return the detail of that name. A name without a message of its own is NO_VALID_HOST or UNKNOWN_ERROR."""
        if name is not None and name in cls.__members__:
            return cls[name]
        return cls.NO_VALID_HOST if name and name.startswith('FILTER') else cls.UNKNOWN_ERROR

    @classmethod
    def of(cls, error: Exception, otherwise: 'Detail | None' = None) -> 'Detail':
        """Return the detail that an error names; if it names none, ``otherwise`` or UNKNOWN_ERROR."""
        name = getattr(error, 'detail', None)
        return cls.named(name) if name or otherwise is None else otherwise


def create(
    conn: Connection,
    ctx: context.RequestContext,
    resource_type: str,
    resource_id: str,
    action: Action,
    detail: Detail,
    text: str = '',
) -> None:
    """Tell the owner of the resource why the action failed. The message expires after 30 days."""
    create_many(conn, ctx, resource_type, {resource_id: ctx.project_id or ''}, action, detail, text)


def create_many(
    conn: Connection,
    ctx: context.RequestContext,
    resource_type: str,
    owners: Mapping[str, str],
    action: Action,
    detail: Detail,
    text: str = '',
) -> None:
    """Do as ``create`` for resources by id with their projects, in one statement for any number."""
    texts = {resource_id: (project_id, text) for resource_id, project_id in owners.items()}
    create_each(conn, ctx, resource_type, texts, action, detail)


def create_each(
    conn: Connection,
    ctx: context.RequestContext,
    resource_type: str,
    texts: Mapping[str, tuple[str, str]],
    action: Action,
    detail: Detail,
) -> None:
    """Do as ``create`` for resources by id, each with its project and its own text, in one statement for any number."""
    same = {
        'request_id': ctx.request_id,
        'resource_type': resource_type,
        'action_id': action.value[0],
        'detail_id': detail.value[0],
        'message_level': 'ERROR',
        'expires_at': host_time.now(conn) + _KEEP,
    }
    if texts:
        conn.execute(
            _messages.insert(),
            [
                {
                    **same,
                    'id': uuidutils.generate_uuid(),
                    'resource_id': resource_id,
                    'project_id': project_id,
                    'text': text,
                }
                for resource_id, (project_id, text) in texts.items()
            ],
        )


def newest_of_resources(
    conn: Connection, resource_ids: Iterable[str], action: Action
) -> dict[str, tuple[str, str]]:
    """Return detail id and text of the newest message of that action, for those of these resources that have one."""
    query = sa.select(_messages.c.resource_id, _messages.c.detail_id, _messages.c.text).where(
        _messages.c.resource_id.in_(tuple(resource_ids)), _messages.c.action_id == action.value[0]
    )
    return {
        row.resource_id: (row.detail_id, row.text)
        for row in conn.execute(query.order_by(_messages.c.created_at))
    }


def user_message(row: Row[Any]) -> str:
    """Return the sentence for users: the action, the reason, and the particulars. A text of its own is no unknown error."""
    by_id = {member.value[0]: member.value[1] for member in (*Action,)}
    details = {member.value[0]: member.value[1] for member in (*Detail,)}
    reason = (
        '' if row.text and row.detail_id == Detail.UNKNOWN_ERROR.value[0] else details.get(row.detail_id, '')
    )
    return f'{by_id.get(row.action_id, "unknown action")}: {" ".join(filter(None, (reason, row.text)))}'


def _visible(ctx: context.RequestContext) -> sa.Select[Any]:
    query = sa.select(_messages)
    return query if ctx.is_admin else query.where(_messages.c.project_id == ctx.project_id)


def get(conn: Connection, ctx: context.RequestContext, message_id: str) -> Row[Any]:
    """Return a message of the caller's project.

    :raises errors.NotFound: there is none.
    """
    return get_row(conn, _visible(ctx).where(_messages.c.id == message_id), 'message', message_id)


_EQUAL = ('id', 'detail_id', 'action_id', 'resource_id', 'resource_type', 'message_level', 'request_id')


def list_messages(
    conn: Connection, ctx: context.RequestContext, filters: dict[str, Any], page: paging.Page
) -> list[Row[Any]]:
    """Return the caller's messages; ``created_since`` and ``created_before`` are datetimes."""
    query = _visible(ctx).where(*paging.conditions(filters, _messages.c, _EQUAL))
    return list(conn.execute(page.apply(query, _SORTABLE, tie=_messages.c.id)).all())


def delete(conn: Connection, ctx: context.RequestContext, message_id: str) -> None:
    """Delete the message.

    :raises errors.NotFound: there is none.
    """
    get(conn, ctx, message_id)
    conn.execute(_messages.delete().where(_messages.c.id == message_id))


def delete_expired(conn: Connection) -> int:
    """Delete expired messages. Return their number."""
    return conn.execute(_messages.delete().where(_messages.c.expires_at < database_clock.time(conn))).rowcount
