# SPDX-License-Identifier: Apache-2.0
"""A share server moves to another backend with its shares, snapshot and rules, while a client writes; drawn at the end."""

import hashlib

from manila_lite.cmd.manage.watch import Progress, fraction, watch
from manila_lite.states import Migration
from manila_lite.tests.functional.linux.moving_writer import Writer
from walks import clients, places, settings
from walks.dual_stack import Wire
from walks.nfs import must
from walks.service import Trouble

#: Names of the shares; the client writes into the first one during the migration.
_NAMES = 'docs', 'photos'
_HOW = '--preserve-snapshots', 'True', '--writable', 'True', '--nondisruptive', 'False'
_NOTE, _THEN, _NOW = 'note.txt', 'before the snapshot', 'after the snapshot'


class Moving:
    """The scenario, with its steps in their order."""

    def __init__(self, walk):
        self.walk = walk
        self.shares, self.paths, self.digests = {}, {}, {}
        self.hosts = [f'quickstart@{name}' for name in settings.backends(walk.backend)]
        self.server = self.home = self.network = ''
        self.wire = self.writer = None
        self.drawn = []

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand."""
        self._shares()
        self._data()
        self._look_around('Before', [f'✓ {self.wire.friend.address} reads and writes'])
        self._check()
        try:
            self._copy()
            self._cut_over()
        finally:
            if self.writer:
                self.writer.end()
        self._again()
        return f'ip netns exec {self.wire.friend.netns} mount -t nfs4 {self.paths[_NAMES[0]]} /mnt'

    # Before ---------------------------------------------------------------------------------------

    def _shares(self):
        walk = self.walk
        with walk.step('Two shares on one share server; a second backend stands by'):
            walk.show('share', 'type', 'create', 'default', 'True', '--snapshot-support', 'True',
                      '--revert-to-snapshot-support', 'True')
            walk.say('The client would look these ids up in Neutron. They are in a file here, so the API is asked itself:')
            self.network = walk.ask('POST', '/share-networks', {'share_network': {
                'name': 'demo', 'neutron_net_id': 'red', 'neutron_subnet_id': 'red-v4'}})['id']
            size, hint = str(1 + 2 * walk.mebibytes // 1024), []
            for name in _NAMES:
                share = walk.show('share', 'create', 'NFS', size, '--name', name, '--share-network', 'demo', *hint, '--wait')
                self.shares[name] = share['id']
                hint = ['--scheduler-hint', f'same_host={share["id"]}']
            self._find()

    def _find(self):
        """Look up the present server, backend and export paths."""
        server, = self.walk.show('share', 'server', 'list')
        self.server, self.home = server['ID'], server['Host'].partition('#')[0]
        for name, share in self.shares.items():
            location, = self.walk.api('GET', f'/shares/{share}/export_locations')[1]['export_locations']
            self.paths[name] = location['path']

    def _data(self):
        walk = self.walk
        with walk.step(f'A client fills them: {walk.mebibytes} MiB in each, and a snapshot'):
            subnet, = walk.api('GET', f'/share-networks/{self.network}')[1]['share_network']['share_network_subnets']
            self.wire = Wire(walk, subnet, self.paths[_NAMES[0]])
            for name in _NAMES:
                walk.show('share', 'access', 'create', self.shares[name], 'ip', self.wire.friend.address, '--wait')
                self._on(name, 'fill', 'data', str(walk.mebibytes))
            self.wire.write(_NOTE, _THEN)
            walk.show('share', 'snapshot', 'create', self.shares[_NAMES[0]], '--name', 'monday', '--wait')
            self.wire.write(_NOTE, _NOW)
            self.digests = {name: self._digests(name) for name in _NAMES}

    def _on(self, name, action, *words):
        """Let the client run an action on a share; return its output."""
        return must(self.wire.friend.nfs(self.wire.server, self.paths[name].rpartition(':')[2], action, *words))

    def _digests(self, name):
        """Return the SHA-256 of each file, as the client reads it."""
        return {file: digest for digest, file in (line.split('  ', 1) for line in self._on(name, 'digest').splitlines())}

    def _look_around(self, when, story):
        """Draw the present state, to be shown at the end."""
        for name, path in self.paths.items():
            self.walk.say(f'{when.lower()}: {name} is on {self.home}, exported as {path}')
        self.drawn += ['', *places.draw(
            when, self.hosts, self.home,
            [f'share server {self.server[:8]}', *self.shares, f'snapshot monday of {_NAMES[0]}'],
            (self.wire.server, f'{self.wire.name} {self.wire.cidr}'),
            [*story, f'✗ {self.wire.stranger.address} was granted nothing and is refused'])]

    # During ---------------------------------------------------------------------------------------

    @property
    def _other(self):
        return next(host for host in self.hosts if host != self.home)

    def _check(self):
        walk = self.walk
        with walk.step(f'May the server move from {self.home} to {self._other}?'):
            told = walk.show('share', 'server', 'migration', 'start', self.server, self._other, *_HOW, '--check-only')
            if not told['compatible']:
                raise Trouble(f'it may not: {told}')
            walk.say('yes: nothing was changed to find out')

    def _copy(self):
        walk = self.walk
        with walk.step('Phase one: everything is copied, while the client writes'):
            self.writer = Writer(self.wire.server, self.wire.path, self.wire.friend.netns)
            self.writer.goes_on()
            walk.run('share', 'server', 'migration', 'start', self.server, self._other, *_HOW)
            walk.say(f'"manila-manage migration watch {self.server}" shows the same:')
            if watch(self._progress, 0.2):
                raise Trouble(f'the copy did not become ready\n{walk.logs()}')
            self.writer.goes_on()
            walk.say(f'{self.wire.friend.address} wrote {len(self.writer.acknowledged)} files so far')

    def _progress(self):
        """Return the progress of the copy."""
        status, told = self.walk.api('POST', f'/share-servers/{self.server}/action', {'migration_get_progress': None})
        if status >= 400:
            raise Trouble(f'migration_get_progress: {status} {told}')
        state = told['task_state']
        ended = {Migration.COPIED: True, Migration.ERROR: False, Migration.CANCELLED: False}.get(state)
        done, total = ((told[name] or 0) >> 20 for name in ('bytes_done', 'bytes_total'))
        return Progress('    copied ' if ended else '    copying', told['total_progress'],
                        fraction(done, total, 'MiB') if total else '', told['seconds_left'], ended=ended)

    def _cut_over(self):
        walk, source = self.walk, self.server
        with walk.step('Phase two, when you say so: the other backend serves'):
            walk.run('share', 'server', 'migration', 'complete', source)
            walk.wait('the server has moved', lambda: self._moved(source), 120)
            self.writer.goes_on()
            self.writer.end()
            walk.say(f'{self.wire.friend.address} wrote {len(self.writer.acknowledged)} files in all, none for '
                     f'{self.writer.gap:.2f} s at the longest; what it had open was stale once, so it mounted again')

    def _moved(self, source):
        """Say whether the shares are on the other backend, and the old server is gone."""
        states = {self.walk.api('GET', f'/shares/{share}')[1]['share']['status'] for share in self.shares.values()}
        if 'error' in states:
            raise Trouble(f'the cut-over failed\n{self.walk.logs()}')
        return states == {'available'} and self.walk.api('GET', f'/share-servers/{source}')[0] == 404

    # After ----------------------------------------------------------------------------------------

    def _again(self):
        walk = self.walk
        with walk.step('Nothing is lost: every file, the snapshot, the rules'):
            before = dict(self.paths)
            self._find()
            if self.paths != before:
                raise Trouble(f'the export paths are others: {self.paths}, before {before}')
            self._look_around('After', [f'✓ {self.wire.friend.address} reads and writes, at the same address'])
            self._compare()
            self.wire.refuse(walk)
            walk.run('share', 'revert', 'monday', '--wait')
            if (found := self.wire.read(_NOTE)) != _THEN:
                raise Trouble(f'after the revert {_NOTE} reads {found!r}')
            walk.say(f'reverted to the snapshot that came along: {_NOTE} reads {found!r}')

    def _compare(self):
        wanted = {name: dict(digests) for name, digests in self.digests.items()}
        wanted[_NAMES[0]] |= {file: hashlib.sha256(file.encode()).hexdigest() for file in self.writer.acknowledged}
        for name, digests in wanted.items():
            found = self._digests(name)
            if lost := sorted(file for file, digest in digests.items() if found.get(file) != digest):
                raise Trouble(f'{name}: lost or changed: {", ".join(lost)}')
            self.walk.say(f'{name}: every checksum as before; files compared: {len(digests)}')

    def _delete(self, path):
        """Delete the resource of the path, and wait until it is gone."""
        walk = self.walk
        walk.say(f'$ DELETE /v2{path}')
        status, document = walk.api('DELETE', path)
        if status >= 400:
            raise Trouble(f'DELETE {path}: {status} {document}')
        walk.wait(f'{path} is gone', lambda: walk.api('GET', path)[0] == 404)

    def picture(self):
        """Return lines that show the server's places before and after."""
        return self.drawn

    def delete(self):
        """Delete shares, server, network and clients."""
        walk = self.walk
        with walk.step('Delete: shares, network, server and addresses'):
            clients.gone(settings.prefix(walk.state))
            snapshots = walk.api('GET', '/snapshots')[1]['snapshots']
            for path in (*(f'/snapshots/{found["id"]}' for found in snapshots),
                         *(f'/shares/{share}' for share in self.shares.values()),
                         f'/share-servers/{self.server}', f'/share-networks/{self.network}'):
                self._delete(path)
            if left := clients.spaces(settings.prefix(walk.state)):
                raise Trouble(f'network namespaces are left: {", ".join(left)}')
            walk.say('shares, share servers, network namespaces left: 0')
