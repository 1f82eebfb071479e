# SPDX-License-Identifier: Apache-2.0
"""All checks of the doctor, in order, and the mending of their findings."""

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context
from manila_lite.db.engine import retry
from manila_lite.operations.doctor import groups, hosts, replicas, resources, rows, servers, work
from manila_lite.operations.doctor.finding import Desk, Finding

LOG = log.getLogger(__name__)

_QUESTIONS = (work.find, resources.find_shares, resources.find_second_places, replicas.find, groups.find,
              resources.find_snapshots, resources.find_rules,
              servers.find_servers, servers.find_networks, servers.find_subnets, servers.find_addresses, servers.find_strays,
              rows.find_sizes, rows.find_orphans, hosts.find_services, hosts.find_left_ensuring, hosts.find_pools)


def look(services: context.Services, older_than: float = 0.0) -> list[Finding]:
    """Return the findings of all checks that are at least ``older_than`` seconds old, or have no age."""
    desk = Desk(services, timeutils.utcnow())
    with services.db.reader() as conn:
        found = [finding for question in _QUESTIONS for finding in question(conn, desk)]
    return [finding for finding in found if finding.age is None or finding.age >= older_than]


def mend(services: context.Services, finding: Finding) -> str | None:
    """Do what the finding offers, and wake the worker. Return a description, or None if there was nothing to do."""
    @retry
    def once() -> tuple[str | None, Desk]:
        desk = Desk(services, timeutils.utcnow())
        with services.db.writer() as conn:
            return finding.mend(conn, desk) if finding.mend else None, desk

    said, desk = once()
    if said:
        LOG.debug('%s: %s %s: %s', finding.id, finding.what, finding.state, said)
    for wake in desk.wakes:
        wake.send(context.admin(services))
    return said
