# SPDX-License-Identifier: Apache-2.0
"""Share networks and servers in bulk, and a file of networks for the standalone plugin."""

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models

#: Networks as an operator would describe them: two for all projects, one for a single project.
FILE = """
networks:
  - id: blue
    network_type: vlan
    segmentation_id: 100
    mtu: 1450
    subnets:
      - {id: blue-v4, cidr: 10.10.0.0/24, gateway: 10.10.0.1}
      - {id: blue-v6, cidr: "fd10::/64", gateway: "fd10::1"}
      - {id: blue-small, cidr: 10.10.1.0/29, gateway: 10.10.1.1}
  - id: red
    subnets:
      - {id: red-v4, cidr: 10.10.0.128/25}
  - id: green
    projects: [first]
    subnets:
      - {id: green-v4, cidr: 10.30.0.0/24}
"""


def make(conn, count, *, project='p', zone_id=None, host='test@alpha'):
    """Make ``count`` share networks, each with two subnets, a security service, and a server in both subnets.

    Returns the ids of network, subnets, service and server of each.
    """
    ids = [tuple(uuidutils.generate_uuid() for _ in range(5)) for _ in range(count)]
    now = timeutils.utcnow()

    def insert(table, rows):
        conn.execute(table.insert(), list(rows))

    insert(
        models.share_networks,
        (
            {
                'id': network,
                'project_id': project,
                'user_id': 'u',
                'name': f'n{number}',
                'status': 'active',
                'created_at': now,
            }
            for number, (network, *_) in enumerate(ids)
        ),
    )
    insert(
        models.share_network_subnets,
        (
            {
                'id': subnet,
                'share_network_id': network,
                'availability_zone_id': zone_id,
                'neutron_net_id': 'blue',
                'neutron_subnet_id': f'blue-v{version}',
                'cidr': cidr,
                'ip_version': version,
            }
            for network, *subnets, _, _ in ids
            for subnet, version, cidr in zip(subnets, (4, 6), ('10.10.0.0/24', 'fd10::/64'), strict=True)
        ),
    )
    insert(
        models.share_network_subnet_metadata,
        (
            {'owner_id': subnet, 'key': 'key', 'value': 'value'}
            for _, *subnets, _, _ in ids
            for subnet in subnets
        ),
    )
    insert(
        models.security_services,
        ({'id': service, 'project_id': project, 'type': 'ldap', 'name': 'ldap'} for *_, service, _ in ids),
    )
    insert(
        models.share_network_security_services,
        ({'share_network_id': network, 'security_service_id': service} for network, *_, service, _ in ids),
    )
    insert(
        models.share_servers,
        (
            {
                'id': server,
                'share_network_id': network,
                'host': host,
                'status': 'active',
                'identifier': server,
                'network_allocation_update_support': True,
            }
            for network, *_, server in ids
        ),
    )
    insert(
        models.share_server_details,
        ({'owner_id': server, 'key': 'name', 'value': 'value'} for *_, server in ids),
    )
    insert(
        models.share_server_share_network_subnet_mappings,
        (
            {'share_server_id': server, 'share_network_subnet_id': subnet}
            for _, *subnets, _, server in ids
            for subnet in subnets
        ),
    )
    return ids
