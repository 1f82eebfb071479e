# SPDX-License-Identifier: Apache-2.0
"""Share groups with their types, and snapshots of groups."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0011'
down_revision = '0010'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def _id(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.String(length=36), nullable=nullable)


def _text(name: str, *, nullable: bool = True, length: int = 255) -> sa.Column:
    return sa.Column(name, sa.String(length=length), nullable=nullable)


def _times() -> tuple[sa.Column, sa.Column]:
    return sa.Column('created_at', TIME, nullable=False), sa.Column('updated_at', TIME, nullable=True)


def _to(table: str, column: str, other: str, *, cascade: bool = False) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f'{other}.id'], name=f'fk_{table}_{column}', ondelete='CASCADE' if cascade else None
    )


def _create(
    name: str,
    *parts: sa.Column | sa.Constraint,
    keys: tuple[str, ...] = ('id',),
    indexes: tuple[tuple[str, ...], ...] = (),
) -> None:
    op.create_table(name, *parts, sa.PrimaryKeyConstraint(*keys, name=f'pk_{name}'))
    for columns in indexes:
        op.create_index(f'ix_{name}_{"_".join(columns)}', name, list(columns), unique=False)


def _share_types_of(name: str, owner: str) -> None:
    _create(
        name,
        _id('owner_id'),
        _id('share_type_id'),
        _to(name, 'owner_id', owner, cascade=True),
        _to(name, 'share_type_id', 'share_types'),
        keys=('owner_id', 'share_type_id'),
        indexes=(('share_type_id',),),
    )


def upgrade() -> None:
    _create(
        'share_group_types',
        _id('id'),
        *_times(),
        _text('name', nullable=False),
        sa.Column('is_public', sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.UniqueConstraint('name', name='uq_share_group_types_name'),
    )
    _create(
        'share_group_type_specs',
        _id('owner_id'),
        _text('key', nullable=False),
        _text('value', nullable=False, length=1023),
        _to('share_group_type_specs', 'owner_id', 'share_group_types', cascade=True),
        keys=('owner_id', 'key'),
    )
    op.create_index(
        'ix_share_group_type_specs_key_value', 'share_group_type_specs', ['key', 'owner_id'], unique=False
    )
    _create(
        'share_group_type_projects',
        _id('share_group_type_id'),
        _text('project_id', nullable=False),
        _to('share_group_type_projects', 'share_group_type_id', 'share_group_types', cascade=True),
        keys=('share_group_type_id', 'project_id'),
    )
    _share_types_of('share_group_type_share_types', 'share_group_types')
    _create(
        'share_groups',
        _id('id'),
        *_times(),
        _text('project_id', nullable=False),
        *map(_text, ('user_id', 'name', 'description')),
        _text('status', nullable=False),
        _text('host'),
        _id('share_group_type_id'),
        *(
            _id(name, nullable=True)
            for name in (
                'availability_zone_id',
                'share_network_id',
                'share_server_id',
                'source_share_group_snapshot_id',
            )
        ),
        _text('consistent_snapshot_support', length=8),
        _to('share_groups', 'share_group_type_id', 'share_group_types'),
        _to('share_groups', 'availability_zone_id', 'availability_zones'),
        indexes=(
            ('share_group_type_id',),
            ('share_network_id',),
            ('share_server_id',),
            ('source_share_group_snapshot_id',),
            ('project_id', 'created_at'),
            ('created_at',),
        ),
    )
    _share_types_of('share_group_share_types', 'share_groups')
    _create(
        'share_group_snapshots',
        _id('id'),
        *_times(),
        _id('share_group_id'),
        _text('project_id', nullable=False),
        *map(_text, ('user_id', 'name', 'description')),
        _text('status', nullable=False),
        _to('share_group_snapshots', 'share_group_id', 'share_groups'),
        indexes=(('share_group_id',), ('project_id', 'created_at'), ('created_at',)),
    )
    _create(
        'share_group_snapshot_members',
        _id('id'),
        *_times(),
        _id('share_group_snapshot_id'),
        _id('share_id'),
        sa.Column('size', sa.Integer(), nullable=False),
        _text('share_proto', nullable=False, length=32),
        _text('provider_location'),
        _to('share_group_snapshot_members', 'share_group_snapshot_id', 'share_group_snapshots', cascade=True),
        _to('share_group_snapshot_members', 'share_id', 'shares'),
        indexes=(('share_group_snapshot_id',), ('share_id',)),
    )
    op.add_column('shares', _id('source_share_group_snapshot_member_id', nullable=True))
    op.create_index('ix_shares_share_group_id', 'shares', ['share_group_id'], unique=False)
    op.create_index(
        'ix_shares_source_share_group_snapshot_member_id',
        'shares',
        ['source_share_group_snapshot_member_id'],
        unique=False,
    )
