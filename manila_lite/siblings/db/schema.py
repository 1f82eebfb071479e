# SPDX-License-Identifier: Apache-2.0
"""Tables that a sibling's database has in common with the share service's: operations, services and their zones.

The modules of the share service access them by name, so that ``operations``, ``worker`` and ``db.services`` work there
unchanged.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from manila_lite.db import models
from manila_lite.db.models.base import by_change

_HOUSE = (models.availability_zones, models.services, models.operations)

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
JSON = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')


def metadata() -> sa.MetaData:
    """Return the metadata of a sibling: the naming convention of the share service, and the common tables."""
    made = sa.MetaData(naming_convention=models.metadata.naming_convention)
    for table in _HOUSE:
        common = table.to_metadata(made)
        # Nobody listens to events of a sibling.
        common.indexes -= {index for index in common.indexes if index.name == by_change(table.name).name}
    return made


def create() -> None:
    """Create the common tables. For a first revision: as they were when the first siblings were made."""
    op.create_table(
        'availability_zones',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('name', sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_availability_zones'),
        sa.UniqueConstraint('name', name='uq_availability_zones_name'),
    )
    _services()
    _operations()


def _services() -> None:
    op.create_table(
        'services',
        sa.Column('id', sa.Integer, autoincrement=True, nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('binary', sa.String(255), nullable=False),
        sa.Column('topic', sa.String(255)),
        sa.Column('availability_zone_id', sa.String(36)),
        sa.Column('heartbeat_at', TIME),
        sa.Column('stopped', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column('disabled', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column('disabled_reason', sa.String(255)),
        sa.Column('ensuring', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column('ensured_at', TIME),
        sa.Column('ensured_as', sa.String(255)),
        sa.Column('lease_owner', sa.String(255)),
        sa.Column('lease_expires_at', TIME),
        sa.ForeignKeyConstraint(
            ['availability_zone_id'], ['availability_zones.id'], name='fk_services_availability_zone_id'
        ),
        sa.PrimaryKeyConstraint('id', name='pk_services'),
        sa.UniqueConstraint('host', 'binary', name='uq_services_host_binary'),
    )


def _operations() -> None:
    op.create_table(
        'operations',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('kind', sa.String(64), nullable=False),
        sa.Column('resource_type', sa.String(64), nullable=False),
        sa.Column('resource_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('request_id', sa.String(255)),
        sa.Column('topic', sa.String(32), nullable=False),
        sa.Column('host', sa.String(255), server_default='', nullable=False),
        sa.Column('lane', sa.String(8), nullable=False),
        sa.Column('open_key', sa.String(255)),
        sa.Column('serial', sa.String(255)),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('step', sa.Integer, server_default='0', nullable=False),
        sa.Column('undoing', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column('wanted', sa.Integer, server_default='1', nullable=False),
        sa.Column('attempts', sa.Integer, server_default='0', nullable=False),
        sa.Column('data', JSON, nullable=False),
        sa.Column('error', sa.Text),
        sa.Column('next_run_at', TIME, nullable=False),
        sa.Column('owner', sa.String(255)),
        sa.Column('lease_expires_at', TIME),
        sa.Column('finished_at', TIME),
        sa.PrimaryKeyConstraint('id', name='pk_operations'),
        sa.UniqueConstraint('open_key', name='uq_operations_open_key'),
    )
    op.create_index('ix_operations_resource_id', 'operations', ['resource_id'])
    op.create_index('ix_operations_finished_at', 'operations', ['finished_at'])
    op.create_index('ix_operations_due', 'operations', ['topic', 'host', 'state', 'next_run_at'])


def create_grants() -> None:
    """Create the table of ``grants``. For a first revision."""
    op.create_table(
        'share_grants',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('share_id', sa.String(36), nullable=False),
        sa.Column('access_type', sa.String(16), nullable=False),
        sa.Column('access_to', sa.String(255), nullable=False),
        sa.Column('level', sa.String(2), nullable=False),
        sa.Column('service', sa.String(64), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('reason', sa.String(1023), nullable=False),
        sa.Column('access_id', sa.String(36)),
        sa.Column('owned', sa.Boolean, nullable=False),
        sa.Column('lock_id', sa.String(36)),
        sa.Column('releasing', sa.Boolean, nullable=False),
        sa.Column('fault', sa.Text),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.PrimaryKeyConstraint('id', name='pk_share_grants'),
        sa.UniqueConstraint('share_id', 'access_type', 'access_to', name='uniq_share_grants_target'),
    )
    op.create_index('ix_share_grants_host', 'share_grants', ['host'])


def add_releases() -> None:
    """Add the columns of services for their releases."""
    op.add_column('services', sa.Column('release', sa.String(64), nullable=True))
    op.add_column('services', sa.Column('release_at', TIME, nullable=True))


def add_clocks() -> None:
    """Add the column of services for the difference of their clocks."""
    op.add_column(
        'services',
        sa.Column(
            'clock_ahead',
            sa.Float().with_variant(mysql.DOUBLE(asdecimal=False), 'mysql', 'mariadb'),
            nullable=True,
        ),
    )


def index_pages_of_operations() -> None:
    """Add the indexes for pages of operations, of a project and of all. For revisions after the first one."""
    op.create_index('ix_operations_project_id_created_at', 'operations', ['project_id', 'created_at'])
    op.create_index('ix_operations_created_at', 'operations', ['created_at'])
