# SPDX-License-Identifier: Apache-2.0
"""The tables of the data-processing service. ``shares`` is JSON text in all of them, as the specification demands."""

from typing import Any

import sqlalchemy as sa

from manila_lite.db.core import transitions
from manila_lite.db.models.base import Id, Json, Name, flag, primary_key, ref, times
from manila_lite.siblings import grants
from manila_lite.siblings.dataproc import states
from manila_lite.siblings.db import schema

metadata = schema.metadata()

share_grants = grants.table(metadata)


def _described() -> tuple[sa.Column[Any], ...]:
    """Return the common columns of clusters and templates. ``details``: values that are only kept, and returned as sent."""
    return (
        primary_key(),
        *times(),
        sa.Column('project_id', Name, nullable=False, index=True),
        sa.Column('name', Name, nullable=False),
        sa.Column('description', sa.Text),
        sa.Column('plugin_name', Name, nullable=False),
        sa.Column('plugin_version', Name, nullable=False),
        flag('is_public'),
        flag('is_protected'),
        sa.Column('details', Json, nullable=False),
        sa.Column('shares', Json),
    )


def _sized() -> tuple[sa.Column[Any], ...]:
    return sa.Column('flavor_id', Name), sa.Column('image_id', Name)


node_group_templates = sa.Table(
    'node_group_templates', metadata, *_described(), *_sized(), sa.UniqueConstraint('project_id', 'name')
)

cluster_templates = sa.Table(
    'cluster_templates', metadata, *_described(), sa.UniqueConstraint('project_id', 'name')
)

clusters = sa.Table(
    'clusters',
    metadata,
    *_described(),
    ref('cluster_template_id', 'cluster_templates.id', nullable=True),
    sa.Column('default_image_id', Name),
    sa.Column('status', sa.String(32), nullable=False),
    sa.Column('status_description', sa.Text),
    # Progress of the present work: [{"step_name": ..., "total": 3, "completed": 2, ...}].
    sa.Column('progress', Json, nullable=False),
    # Protocol and export location of each share, as they were when its owner named it.
    sa.Column('known_shares', Json, nullable=False),
    # While it grows: {"nodes": [ids of the nodes before], "counts": {id of a node group: its number of nodes before}}.
    sa.Column('scaling', Json),
    # Why the last change was undone, until the next request.
    sa.Column('fault', sa.Text),
    sa.UniqueConstraint('project_id', 'name'),
)

#: Node groups of a cluster or of a cluster template.
node_groups = sa.Table(
    'node_groups',
    metadata,
    primary_key(),
    *times(),
    ref('cluster_id', 'clusters.id', nullable=True, cascade=True),
    ref('cluster_template_id', 'cluster_templates.id', nullable=True, cascade=True),
    sa.Column('node_group_template_id', Id, index=True),
    sa.Column('name', Name, nullable=False),
    sa.Column('count', sa.Integer, nullable=False),
    *_sized(),
    sa.Column('details', Json, nullable=False),
    sa.Column('shares', Json),
    sa.UniqueConstraint('cluster_id', 'name'),
    sa.UniqueConstraint('cluster_template_id', 'name'),
)

instances = sa.Table(
    'instances',
    metadata,
    primary_key(),
    *times(),
    ref('node_group_id', 'node_groups.id'),
    ref('cluster_id', 'clusters.id'),
    sa.Column('name', Name, nullable=False),
    # The node's reference in the infrastructure: one node is in one cluster.
    sa.Column('infra_ref', Name, unique=True),
    sa.Column('internal_ip', sa.String(64)),
    sa.Column('ssh_port', sa.Integer),
    sa.Column('ssh_user', Name),
    sa.Column('host_key', sa.Text),
    sa.Column('key_file', sa.Text),
    sa.Column('state', sa.String(16), nullable=False),
    sa.Column('fault', sa.Text),
    sa.Column('attempts', sa.Integer, nullable=False, server_default='0'),
    sa.UniqueConstraint('cluster_id', 'name'),
)

share_mounts = sa.Table(
    'share_mounts',
    metadata,
    primary_key(),
    *times(),
    ref('instance_id', 'instances.id'),
    sa.Column('share_id', Id, nullable=False, index=True),
    sa.Column('path', sa.Text, nullable=False),
    sa.Column('level', sa.String(2), nullable=False),
    sa.Column('protocol', sa.String(32)),
    sa.Column('export', sa.Text),
    sa.Column('grant_id', Id, index=True),
    sa.Column('state', sa.String(16), nullable=False),
    sa.Column('fault', sa.Text),
    sa.Column('attempts', sa.Integer, nullable=False, server_default='0'),
    sa.UniqueConstraint('instance_id', 'share_id'),
)

for _machine, _table in ((states.CLUSTER, clusters), (states.NODE, instances), (states.MOUNT, share_mounts)):
    transitions.register(_machine, _table)
