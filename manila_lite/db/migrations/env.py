# SPDX-License-Identifier: Apache-2.0
"""Run by alembic: migrations on the engine given."""

from alembic import context

from manila_lite.db.models import metadata

with context.config.attributes['engine'].begin() as connection:
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=connection.dialect.name == 'sqlite',
                      compare_type=True)
    context.run_migrations()
