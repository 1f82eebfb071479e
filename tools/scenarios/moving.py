# SPDX-License-Identifier: Apache-2.0
"""A share server moves to another backend with its shares, snapshot and rules, while a client writes; drawn at the end."""

import hashlib

from manila_lite.cmd.manage.watch import Progress, fraction, watch
from manila_lite.states import Migration
from manila_lite.tests.functional.linux.moving_writer import Writer
from scenarios import clients, places, settings
from scenarios.dual_stack import Wire
from scenarios.nfs import must
from scenarios.service import Trouble

#: Names of the shares; the client writes into the first one during the migration.
_NAMES = 'docs', 'photos'
_HOW = '--preserve-snapshots', 'True', '--writable', 'True', '--nondisruptive', 'False'
_NOTE, _THEN, _NOW = 'note.txt', 'before the snapshot', 'after the snapshot'


class Moving:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        self.shares, self.paths, self.digests = {}, {}, {}
        self.hosts = [f'quickstart@{name}' for name in settings.backends(demo.backend)]
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
        demo = self.demo
        with demo.step('Two shares on one share server; a second backend stands by'):
            demo.show('share', 'type', 'create', 'default', 'True', '--snapshot-support', 'True',
                      '--revert-to-snapshot-support', 'True')
            demo.say('The client would look these ids up in Neutron. They are in a file here, so the API is asked itself:')
            self.network = demo.ask('POST', '/share-networks', {'share_network': {
                'name': 'demo', 'neutron_net_id': 'red', 'neutron_subnet_id': 'red-v4'}})['id']
            size, hint = str(1 + 2 * demo.mebibytes // 1024), []
            for name in _NAMES:
                share = demo.show('share', 'create', 'NFS', size, '--name', name, '--share-network', 'demo', *hint, '--wait')
                self.shares[name] = share['id']
                hint = ['--scheduler-hint', f'same_host={share["id"]}']
            self._find()

    def _find(self):
        """Look up the present server, backend and export paths."""
        server, = self.demo.show('share', 'server', 'list')
        self.server, self.home = server['ID'], server['Host'].partition('#')[0]
        for name, share in self.shares.items():
            location, = self.demo.api('GET', f'/shares/{share}/export_locations')[1]['export_locations']
            self.paths[name] = location['path']

    def _data(self):
        demo = self.demo
        with demo.step(f'A client fills them: {demo.mebibytes} MiB in each, and a snapshot'):
            subnet, = demo.api('GET', f'/share-networks/{self.network}')[1]['share_network']['share_network_subnets']
            self.wire = Wire(demo, subnet, self.paths[_NAMES[0]])
            for name in _NAMES:
                demo.show('share', 'access', 'create', self.shares[name], 'ip', self.wire.friend.address, '--wait')
                self._on(name, 'fill', 'data', str(demo.mebibytes))
            self.wire.write(_NOTE, _THEN)
            demo.show('share', 'snapshot', 'create', self.shares[_NAMES[0]], '--name', 'monday', '--wait')
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
            self.demo.say(f'{when.lower()}: {name} is on {self.home}, exported as {path}')
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
        demo = self.demo
        with demo.step(f'May the server move from {self.home} to {self._other}?'):
            check = demo.show('share', 'server', 'migration', 'start', self.server, self._other, *_HOW, '--check-only')
            if not check['compatible']:
                raise Trouble(f'it may not: {check}')
            demo.say('yes: nothing was changed to find out')

    def _copy(self):
        demo = self.demo
        with demo.step('Phase one: everything is copied, while the client writes'):
            self.writer = Writer(self.wire.server, self.wire.path, self.wire.friend.netns)
            self.writer.goes_on()
            demo.run('share', 'server', 'migration', 'start', self.server, self._other, *_HOW)
            demo.say(f'"manila-manage migration watch {self.server}" shows the same:')
            if watch(self._progress, 0.2):
                raise Trouble(f'the copy did not become ready\n{demo.logs()}')
            self.writer.goes_on()
            demo.say(f'{self.wire.friend.address} wrote {len(self.writer.acknowledged)} files so far')

    def _progress(self):
        """Return the progress of the copy."""
        status, progress = self.demo.api('POST', f'/share-servers/{self.server}/action', {'migration_get_progress': None})
        if status >= 400:
            raise Trouble(f'migration_get_progress: {status} {progress}')
        state = progress['task_state']
        ended = {Migration.COPIED: True, Migration.ERROR: False, Migration.CANCELLED: False}.get(state)
        done, total = ((progress[name] or 0) >> 20 for name in ('bytes_done', 'bytes_total'))
        return Progress('    copied ' if ended else '    copying', progress['total_progress'],
                        fraction(done, total, 'MiB') if total else '', progress['seconds_left'], ended=ended)

    def _cut_over(self):
        demo, source = self.demo, self.server
        with demo.step('Phase two, when you say so: the other backend serves'):
            demo.run('share', 'server', 'migration', 'complete', source)
            demo.wait('the server has moved', lambda: self._moved(source), 120)
            self.writer.goes_on()
            self.writer.end()
            demo.say(f'{self.wire.friend.address} wrote {len(self.writer.acknowledged)} files in all, none for '
                     f'{self.writer.gap:.2f} s at the longest; what it had open was stale once, so it mounted again')

    def _moved(self, source):
        """Say whether the shares are on the other backend, and the old server is gone."""
        states = {self.demo.api('GET', f'/shares/{share}')[1]['share']['status'] for share in self.shares.values()}
        if 'error' in states:
            raise Trouble(f'the cut-over failed\n{self.demo.logs()}')
        return states == {'available'} and self.demo.api('GET', f'/share-servers/{source}')[0] == 404

    # After ----------------------------------------------------------------------------------------

    def _again(self):
        demo = self.demo
        with demo.step('Nothing is lost: every file, the snapshot, the rules'):
            before = dict(self.paths)
            self._find()
            if self.paths != before:
                raise Trouble(f'the export paths are others: {self.paths}, before {before}')
            self._look_around('After', [f'✓ {self.wire.friend.address} reads and writes, at the same address'])
            self._compare()
            self.wire.refuse(demo)
            demo.run('share', 'revert', 'monday', '--wait')
            if (text := self.wire.read(_NOTE)) != _THEN:
                raise Trouble(f'after the revert {_NOTE} reads {text!r}')
            demo.say(f'reverted to the snapshot that came along: {_NOTE} reads {text!r}')

    def _compare(self):
        wanted = {name: dict(digests) for name, digests in self.digests.items()}
        wanted[_NAMES[0]] |= {file: hashlib.sha256(file.encode()).hexdigest() for file in self.writer.acknowledged}
        for name, digests in wanted.items():
            digests_now = self._digests(name)
            if lost := sorted(file for file, digest in digests.items() if digests_now.get(file) != digest):
                raise Trouble(f'{name}: lost or changed: {", ".join(lost)}')
            self.demo.say(f'{name}: every checksum as before; files compared: {len(digests)}')

    def _delete(self, path):
        """Delete the resource of the path, and wait until it is gone."""
        demo = self.demo
        demo.say(f'$ DELETE /v2{path}')
        status, document = demo.api('DELETE', path)
        if status >= 400:
            raise Trouble(f'DELETE {path}: {status} {document}')
        demo.wait(f'{path} is gone', lambda: demo.api('GET', path)[0] == 404)

    def picture(self):
        """Return lines that show the server's places before and after."""
        return self.drawn

    def delete(self):
        """Delete shares, server, network and clients."""
        demo = self.demo
        with demo.step('Delete: shares, network, server and addresses'):
            clients.gone(settings.prefix(demo.state))
            snapshots = demo.api('GET', '/snapshots')[1]['snapshots']
            for path in (*(f'/snapshots/{snapshot["id"]}' for snapshot in snapshots),
                         *(f'/shares/{share}' for share in self.shares.values()),
                         f'/share-servers/{self.server}', f'/share-networks/{self.network}'):
                self._delete(path)
            if left := clients.spaces(settings.prefix(demo.state)):
                raise Trouble(f'network namespaces are left: {", ".join(left)}')
            demo.say('shares, share servers, network namespaces left: 0')
