# SPDX-License-Identifier: Apache-2.0
"""Shares that move to another backend: a client fills them before, and compares every file afterwards; drawn at the end."""

import hashlib

from manila_lite.tests.functional.linux.moving_writer import Writer
from scenarios import clients, places, settings
from scenarios.clients import Wire, must, split
from scenarios.service import Trouble

_NOTE, _THEN, _NOW = 'note.txt', 'before the snapshot', 'after the snapshot'


class Moved:
    """Common part of scenarios in which shares move from one of two backends to the other while a client writes.

    A scenario has ``make``: make the shares on one backend, and have a client fill them; ``move``: move them while the client
    writes; ``again``: check that nothing is lost; ``nfs``: let the client run an action on a share, and return (worked,
    output); and ``netns``: the network namespace of the client.
    """

    def __init__(self, demo):
        self.demo = demo
        self.shares, self.paths, self.digests = {}, {}, {}
        self.hosts = [f'quickstart@{name}' for name in settings.backends(demo.backend)]
        self.home = ''
        self.writer = None
        self.drawn = []

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand."""
        self.make()
        try:
            self.move()
        finally:
            if self.writer:
                self.writer.end()
        self.again()
        return f'ip netns exec {self.netns} mount -t nfs4 {self.paths[self.names[0]]} /mnt'

    @property
    def names(self):
        """The names of the shares. The client writes into the first one."""
        return list(self.shares)

    @property
    def size(self):
        """The size of each share in GiB: room for its content twice."""
        return 1 + 2 * self.demo.mebibytes // 1024

    @property
    def other(self):
        """The backend that the shares are not on."""
        return next(host for host in self.hosts if host != self.home)

    def find(self):
        """Look up the present backend of all shares, and the export path of each."""
        shares = [self.demo.get(f'/shares/{share}', user=settings.ADMIN) for share in self.shares.values()]
        hosts = {share['host'].partition('#')[0] for share in shares}
        if len(hosts) != 1:
            raise Trouble(f'the shares are on several backends: {", ".join(sorted(hosts))}')
        (self.home,) = hosts
        self.paths = {name: self.demo.paths(share)[0] for name, share in self.shares.items()}

    def note_digests(self):
        """Remember the SHA-256 of each file."""
        for name in self.shares:
            lines = must(self.nfs(name, 'digest')).splitlines()
            self.digests[name] = {file: digest for digest, file in (line.split('  ', 1) for line in lines)}

    def compare(self):
        """Check that each file of then is there, and each that the writer had acknowledged."""
        wanted = {name: dict(digests) for name, digests in self.digests.items()}
        wanted[self.names[0]] |= {
            file: hashlib.sha256(file.encode()).hexdigest() for file in self.writer.acknowledged
        }
        self.note_digests()
        for name, digests in wanted.items():
            now = self.digests[name]
            if lost := sorted(file for file, digest in digests.items() if now.get(file) != digest):
                raise Trouble(f'{name}: lost or changed: {", ".join(lost)}')
            self.demo.say(f'{name}: every checksum as before; files compared: {len(digests)}')

    def write_on(self, pause=0.0):
        """Let the client write into the first share from now on, with pauses of so many seconds between files."""
        self.writer = Writer(*split(self.paths[self.names[0]]), self.netns, pause)
        self.writer.goes_on()

    def written(self):
        """Check that the client still writes; say how much it has written."""
        self.writer.goes_on()
        self.demo.say(f'the client wrote {len(self.writer.acknowledged)} files so far')

    def draw(self, when, inside, network, below, away=()):
        """Draw the present state, to be shown at the end. ``inside``: lines about this backend, ``away``: about the other."""
        for name, path in self.paths.items():
            self.demo.say(f'{when.lower()}: {name} is on {self.home}, exported as {path}')
        addresses = ' '.join(dict.fromkeys(split(path)[0] for path in self.paths.values()))
        boxes = {host: inside if host == self.home else away for host in self.hosts}
        self.drawn += ['', *places.draw(when, boxes, self.home, (addresses, network), below)]


class Kept(Moved):
    """Share servers that move with their shares. ``NETWORKS``: names of the shares by the name of their share network.

    The first share has a snapshot. ``AWAY``: lines about the backend that the servers left.
    """

    AWAY = ()
    NETWORKS = {}

    def __init__(self, demo):
        super().__init__(demo)
        self.networks, self.servers = {}, {}
        self.wire = None

    @property
    def netns(self):
        """The network namespace of the client."""
        return self.wire.friend.netns

    def nfs(self, name, *words):
        """Let the client run an action on a share; return (worked, output)."""
        return self.wire.friend.nfs(*split(self.paths[name]), *words)

    # Before ---------------------------------------------------------------------------------------

    def prepare(self):
        """Make the share type and the share networks, all in one subnet."""
        self.demo.share_type('True', snapshot_support='True', revert_to_snapshot_support='True')
        self.networks = {name: self.demo.network(name) for name in self.NETWORKS}

    def find(self):
        """Look up the share server of each share, too, as the administrator sees it."""
        super().find()
        for name, share in self.shares.items():
            self.servers[name] = self.demo.get(f'/shares/{share}', user=settings.ADMIN)['share_server_id']

    def fill(self):
        """Let a client write into each share, before and after a snapshot of the first one."""
        demo = self.demo
        with demo.step(f'A client fills them: {demo.mebibytes} MiB in each, and a snapshot'):
            network = next(iter(self.networks.values()))
            (subnet,) = demo.get(f'/share-networks/{network}', user=settings.ADMIN)['share_network_subnets']
            self.wire = Wire(demo, subnet, self.paths[self.names[0]])
            for name, share in self.shares.items():
                demo.grant(share, self.wire.friend.address)
                must(self.nfs(name, 'fill', 'data', demo.mebibytes))
            self.wire.write(_NOTE, _THEN)
            demo.show('share', 'snapshot', 'create', self.shares[self.names[0]], '--name', 'monday', '--wait')
            self.wire.write(_NOTE, _NOW)
            self.note_digests()
        self.look_around('Before', 'reads and writes')

    def look_around(self, when, story, away=()):
        """Draw the share servers and their shares."""
        lines = []
        for server in dict.fromkeys(self.servers.values()):
            mine = [name for name in self.names if self.servers[name] == server]
            lines += [f'share server {server[:8]}', *mine]
            if self.names[0] in mine:
                lines.append(f'snapshot monday of {self.names[0]}')
        self.draw(
            when,
            lines,
            f'{self.wire.name} {self.wire.cidr}',
            [
                f'✓ {self.wire.friend.address} {story}',
                f'✗ {self.wire.stranger.address} was granted nothing and is refused',
            ],
            away,
        )

    # After ----------------------------------------------------------------------------------------

    def again(self):
        """Check that nothing is lost."""
        demo = self.demo
        with demo.step('Nothing is lost: every file, the snapshot, the rules'):
            demo.say(
                f'the client had to wait for {self.writer.gap:.2f} s at the longest; what it had open was stale once, '
                'so it mounted again'
            )
            before = self.paths
            self.find()
            if self.paths != before:
                raise Trouble(f'the export paths are others: {self.paths}, before {before}')
            self.look_around('After', 'reads and writes, at the same address', self.AWAY)
            self.compare()
            self.wire.refuse(demo)
            demo.run('share', 'revert', 'monday', '--wait')
            if (text := self.wire.read(_NOTE)) != _THEN:
                raise Trouble(f'after the revert {_NOTE} reads {text!r}')
            demo.say(f'reverted to the snapshot that came along: {_NOTE} reads {text!r}')

    def delete(self):
        """Delete shares, servers, networks and clients."""
        demo = self.demo
        with demo.step('Delete: shares, networks, servers and addresses'):
            clients.gone(settings.prefix(demo.state))
            for path in (
                *(f'/snapshots/{snapshot["id"]}' for snapshot in demo.get('/snapshots')),
                *(f'/shares/{share}' for share in self.shares.values()),
                *(f'/share-servers/{server}' for server in dict.fromkeys(self.servers.values())),
                *(f'/share-networks/{network}' for network in self.networks.values()),
            ):
                demo.delete(path, user=settings.ADMIN)
            clients.none_left(demo)
