# SPDX-License-Identifier: Apache-2.0
"""The tables, one file per resource. Rows are deleted for real; operations and messages keep the history."""

from manila_lite.db.models.access import access_rule_metadata, access_rules
from manila_lite.db.models.base import metadata
from manila_lite.db.models.idempotency_keys import idempotency_keys
from manila_lite.db.models.messages import messages
from manila_lite.db.models.operations import operations
from manila_lite.db.models.qos_types import qos_type_specs, qos_types
from manila_lite.db.models.quotas import quota_changes, quota_classes, quota_locks, quotas
from manila_lite.db.models.request_notes import request_notes
from manila_lite.db.models.resource_locks import resource_locks
from manila_lite.db.models.schedules import schedule_copies, schedules
from manila_lite.db.models.secrets import secret_checks
from manila_lite.db.models.security_services import security_services, share_network_security_services
from manila_lite.db.models.services import availability_zones, backend_machines, pools, services
from manila_lite.db.models.share_backups import share_backups
from manila_lite.db.models.share_groups import (
    share_group_share_types,
    share_group_snapshot_members,
    share_group_snapshots,
    share_group_type_projects,
    share_group_type_share_types,
    share_group_type_specs,
    share_group_types,
    share_groups,
)
from manila_lite.db.models.share_networks import (
    network_allocations,
    share_network_subnet_metadata,
    share_network_subnets,
    share_networks,
)
from manila_lite.db.models.share_replicas import replica_snapshots, share_instance_metadata
from manila_lite.db.models.share_servers import (
    share_server_details,
    share_server_share_network_subnet_mappings,
    share_servers,
)
from manila_lite.db.models.share_transfers import share_transfers
from manila_lite.db.models.share_types import share_type_extra_specs, share_type_projects, share_types
from manila_lite.db.models.share_usage import share_usage, share_usage_history, share_usage_sums
from manila_lite.db.models.shares import (
    export_location_metadata,
    export_locations,
    share_instances,
    share_metadata,
    shares,
)
from manila_lite.db.models.snapshots import (
    snapshot_access_rules,
    snapshot_export_locations,
    snapshot_metadata,
    snapshots,
)

__all__ = [
    'access_rule_metadata',
    'access_rules',
    'availability_zones',
    'backend_machines',
    'export_location_metadata',
    'export_locations',
    'idempotency_keys',
    'messages',
    'metadata',
    'network_allocations',
    'operations',
    'pools',
    'qos_type_specs',
    'qos_types',
    'quota_changes',
    'quota_classes',
    'quota_locks',
    'quotas',
    'replica_snapshots',
    'request_notes',
    'resource_locks',
    'schedule_copies',
    'schedules',
    'secret_checks',
    'security_services',
    'services',
    'share_backups',
    'share_group_share_types',
    'share_group_snapshot_members',
    'share_group_snapshots',
    'share_group_type_projects',
    'share_group_type_share_types',
    'share_group_type_specs',
    'share_group_types',
    'share_groups',
    'share_instance_metadata',
    'share_instances',
    'share_metadata',
    'share_network_security_services',
    'share_network_subnet_metadata',
    'share_network_subnets',
    'share_networks',
    'share_server_details',
    'share_server_share_network_subnet_mappings',
    'share_servers',
    'share_transfers',
    'share_type_extra_specs',
    'share_type_projects',
    'share_types',
    'share_usage',
    'share_usage_history',
    'share_usage_sums',
    'shares',
    'snapshot_access_rules',
    'snapshot_export_locations',
    'snapshot_metadata',
    'snapshots',
]
