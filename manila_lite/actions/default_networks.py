# SPDX-License-Identifier: Apache-2.0
"""Subnets that name no network: they get addresses in a default network, or not at all."""

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.queries import share_network_subnets
from manila_lite.network import load


def is_missing(ctx: RequestContext, network_id: str | None) -> bool:
    """Say whether the share network has a subnet that names no network, and there is no default network for its project.

    For before a transaction: the network plugin reads files. False if nobody knows, since the plugin is misconfigured.
    """
    if not network_id:
        return False
    with ctx.db.reader() as conn:
        project_id = share_network_subnets.owner_of_unnamed(conn, network_id)
    try:
        return project_id is not None and load.make(ctx.conf).find_default(project_id) is None
    except errors.BadConfig:
        return False
