# SPDX-License-Identifier: Apache-2.0
"""Run by alembic: migrations on the engine given."""

from manila_lite.db import migrate
from manila_lite.db.models import metadata

migrate.run(metadata)
