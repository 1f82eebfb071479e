# SPDX-License-Identifier: Apache-2.0
"""A share server in an IPv4 and an IPv6 subnet, and then in a third one while a client writes."""

import ipaddress

from manila_lite import values
from manila_lite.drivers.linux.servers.fabric import bridge_of
from scenarios import clients, picture, settings
from scenarios.nfs import must, refused, split
from scenarios.service import Trouble


class Wire:
    """One subnet, with a friend who has an access rule and a stranger who has none."""

    def __init__(self, demo, subnet, path):
        self.name = subnet['neutron_net_id']
        self.cidr = ipaddress.ip_network(subnet['cidr'])
        self.added = ''
        self.server, self.path = split(path)
        bridge = bridge_of(
            values.ServerNetwork(
                subnet['id'],
                str(self.cidr),
                self.cidr.version,
                network_type=subnet['network_type'],
                segmentation_id=subnet['segmentation_id'],
            )
        )
        self.friend, self.stranger = (
            clients.Host(
                settings.prefix(demo.state),
                f'{self.name}-{who}',
                bridge,
                str(self.cidr[host]),
                self.cidr.prefixlen,
            )
            for who, host in (
                ('friend', 0x101 if self.cidr.version == 6 else 101),
                ('stranger', 0x102 if self.cidr.version == 6 else 102),
            )
        )
        self.stories = {self.friend: [], self.stranger: ['refused: no rule']}

    def read(self, name):
        """Return the content of a file, read by the friend."""
        self.stories[self.friend].append(f'reads {name}')
        return must(self.friend.nfs(self.server, self.path, 'read', name))

    def write(self, name, text):
        """Let the friend write a file."""
        self.stories[self.friend].append(f'writes {name}')
        must(self.friend.nfs(self.server, self.path, 'write', name, text))

    def refuse(self, demo):
        """Check that the stranger is refused."""
        said = refused(self.stranger.nfs(self.server, self.path, 'list'))
        demo.say(f'{self.stranger.address} was granted nothing and is refused on {self.server}: {said}')

    def column(self, height):
        """Return the drawing of the subnet, with so many lines for the longest story."""
        hosts = []
        for host, story in self.stories.items():
            hosts += ['|', f'{"✓" if host is self.friend else "✗"} {host.address}', *story]
            hosts += [''] * (height - len(story))
        return {
            'above': ['|', self.server, '|'],
            'network': self.name,
            'below': [str(self.cidr), self.added, *hosts],
        }


class DualStack:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        self.wires = []
        self.network = self.share = self.server = self.path = ''

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand."""
        self._network()
        self._share()
        self._families()
        self._third()
        return f'ip netns exec {self.wires[0].friend.netns} mount -t nfs4 {self.path} /mnt'

    def _network(self):
        demo = self.demo
        with demo.step('A share network with an IPv4 and an IPv6 subnet'):
            demo.show(
                *demo.as_operator, 'share', 'type', 'create', 'default', 'True', '--snapshot-support', 'True'
            )
            demo.say(
                'The client would look these ids up in Neutron. They are in a file here, so the API is asked itself:'
            )
            self.network = demo.ask(
                'POST',
                '/share-networks',
                {'share_network': {'name': 'demo', 'neutron_net_id': 'red', 'neutron_subnet_id': 'red-v4'}},
            )['id']
            self._add_subnet('blue', 'blue-v6')

    def _add_subnet(self, net, subnet):
        self.demo.ask(
            'POST',
            f'/share-networks/{self.network}/subnets',
            {'share-network-subnet': {'neutron_net_id': net, 'neutron_subnet_id': subnet}},
        )

    def _about(self):
        """Return the share network as the administrator sees it: with the numbers of its VLANs."""
        return self.demo.api('GET', f'/share-networks/{self.network}', user=settings.ADMIN)[1][
            'share_network'
        ]

    def _share(self):
        demo = self.demo
        with demo.step('A share in it, on a server with an address in each subnet'):
            self.share = demo.show(
                'share', 'create', 'NFS', '1', '--name', 'demo', '--share-network', 'demo', '--wait'
            )['id']
            self.server = demo.show(*demo.as_operator, 'share', 'server', 'list')[0]['ID']
            self._wire_up()
            for wire in self.wires:
                demo.say(f'{wire.server} is its address in {wire.name} ({wire.cidr})')

    def _wire_up(self):
        """Set up hosts in each subnet that has none yet."""
        paths = [place['Path'] for place in self.demo.show('share', 'export', 'location', 'list', self.share)]
        self.path = paths[0]
        there = {wire.cidr for wire in self.wires}
        for subnet in self._about()['share_network_subnets']:
            cidr = ipaddress.ip_network(subnet['cidr'])
            path = next(path for path in paths if ipaddress.ip_address(split(path)[0]) in cidr)
            if cidr not in there:
                self.wires.append(Wire(self.demo, subnet, path))

    def _grant(self, wire):
        self.demo.show('share', 'access', 'create', self.share, 'ip', wire.friend.address, '--wait')

    def _families(self):
        demo, (red, blue) = self.demo, self.wires
        with demo.step('Written over IPv4, read over IPv6, and the other way round'):
            for wire in self.wires:
                self._grant(wire)
            red.write('four.txt', 'hello from IPv4')
            demo.say(f'{blue.friend.address} reads: {blue.read("four.txt")!r}')
            blue.write('six.txt', 'hello from IPv6')
            demo.say(f'{red.friend.address} reads: {red.read("six.txt")!r}')
            for wire in self.wires:
                wire.refuse(demo)

    def _third(self):
        demo, red = self.demo, self.wires[0]
        with demo.step('A third subnet, while a client writes'):
            writer = red.friend.writer(red.server, red.path)
            try:
                writer.goes_on()
                before = len(writer.written)
                self._add_subnet('green', 'green-v4')
                demo.wait('the network is active again', lambda: self._about()['status'] == 'active')
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
            self._read_back(writer.written)

    def _read_back(self, written):
        demo, green = self.demo, self.wires[-1]
        green.added = 'added in use'
        self._grant(green)
        demo.say(f'{green.friend.address} reads through {green.server}: {green.read("four.txt")!r}')
        files = must(green.friend.nfs(green.server, green.path, 'list')).split()
        if lost := set(written) - set(files):
            raise Trouble(f'these files are not there: {", ".join(sorted(lost))}')
        green.refuse(demo)

    def picture(self):
        """Return lines that show which hosts reached the server."""
        height = max(len(story) for wire in self.wires for story in wire.stories.values())
        return picture.draw(
            'share network demo',
            [f'share server {self.server}', 'a network namespace with an NFS server', f'share {self.share}'],
            [wire.column(height) for wire in self.wires],
        )

    def delete(self):
        """Delete the share, the network, its server and all hosts."""
        demo = self.demo
        with demo.step('Delete: share, network, server and addresses'):
            clients.gone(settings.prefix(demo.state))
            demo.run('share', 'delete', self.share, '--wait')
            demo.run(*demo.as_operator, 'share', 'server', 'delete', self.server, '--wait')
            for subnet in self._about()['share_network_subnets'][1:]:
                demo.run('share', 'network', 'subnet', 'delete', 'demo', subnet['id'])
            demo.run('share', 'network', 'delete', 'demo')
            left = clients.spaces(settings.prefix(demo.state))
            if left:
                raise Trouble(f'network namespaces are left: {", ".join(left)}')
            demo.say('shares, share servers, network namespaces left: 0')
