# SPDX-License-Identifier: Apache-2.0
"""The plan to delete an image."""

from manila_lite.db.core.engine import Connection
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.images import KIND
from manila_lite.siblings.work import Plan, Step, Work


def _remove(work: Work) -> None:
    with work.ctx.db.reader() as conn:
        row = store.find_image(conn, work.resource_id)
    if row is not None:
        work.service.driver.delete_image(row.project_id, row.name)


def _gone(conn: Connection, work: Work) -> None:
    store.delete_image(conn, work.resource_id)


def _stays(conn: Connection, work: Work, error: Exception) -> None:
    """Do nothing: the deletion can be requested again."""


PLANS = [Plan(KIND, (Step(_remove),), _gone, _stays)]
