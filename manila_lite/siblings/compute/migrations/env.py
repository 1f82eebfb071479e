# SPDX-License-Identifier: Apache-2.0
"""Run by alembic: migrations of the compute service's database on the engine given."""

from manila_lite.db import migrate
from manila_lite.siblings.compute.models import metadata

migrate.run(metadata)
