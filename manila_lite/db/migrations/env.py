# SPDX-License-Identifier: Apache-2.0
"""Run by alembic: migrations on the given engine."""

from manila_lite.db.maintenance import schema_migrations
from manila_lite.db.models import metadata

schema_migrations.run(metadata)
