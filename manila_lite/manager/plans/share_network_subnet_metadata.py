# SPDX-License-Identifier: Apache-2.0
"""Changes of a subnet's metadata: the driver of each share server in it is told."""

from manila_lite import errors, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work, nothing
from manila_lite.manager.plans import share_servers
from manila_lite.manager.plans.share_server_values import load
from manila_lite.operation_data.share_servers import PushMetadata
from manila_lite.workflow.verbs import notify


def push(work: Work[PushMetadata]) -> None:
    """Tell the driver the present metadata of the server's subnet, as far as their keys are for drivers.

    :raises errors.Final: the backend cannot act by it; the server stays as it was.
    """
    if values.Ability.SUBNET_METADATA not in abilities_of(work.service.driver):
        raise errors.Final('The backend of the share servers does not use the metadata of subnets.')
    with share_servers.alone(work.resource_id):
        # Read only now: a later change of the metadata is pushed once more.
        with work.ctx.db.reader() as conn:
            server = load(conn, (work.resource_id,)).get(work.resource_id)
        for network in server.networks if server else ():
            if network.subnet_id == work.data.subnet_id:
                keys = work.ctx.conf.driver_updatable_subnet_metadata
                work.service.driver.update_share_network_subnet_from_metadata(
                    server, network, {key: network.metadata[key] for key in keys if key in network.metadata}
                )


def not_pushed(conn: Connection, work: Work[PushMetadata], error: Exception) -> None:
    """Tell the user who changed the metadata why the server does not act by it. The server stays as it was."""
    notify(
        conn,
        work,
        'SHARE_NETWORK_SUBNET',
        Action.UPDATE_METADATA,
        Detail.METADATA_NOT_PUSHED,
        error,
        resource_id=work.data.subnet_id,
    )


PLANS = [Plan('share_server.push_metadata', (Step(push),), nothing, not_pushed, data=PushMetadata)]
