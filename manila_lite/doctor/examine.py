# SPDX-License-Identifier: Apache-2.0
"""All checks of the doctor, in order, and the mending of their findings."""

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context
from manila_lite.db.core.engine import retry
from manila_lite.doctor import (
    operations,
    orphans,
    schedules,
    services,
    share_groups,
    share_replicas,
    share_servers,
    shares,
    stuck_migrations,
)
from manila_lite.doctor.finding import Finding, RepairContext

LOG = log.getLogger(__name__)

_QUESTIONS = (
    operations.find,
    shares.find_shares,
    shares.find_secondary_instances,
    share_replicas.find,
    share_replicas.find_contradicting,
    stuck_migrations.find_ended,
    share_groups.find,
    shares.find_snapshots,
    shares.find_rules,
    shares.find_not_served,
    shares.find_mount_options,
    share_servers.find_servers,
    share_servers.find_in_error,
    share_servers.find_networks,
    share_servers.find_subnets,
    share_servers.find_lacking,
    share_servers.find_addresses,
    share_servers.find_strays,
    orphans.find_sizes,
    orphans.find_triggers,
    orphans.find_sums,
    orphans.find_orphans,
    schedules.find,
    services.find_services,
    services.find_left_ensuring,
    services.find_pools,
)


def list_findings(services: context.Services, older_than: float = 0.0) -> list[Finding]:
    """Return the findings of all checks that are at least ``older_than`` seconds old, or have no age."""
    repair = RepairContext(services, timeutils.utcnow())
    with services.db.reader() as conn:
        findings = [finding for question in _QUESTIONS for finding in question(conn, repair)]
    return [finding for finding in findings if finding.age is None or finding.age >= older_than]


def mend(services: context.Services, finding: Finding) -> str | None:
    """Do what the finding offers, and wake the worker. Return a description, or None if there was nothing to do."""

    @retry
    def once() -> str | None:
        with services.db.writer() as conn:
            return finding.mend(conn, RepairContext(services, timeutils.utcnow())) if finding.mend else None

    said = once()
    if said:
        LOG.debug('%s: %s %s: %s', finding.id, finding.what, finding.state, said)
    return said
