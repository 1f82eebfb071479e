# SPDX-License-Identifier: Apache-2.0
"""Shares on share servers that move: a client fills them before, and compares every file afterwards; drawn at the end."""

import hashlib

from manila_lite.tests.functional.linux.moving_writer import Writer
from scenarios import clients, places, settings
from scenarios.dual_stack import Wire
from scenarios.nfs import must, split
from scenarios.service import Trouble

_NOTE, _THEN, _NOW = 'note.txt', 'before the snapshot', 'after the snapshot'


class Kept:
    """Common part of scenarios in which share servers move from one backend to the other.

    ``NETWORKS``: names of the shares by the name of their share network. The client writes into the first share
    meanwhile; this share has a snapshot.
    """

    NETWORKS = {}

    def __init__(self, demo):
        self.demo = demo
        self.names = [name for names in self.NETWORKS.values() for name in names]
        self.networks, self.shares, self.servers, self.paths, self.digests = {}, {}, {}, {}, {}
        self.hosts = [f'quickstart@{name}' for name in settings.backends(demo.backend)]
        self.home = ''
        self.wire = self.writer = None
        self.drawn = []

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand."""
        self.make()
        self.fill()
        self.look_around('Before', [f'✓ {self.wire.friend.address} reads and writes'])
        try:
            self.move()
        finally:
            if self.writer:
                self.writer.end()
        self.again()
        return f'ip netns exec {self.wire.friend.netns} mount -t nfs4 {self.paths[self.names[0]]} /mnt'

    def make(self):
        """Make the shares in their share networks, on one backend."""
        raise NotImplementedError

    def move(self):
        """Move all share servers to the other backend while the client writes."""
        raise NotImplementedError

    # Before ---------------------------------------------------------------------------------------

    def prepare(self):
        """Make the share type and the share networks, all in one subnet."""
        demo = self.demo
        demo.show(
            *demo.as_operator,
            'share',
            'type',
            'create',
            'default',
            'True',
            '--snapshot-support',
            'True',
            '--revert-to-snapshot-support',
            'True',
        )
        demo.say(
            'The client would look these ids up in Neutron. They are in a file here, so the API is asked itself:'
        )
        for name in self.NETWORKS:
            self.networks[name] = demo.ask(
                'POST',
                '/share-networks',
                {'share_network': {'name': name, 'neutron_net_id': 'red', 'neutron_subnet_id': 'red-v4'}},
            )['id']

    @property
    def size(self):
        """The size of each share in GiB: room for its content twice."""
        return 1 + 2 * self.demo.mebibytes // 1024

    def find(self):
        """Look up, as the administrator, the present backend of all shares, and the share server and export path of each."""
        hosts = set()
        for name, share_id in self.shares.items():
            share = self.demo.api('GET', f'/shares/{share_id}', user=settings.ADMIN)[1]['share']
            hosts.add(share['host'].partition('#')[0])
            self.servers[name] = share['share_server_id']
            (location,) = self.demo.api('GET', f'/shares/{share_id}/export_locations')[1]['export_locations']
            self.paths[name] = location['path']
        if len(hosts) != 1:
            raise Trouble(f'the shares are on several backends: {", ".join(sorted(hosts))}')
        (self.home,) = hosts

    def fill(self):
        """Let a client write into each share, before and after a snapshot of the first one."""
        demo = self.demo
        with demo.step(f'A client fills them: {demo.mebibytes} MiB in each, and a snapshot'):
            network = next(iter(self.networks.values()))
            about = demo.api('GET', f'/share-networks/{network}', user=settings.ADMIN)[1]['share_network']
            (subnet,) = about['share_network_subnets']
            self.wire = Wire(demo, subnet, self.paths[self.names[0]])
            for name in self.names:
                self.grant(name)
                self._on(name, 'fill', 'data', str(demo.mebibytes))
            self.wire.write(_NOTE, _THEN)
            demo.show('share', 'snapshot', 'create', self.shares[self.names[0]], '--name', 'monday', '--wait')
            self.wire.write(_NOTE, _NOW)
            self.digests = {name: self._digests(name) for name in self.names}

    def grant(self, name):
        """Let the client mount the share."""
        self.demo.show(
            'share', 'access', 'create', self.shares[name], 'ip', self.wire.friend.address, '--wait'
        )

    def write_on(self, pause=0.0):
        """Let the client write into the first share from now on, with pauses of so many seconds between files."""
        self.writer = Writer(self.wire.server, self.wire.path, self.wire.friend.netns, pause)
        self.writer.goes_on()

    def written(self):
        """Check that the client still writes, and end it."""
        self.writer.goes_on()
        self.writer.end()
        self.demo.say(
            f'{self.wire.friend.address} wrote {len(self.writer.acknowledged)} files in all, none for '
            f'{self.writer.gap:.2f} s at the longest; what it had open was stale once, so it mounted again'
        )

    def _on(self, name, action, *words):
        """Let the client run an action on a share; return its output."""
        return must(self.wire.friend.nfs(*split(self.paths[name]), action, *words))

    def _digests(self, name):
        """Return the SHA-256 of each file, as the client reads it."""
        return {
            file: digest
            for digest, file in (line.split('  ', 1) for line in self._on(name, 'digest').splitlines())
        }

    # Drawing --------------------------------------------------------------------------------------

    def look_around(self, when, story, away=()):
        """Draw the present state, to be shown at the end. ``away``: lines about the other backend."""
        for name, path in self.paths.items():
            self.demo.say(f'{when.lower()}: {name} is on {self.home}, exported as {path}')
        addresses = dict.fromkeys(split(path)[0] for path in self.paths.values())
        self.drawn += [
            '',
            *places.draw(
                when,
                {host: self._inside() if host == self.home else away for host in self.hosts},
                self.home,
                (' '.join(addresses), f'{self.wire.name} {self.wire.cidr}'),
                [*story, f'✗ {self.wire.stranger.address} was granted nothing and is refused'],
            ),
        ]

    def _inside(self):
        """Return lines about the share servers and their shares."""
        lines = []
        for server in dict.fromkeys(self.servers.values()):
            mine = [name for name in self.names if self.servers[name] == server]
            lines += [f'share server {server[:8]}', *mine]
            if self.names[0] in mine:
                lines.append(f'snapshot monday of {self.names[0]}')
        return lines

    def picture(self):
        """Return lines that show the servers' places before and after."""
        return self.drawn

    # After ----------------------------------------------------------------------------------------

    @property
    def other(self):
        """The backend that the shares are not on."""
        return next(host for host in self.hosts if host != self.home)

    def again(self, away=()):
        """Check that nothing is lost. ``away``: lines about the backend that the servers left."""
        demo = self.demo
        with demo.step('Nothing is lost: every file, the snapshot, the rules'):
            before = dict(self.paths)
            self.find()
            if self.paths != before:
                raise Trouble(f'the export paths are others: {self.paths}, before {before}')
            self.look_around(
                'After', [f'✓ {self.wire.friend.address} reads and writes, at the same address'], away
            )
            self._compare()
            self.wire.refuse(demo)
            demo.run('share', 'revert', 'monday', '--wait')
            if (text := self.wire.read(_NOTE)) != _THEN:
                raise Trouble(f'after the revert {_NOTE} reads {text!r}')
            demo.say(f'reverted to the snapshot that came along: {_NOTE} reads {text!r}')

    def _compare(self):
        wanted = {name: dict(digests) for name, digests in self.digests.items()}
        wanted[self.names[0]] |= {
            file: hashlib.sha256(file.encode()).hexdigest() for file in self.writer.acknowledged
        }
        for name, digests in wanted.items():
            digests_now = self._digests(name)
            if lost := sorted(file for file, digest in digests.items() if digests_now.get(file) != digest):
                raise Trouble(f'{name}: lost or changed: {", ".join(lost)}')
            self.demo.say(f'{name}: every checksum as before; files compared: {len(digests)}')

    def _delete(self, path):
        """Delete the resource of the path, and wait until it is gone."""
        demo = self.demo
        demo.say(f'$ DELETE /v2{path}    # by {settings.ADMIN}')
        status, document = demo.api('DELETE', path, user=settings.ADMIN)
        if status >= 400:
            raise Trouble(f'DELETE {path}: {status} {document}')
        demo.wait(f'{path} is gone', lambda: demo.api('GET', path, user=settings.ADMIN)[0] == 404)

    def delete(self):
        """Delete shares, servers, networks and clients."""
        demo = self.demo
        with demo.step('Delete: shares, networks, servers and addresses'):
            clients.gone(settings.prefix(demo.state))
            snapshots = demo.api('GET', '/snapshots')[1]['snapshots']
            for path in (
                *(f'/snapshots/{snapshot["id"]}' for snapshot in snapshots),
                *(f'/shares/{share}' for share in self.shares.values()),
                *(f'/share-servers/{server}' for server in dict.fromkeys(self.servers.values())),
                *(f'/share-networks/{network}' for network in self.networks.values()),
            ):
                self._delete(path)
            if left := clients.spaces(settings.prefix(demo.state)):
                raise Trouble(f'network namespaces are left: {", ".join(left)}')
            demo.say('shares, share servers, network namespaces left: 0')
