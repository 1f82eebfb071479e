# SPDX-License-Identifier: Apache-2.0
"""Templates, clusters with their node groups, nodes and mounts, and the tables that every sibling has."""

import sqlalchemy as sa
from alembic import op

from manila_lite.siblings.db import schema
from manila_lite.siblings.db.schema import JSON, TIME

revision = '0001'
down_revision = None


def upgrade() -> None:
    schema.create()
    schema.create_grants()
    _templates()
    _clusters()
    _nodes()


def _row() -> tuple[sa.Column, ...]:
    return (
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
    )


def _described(table: str) -> tuple[sa.Column | sa.Constraint, ...]:
    return (
        *_row(),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('description', sa.Text),
        sa.Column('plugin_name', sa.String(255), nullable=False),
        sa.Column('plugin_version', sa.String(255), nullable=False),
        sa.Column('is_public', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column('is_protected', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column('details', JSON, nullable=False),
        sa.Column('shares', JSON),
        sa.PrimaryKeyConstraint('id', name=f'pk_{table}'),
        sa.UniqueConstraint('project_id', 'name', name=f'uq_{table}_project_id_name'),
    )


def _index(table: str, *columns: str) -> None:
    for column in columns:
        op.create_index(f'ix_{table}_{column}', table, [column])


def _templates() -> None:
    op.create_table(
        'node_group_templates',
        *_described('node_group_templates'),
        sa.Column('flavor_id', sa.String(255)),
        sa.Column('image_id', sa.String(255)),
    )
    op.create_table('cluster_templates', *_described('cluster_templates'))
    _index('node_group_templates', 'project_id')
    _index('cluster_templates', 'project_id')


def _clusters() -> None:
    op.create_table(
        'clusters',
        *_described('clusters'),
        sa.Column('cluster_template_id', sa.String(36)),
        sa.Column('default_image_id', sa.String(255)),
        sa.Column('status', sa.String(32), nullable=False),
        sa.Column('status_description', sa.Text),
        sa.Column('progress', JSON, nullable=False),
        sa.Column('known_shares', JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ['cluster_template_id'], ['cluster_templates.id'], name='fk_clusters_cluster_template_id'
        ),
    )
    _index('clusters', 'project_id', 'cluster_template_id')
    op.create_table(
        'node_groups',
        *_row(),
        sa.Column('cluster_id', sa.String(36)),
        sa.Column('cluster_template_id', sa.String(36)),
        sa.Column('node_group_template_id', sa.String(36)),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('count', sa.Integer, nullable=False),
        sa.Column('flavor_id', sa.String(255)),
        sa.Column('image_id', sa.String(255)),
        sa.Column('details', JSON, nullable=False),
        sa.Column('shares', JSON),
        sa.ForeignKeyConstraint(
            ['cluster_id'], ['clusters.id'], name='fk_node_groups_cluster_id', ondelete='CASCADE'
        ),
        sa.ForeignKeyConstraint(
            ['cluster_template_id'],
            ['cluster_templates.id'],
            name='fk_node_groups_cluster_template_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('id', name='pk_node_groups'),
        sa.UniqueConstraint('cluster_id', 'name', name='uq_node_groups_cluster_id_name'),
        sa.UniqueConstraint('cluster_template_id', 'name', name='uq_node_groups_cluster_template_id_name'),
    )
    _index('node_groups', 'cluster_id', 'cluster_template_id', 'node_group_template_id')


def _nodes() -> None:
    op.create_table(
        'instances',
        *_row(),
        sa.Column('node_group_id', sa.String(36), nullable=False),
        sa.Column('cluster_id', sa.String(36), nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('infra_ref', sa.String(255)),
        sa.Column('internal_ip', sa.String(64)),
        sa.Column('ssh_port', sa.Integer),
        sa.Column('ssh_user', sa.String(255)),
        sa.Column('host_key', sa.Text),
        sa.Column('key_file', sa.Text),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('fault', sa.Text),
        sa.Column('attempts', sa.Integer, server_default='0', nullable=False),
        sa.ForeignKeyConstraint(['node_group_id'], ['node_groups.id'], name='fk_instances_node_group_id'),
        sa.ForeignKeyConstraint(['cluster_id'], ['clusters.id'], name='fk_instances_cluster_id'),
        sa.PrimaryKeyConstraint('id', name='pk_instances'),
        sa.UniqueConstraint('infra_ref', name='uq_instances_infra_ref'),
        sa.UniqueConstraint('cluster_id', 'name', name='uq_instances_cluster_id_name'),
    )
    _index('instances', 'node_group_id', 'cluster_id')
    op.create_table(
        'share_mounts',
        *_row(),
        sa.Column('instance_id', sa.String(36), nullable=False),
        sa.Column('share_id', sa.String(36), nullable=False),
        sa.Column('path', sa.Text, nullable=False),
        sa.Column('level', sa.String(2), nullable=False),
        sa.Column('protocol', sa.String(32)),
        sa.Column('export', sa.Text),
        sa.Column('grant_id', sa.String(36)),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('fault', sa.Text),
        sa.Column('attempts', sa.Integer, server_default='0', nullable=False),
        sa.ForeignKeyConstraint(['instance_id'], ['instances.id'], name='fk_share_mounts_instance_id'),
        sa.PrimaryKeyConstraint('id', name='pk_share_mounts'),
        sa.UniqueConstraint('instance_id', 'share_id', name='uq_share_mounts_instance_id_share_id'),
    )
    _index('share_mounts', 'instance_id', 'share_id', 'grant_id')
