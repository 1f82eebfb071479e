# SPDX-License-Identifier: Apache-2.0
"""What goes by itself when its time is over: by the same way as if its owner had asked for it. Any scheduler may do it,
or several at once."""

from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors
from manila_lite.actions import share_transfers, shares
from manila_lite.db import share_bin
from manila_lite.db import share_transfers as transfers

LOG = log.getLogger(__name__)


def empty_bin(services: context.Services) -> None:
    """Shares whose time in the recycle bin is over are being deleted. What is not possible is tried with the next look."""
    with services.db.reader() as conn:
        found = share_bin.expired(conn, timeutils.utcnow())
    for row in found:
        try:
            shares.delete(_owner(services, row), row.id, from_bin=True)
        except (errors.NotFound, errors.WrongState):
            continue        # somebody else was faster
        except errors.ManilaLiteError as refused:
            LOG.warning('%s: its time in the recycle bin is over, and it cannot be deleted: %s', row.id, refused)
        else:
            LOG.info('%s: deleted, since its time in the recycle bin is over', row.id)


def end_transfers(services: context.Services) -> None:
    """Transfers that can be accepted no more are gone, and their shares are available again."""
    with services.db.reader() as conn:
        found = transfers.expired(conn, timeutils.utcnow())
    for row in found:
        try:
            share_transfers.delete(_owner(services, row), row.id)
        except errors.NotFound:
            continue        # somebody else was faster
        LOG.info('transfer %s was accepted by nobody in time, and is gone', row.id)


def _owner(services: context.Services, row: Any) -> context.RequestContext:
    """Return the product's own context, with messages and history for the owner of the row."""
    ctx = context.admin(services)
    ctx.project_id, ctx.user_id = row.project_id, getattr(row, 'user_id', None)
    return ctx
