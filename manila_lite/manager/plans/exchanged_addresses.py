# SPDX-License-Identifier: Apache-2.0
"""The exchange of addresses between a share server and its copy at the cut-over: clients find the shares where they were.

Both get the other's addresses in the database, in one transaction. Then the source's backend lets go of its own, before the
target takes them: no two machines have an address at the same time. There is no way back, and everything can be repeated.
"""

import collections
import time

from oslo_log import log

from manila_lite import errors, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import allocations, server_migration
from manila_lite.engine import FAST, Work, begin_once
from manila_lite.manager.plans import server_addresses
from manila_lite.manager.plans.migration import await_operation
from manila_lite.network import load as plugins

LOG = log.getLogger(__name__)

#: Key of the operation's data: whether the copy is to get the addresses of its source.
WANTED = 'exchanges_addresses'
#: Keys of the data: the ids of the addresses that each server gets, by server; the operation at the source's backend; since
#: when it runs.
_GETS, _TOLD, _SINCE = 'addresses_by_server', 'readdress', 'readdress_since'


def exchange(work: Work, migration: values.ServerMigration) -> bool:
    """Exchange the addresses, and wait until the source runs with those of the target. Return False if both keep their own:
    they are in different networks, or one has more of them than the other.

    :raises errors.Again: the source does not do so yet.
    :raises errors.Final: its backend failed, or did not do it within ``[operations] lease``. A request to complete the
        migration tells it once more.
    """
    if not work.data.get(WANTED):
        return False
    if _GETS not in work.data:
        work.data[_GETS] = _plan(work, migration.source.id, migration.target.id)
        raise errors.Again(0.0)     # the plan is stored before anything follows it
    if not work.data[_GETS]:
        return False
    if _TOLD not in work.data:
        work.data.update({_TOLD: _begin(work, migration), _SINCE: time.time()})
    _await(work)
    plugin = plugins.make(work.ctx.conf)
    for server_id in work.data[_GETS]:
        server_addresses.hand_over(work.ctx.services, plugin, server_id)
    return True


def _plan(work: Work, source: str, target: str) -> dict[str, list[str]]:
    """Return the ids of the addresses that each server is to get, or {} if the two have not equally many in each subnet."""
    with work.ctx.db.reader() as conn:
        mine, others = _by_subnet(conn, source), _by_subnet(conn, target)
    if {name: len(ids) for name, ids in mine.items()} != {name: len(ids) for name, ids in others.items()}:
        LOG.warning('Share server %s has not as many addresses as its copy %s, which keeps its own', source, target)
        return {}
    return {source: [row_id for ids in others.values() for row_id in ids],
            target: [row_id for ids in mine.values() for row_id in ids]}


def _by_subnet(conn: Connection, server_id: str) -> dict[str, list[str]]:
    """Return the ids of the server's addresses by subnet, without those in the administrators' network."""
    found = collections.defaultdict(list)
    for row in allocations.of_server(conn, server_id):
        if row.share_network_subnet_id is not None:
            found[row.share_network_subnet_id].append(row.id)
    return found


def _begin(work: Work, migration: values.ServerMigration) -> str:
    """Exchange the addresses, and tell the source's backend. Return the id of its operation."""
    source = migration.source.id
    key = f'addresses:{source}'
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        for server_id, allocation_ids in work.data[_GETS].items():
            allocations.set_owner(conn, server_id, allocation_ids)
        wake = begin_once(conn, work.ctx, server_migration.READDRESS, 'share_server', source, topic='share',
                          host=work.data['from'], lane=FAST, serial=key, open_key=key)
    wake.send(work.ctx)
    return wake.operation_id


def _await(work: Work) -> None:
    lease = work.ctx.conf.operations.lease
    try:
        await_operation(work, work.data[_TOLD], 'The backend of the share server did not let go of its addresses.')
    except errors.Again:
        if time.time() - work.data[_SINCE] < lease:
            raise
        del work.data[_TOLD]
        raise errors.Final('The backend of the share server did not let go of its addresses for '
                           f'{lease:.0f} seconds.') from None
    except errors.Final:
        del work.data[_TOLD]
        raise
