# SPDX-License-Identifier: Apache-2.0
"""A share server in an IPv4 and an IPv6 subnet, and then in a third one while a client writes."""

import ipaddress

from scenarios import clients, picture, settings
from scenarios.clients import Wire, must, split
from scenarios.service import Trouble


class DualStack:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        self.wires, self.drawn = [], []
        self.network = self.share = self.server = self.path = ''

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand."""
        self._make()
        self._families()
        self._third()
        self._look_around()
        return f'ip netns exec {self.wires[0].friend.netns} mount -t nfs4 {self.path} /mnt'

    def _make(self):
        demo = self.demo
        with demo.step('A share network with an IPv4 and an IPv6 subnet'):
            demo.share_type('True', snapshot_support='True')
            self.network = demo.network('demo')
            self._add_subnet('blue', 'blue-v6')
        with demo.step('A share in it, on a server with an address in each subnet'):
            self.share = demo.show(
                'share', 'create', 'NFS', '1', '--name', 'demo', '--share-network', 'demo', '--wait'
            )['id']
            self.server = demo.show(*demo.as_operator, 'share', 'server', 'list')[0]['ID']
            self._wire_up()
            for wire in self.wires:
                demo.say(f'{wire.server} is its address in {wire.name} ({wire.cidr})')

    def _add_subnet(self, net, subnet):
        self.demo.ask(
            'POST',
            f'/share-networks/{self.network}/subnets',
            {'share-network-subnet': {'neutron_net_id': net, 'neutron_subnet_id': subnet}},
        )

    def _subnets(self):
        """Return the subnets as the administrator sees them: with the numbers of their VLANs."""
        return self.demo.get(f'/share-networks/{self.network}', user=settings.ADMIN)['share_network_subnets']

    def _wire_up(self):
        """Set up hosts in each subnet that has none yet; the friends get access."""
        paths = [place['Path'] for place in self.demo.show('share', 'export', 'location', 'list', self.share)]
        self.path = paths[0]
        for subnet in self._subnets()[len(self.wires) :]:
            cidr = ipaddress.ip_network(subnet['cidr'])
            path = next(path for path in paths if ipaddress.ip_address(split(path)[0]) in cidr)
            wire = Wire(self.demo, subnet, path)
            self.demo.grant(self.share, wire.friend.address)
            self.wires.append(wire)

    def _families(self):
        demo, (red, blue) = self.demo, self.wires
        with demo.step('Written over IPv4, read over IPv6, and the other way round'):
            red.write('four.txt', 'hello from IPv4')
            demo.say(f'{blue.friend.address} reads: {blue.read("four.txt")!r}')
            blue.write('six.txt', 'hello from IPv6')
            demo.say(f'{red.friend.address} reads: {red.read("six.txt")!r}')
            for wire in self.wires:
                wire.refuse(demo)

    def _third(self):
        demo, red = self.demo, self.wires[0]
        path = f'/share-networks/{self.network}'
        with demo.step('A third subnet, while a client writes'):
            writer = red.friend.writer(red.server, red.path)
            try:
                writer.goes_on()
                before = len(writer.written)
                self._add_subnet('green', 'green-v4')
                demo.wait('the network is active again', lambda: demo.has_settled(path, 'status', 'active'))
                meanwhile = len(writer.written) - before
                writer.goes_on()
            finally:
                failed = writer.end()
            if failed:
                raise Trouble(f'a client that wrote meanwhile failed with: {failed[0]}')
            demo.say(
                f'{red.friend.address} wrote {len(writer.written)} files, {meanwhile} of them meanwhile; none failed'
            )
            red.stories[red.friend].append(f'wrote {len(writer.written)} files')
            self._wire_up()
            green = self.wires[-1]
            green.added = 'added in use'
            demo.say(f'{green.friend.address} reads through {green.server}: {green.read("four.txt")!r}')
            files = must(green.friend.nfs(green.server, green.path, 'list')).split()
            if lost := set(writer.written) - set(files):
                raise Trouble(f'these files are not there: {", ".join(sorted(lost))}')
            green.refuse(demo)

    def _look_around(self):
        """Draw which hosts reached the server, to be shown at the end."""
        height = max(len(story) for wire in self.wires for story in wire.stories.values())
        self.drawn = picture.draw(
            'share network demo',
            [f'share server {self.server}', 'a network namespace with an NFS server', f'share {self.share}'],
            [_column(wire, height) for wire in self.wires],
        )

    def delete(self):
        """Delete the share, the network, its server and all hosts."""
        demo = self.demo
        with demo.step('Delete: share, network, server and addresses'):
            clients.gone(settings.prefix(demo.state))
            demo.run('share', 'delete', self.share, '--wait')
            demo.run(*demo.as_operator, 'share', 'server', 'delete', self.server, '--wait')
            for subnet in self._subnets()[1:]:
                demo.run('share', 'network', 'subnet', 'delete', 'demo', subnet['id'])
            demo.run('share', 'network', 'delete', 'demo')
            clients.none_left(demo)


def _column(wire, height):
    """Return the drawing of a subnet, with so many lines for the longest story."""
    hosts = []
    for host, story in wire.stories.items():
        hosts += ['|', f'{"✓" if host is wire.friend else "✗"} {host.address}', *story]
        hosts += [''] * (height - len(story))
    return {
        'above': ['|', wire.server, '|'],
        'network': wire.name,
        'below': [str(wire.cidr), wire.added, *hosts],
    }
