#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time to move a share server with many shares to another backend: the copy, and the cut-over, which clients notice.

Everything in one process, SQLite; two dummy backends, whose own work (files of a few bytes) is part of the figures. The
baseline is a server with ten shares. The copy is looked at ten times, 0.1 s apart, whatever there is to copy.
"""

import sys
import time

import product
import report

_FEW = 10
_NETWORKS = """
networks:
- id: net
  subnets:
  - {id: four, cidr: 10.1.0.0/20}
"""
_MORE = """
[DEFAULT]
enabled_share_backends = alpha,beta
[alpha]
driver_handles_share_servers = true
[beta]
driver = dummy
driver_handles_share_servers = true
dummy_pool_size_gb = 1000000
server_migration_driver_continue_update_interval = 0.1
[quota]
share_networks = -1
[standalone_network]
file = %s
"""
_TYPE = {'share_type': {'name': 'served', 'extra_specs': {'driver_handles_share_servers': 'True'}}}


def fill(client: product.Client, count: int) -> str:
    """Make so many shares on one server of alpha. Return its id."""
    network = client.ask('POST', '/share-networks', {'share_network': {
        'neutron_net_id': 'net', 'neutron_subnet_id': 'four'}})['share_network']['id']
    body = {'share': {'size': 1, 'share_proto': 'NFS', 'share_type': 'served', 'share_network_id': network,
                      'scheduler_hints': {'only_host': 'bench@alpha'}}}
    made = []
    for number in range(count):
        made.append(client.ask('POST', '/shares', body)['share']['id'])
        if number == 0:
            client.wait(f'/shares/{made[0]}', 'share', 'available')      # the others use its server
    for share in made:
        client.wait(f'/shares/{share}', 'share', 'available', pause=0.05)
    [server] = client.ask('GET', f'/share-servers?share_network_id={network}')['share_servers']
    return str(server['id'])


def move(client: product.Client, server: str) -> tuple[float, float, float]:
    """Return the seconds of the request to begin, of the copy, and of the cut-over."""
    path = f'/share-servers/{server}'
    began = time.perf_counter()
    client.ask('POST', f'{path}/action', {'migration_start': {
        'host': 'bench@beta', 'writable': True, 'nondisruptive': False, 'preserve_snapshots': True}})
    asked = time.perf_counter()
    client.wait(path, 'share_server', 'migration_driver_phase1_done', 'task_state')
    copied = time.perf_counter()
    target = client.ask('POST', f'{path}/action', {'migration_complete': None})['destination_share_server_id']
    client.wait(f'/share-servers/{target}', 'share_server', 'active')
    return asked - began, copied - asked, time.perf_counter() - copied


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    many = figures.pick(20, 100, 500)
    with product.product() as made:
        file = made.state / 'networks.yaml'
        file.write_text(_NETWORKS)
        with made.config.open('a') as config:
            config.write(_MORE % file)
        made.start('all_in_one')
        client = made.answers()
        made.wait_for_pool(client)
        client.ask('POST', '/types', _TYPE)
        times = {}
        for count in (_FEW, many):
            report.say(f'{count} shares are made, and moved')
            times[count] = move(client, fill(client, count))
    for number, what in enumerate(('migration_start answered', 'copied', 'cut over')):
        base = figures.add(f'{what}, {_FEW} shares', times[_FEW][number] * 1e3, 'ms')
        figures.add(f'{what}, {many} shares', times[many][number] * 1e3, 'ms', base)
    figures.add('in all, each share', sum(times[many]) / many * 1e3, 'ms')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
