# SPDX-License-Identifier: Apache-2.0
"""Run by alembic: migrations of the compute service's database on the engine given."""

from manila_lite.db.maintenance import schema_migrations
from manila_lite.siblings.compute.db.models import metadata

schema_migrations.run(metadata)
