# SPDX-License-Identifier: Apache-2.0
"""Run by alembic: migrations on the given engine."""

from manila_lite.db import migrate
from manila_lite.db.models import metadata

migrate.run(metadata)
