# SPDX-License-Identifier: Apache-2.0
"""Deletion of resources whose time is over, as if their owner asked for it. Several schedulers may do it at once."""

from typing import Any

from oslo_log import log

from manila_lite import context, errors
from manila_lite.actions import share_transfers, shares
from manila_lite.db.core import database_clock
from manila_lite.db.queries import share_bin
from manila_lite.db.queries import share_transfers as transfers

LOG = log.getLogger(__name__)


def empty_bin(services: context.Services) -> None:
    """Delete shares whose time in the recycle bin is over. A share that cannot be deleted is tried again next time."""
    with services.db.reader() as conn:
        rows = share_bin.list_expired(conn, database_clock.time(conn))
    for row in rows:
        try:
            shares.delete(_owner(services, row), row.id, from_bin=True)
        except (errors.NotFound, errors.WrongState):
            continue  # another scheduler was faster
        except errors.ManilaLiteError as refused:
            LOG.warning(
                '%s: its time in the recycle bin is over, and it cannot be deleted: %s', row.id, refused
            )
        else:
            LOG.info('%s: deleted, since its time in the recycle bin is over', row.id)


def end_transfers(services: context.Services) -> None:
    """Delete transfers that have expired, and make their shares available again."""
    with services.db.reader() as conn:
        rows = transfers.list_expired(conn, database_clock.time(conn))
    for row in rows:
        try:
            share_transfers.delete(_owner(services, row), row.id)
        except errors.NotFound:
            continue  # another scheduler was faster
        LOG.info('transfer %s was not accepted in time, and is deleted', row.id)


def _owner(services: context.Services, row: Any) -> context.RequestContext:
    """Return an administrator's context of this service, with the owner of the row as owner of messages and history."""
    return context.admin(services, row.project_id, getattr(row, 'user_id', None))
