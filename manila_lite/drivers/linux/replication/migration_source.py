# SPDX-License-Identifier: Apache-2.0
"""Checks and cleaning of a migration's source that migrations of shares and of share servers have in common."""

from collections.abc import Callable

from oslo_log import log

from manila_lite import errors
from manila_lite.drivers.linux.pool.base import GIB, Pool
from manila_lite.drivers.linux.replication.replication import BtrfsCopy
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)


def objection(pool: Pool, make: Callable[[], BtrfsCopy], source_host: str) -> str:
    """Return the reason why the copy to the pool cannot be made, as far as is known now, or ''."""
    try:
        copy = make()
        with copy.session() as session:
            copy.inspect_source(session)
    except (errors.Final, CommandFailed, OSError) as bad:
        return f'{source_host}: {bad}'
    free = pool.capacity()[1]
    if copy.total > free * GIB:
        return f'There are {copy.total / GIB:.2f} GiB to copy, and {free:.2f} free.'
    return ''


def tidy(copy: BtrfsCopy) -> None:
    """Delete the copy's data. If the source cannot be reached, its part goes when the server there is torn down."""
    if not copy.begun:
        return
    try:
        with copy.session() as session:
            copy.clear(session)
    except (errors.Final, CommandFailed, OSError) as bad:
        LOG.warning('The copied data stay at the source until the share server there is deleted: %s', bad)
    copy.clear_here()
