# SPDX-License-Identifier: Apache-2.0
"""Owners of the parts that callers add to resources."""

from typing import Any, NamedTuple

from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Row


class Owner(NamedTuple):
    """Project and user that a row is of, by the names of its columns, and as ``quotas.check`` takes them."""

    project_id: str
    user_id: str | None


def of_part(ctx: RequestContext, whole: Row[Any]) -> Owner:
    """Return the owner of a part that the caller makes of a resource, such as a snapshot of a share.

    It is of the project of the whole and counts against its quota, also if an administrator of another project makes it.
    Then its user is that of the whole: the administrator is no user of the project.
    """
    return Owner(whole.project_id, ctx.user_id if ctx.project_id == whole.project_id else whole.user_id)
