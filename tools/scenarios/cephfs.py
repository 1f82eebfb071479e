# SPDX-License-Identifier: Apache-2.0
"""Shares on a private Ceph cluster, for native and for NFS clients: limits, access, copies, and a daemon that dies."""

import os
import signal
import time

from manila_lite.cmd.manage.watch import Progress, fraction, watch
from manila_lite.tests.nfs_client import call as nfs
from manila_lite.tests.nfs_writer import Writer as NfsWriter
from scenarios import native, pools, private_ceph, settings
from scenarios.nfs import must, refused, split
from scenarios.service import Trouble
from scenarios.settings import V4, V6

#: A share for native clients, one for NFS clients, and one made of a snapshot of the first.
_DOCS, _HOME, _COPY = 'docs', 'home', 'copy'
_FILE, _THEN, _NOW = 'hello.txt', 'before the snapshot', 'after the snapshot'


class CephFs:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        if lacks := private_ceph.missing():
            raise Trouble(f'a Ceph cluster and its clients need {lacks}: run tools/setup-env --ceph as root, or see bindep.txt')
        self.cluster = private_ceph.PrivateCeph(demo.state)
        demo.needs.append(self.cluster)
        self.clients = native.Clients(demo, self.cluster)
        demo.beside.append(self.clients)
        self.shares, self.paths, self.rules = {}, {}, {}
        self.alice = None
        self.snapshot = ''
        self.drawn = []

    def through(self):
        """Run all steps but the deletion. Return the command to mount a share by hand."""
        self._make()
        self._access()
        self._limit()
        self._snapshot()
        self._copy()
        self._fail_over()
        self._deny()
        self._look_around()
        return f'mount -t nfs4 {self.paths[_HOME]} /mnt'

    # Shares and access ------------------------------------------------------------------------

    def _make(self):
        demo = self.demo
        with demo.step('Two shares on the cluster: one for native clients, one for NFS clients'):
            demo.ask('POST', '/types', {'share_type': {'name': 'default', 'extra_specs': {
                'driver_handles_share_servers': 'False', 'snapshot_support': 'True',
                'create_share_from_snapshot_support': 'True'}}}, user=settings.ADMIN)
            for name, proto in ((_DOCS, 'CEPHFS'), (_HOME, 'NFS')):
                self.shares[name] = demo.show('share', 'create', proto, '1', '--name', name, '--wait')['id']
                self._locate(name)

    def _locate(self, name):
        locations = self.demo.api('GET', f'/shares/{self.shares[name]}/export_locations')[1]['export_locations']
        self.paths[name] = next(one['path'] for one in locations if one['preferred'])
        self.demo.say(f'{name} is exported as {", ".join(one["path"] for one in locations)}')

    def _grant(self, name, kind, to, level='rw'):
        """Add an access rule, and wait until it is in force; return it, with the key of a native client."""
        demo = self.demo
        rule = demo.ask('POST', f'/shares/{self.shares[name]}/action', {'allow_access': {
            'access_type': kind, 'access_to': to, 'access_level': level}})['id']

        def there():
            found = demo.api('GET', f'/share-access-rules/{rule}')[1]['access']
            if found['state'] == 'error':
                raise Trouble(f'the rule for {to} is in error:\n{demo.logs()}')
            return found['state'] == 'active' and found
        found = demo.wait(f'the rule for {to} is in force', there)
        self.rules[name, to] = rule
        return found

    def _mount(self, name, ident, level='rw'):
        """Grant access to a native client, and mount the share as that; return the client."""
        rule = self._grant(name, 'cephx', ident, level)
        return self.clients.mount(ident, rule['access_key'], f'/{self.paths[name].partition(":/")[2]}')

    def _nfs(self, *words, address=V4):
        return nfs(address, split(self.paths[_HOME])[1], *words)

    def _access(self):
        demo = self.demo
        with demo.step('Native: alice may write, rita may only read; the cluster gives each an id and a key'):
            self.alice = self._mount(_DOCS, 'alice')
            rita = self._mount(_DOCS, 'rita', 'ro')
            self.alice.write(_FILE, _THEN)
            demo.say(f'alice wrote {_FILE}, rita reads: {rita.read(_FILE)!r}')
            demo.say(f'rita writes and is refused: {rita.refused("mine")}')
        with demo.step(f'NFS, through NFS-Ganesha on this machine: {V4} may write, nobody else may mount'):
            self._grant(_HOME, 'ip', V4)
            must(self._nfs('write', _FILE, 'hello over NFS'))
            demo.say(f'{V4} wrote {_FILE} and reads: {must(self._nfs("read", _FILE))!r}')
            demo.say(f'{V6} was granted nothing and is refused: {refused(self._nfs("read", _FILE, address=V6))}')

    def _limit(self):
        demo = self.demo
        with demo.step('The size is a limit, and extending lifts it under the client'):
            mib, said = self.alice.overfill(1)
            demo.say(f'alice has a file of 1008 MiB (a hole, which counts), wrote {mib} MiB more and is refused: {said}')
            demo.run('share', 'resize', self.shares[_DOCS], '2', '--wait')
            demo.wait('alice can write more', lambda: self.alice.fits(32))
            demo.say('extended to 2 GiB while mounted: alice wrote 32 MiB more')
            self.alice.clear()

    # Snapshot and copy ------------------------------------------------------------------------

    def _snapshot(self):
        demo = self.demo
        with demo.step(f'A snapshot of {demo.mebibytes} MiB in small files, which clients read in .snap'):
            self.alice.fill(demo.mebibytes)
            self.snapshot = demo.show('share', 'snapshot', 'create', self.shares[_DOCS], '--name', 'monday', '--wait')['id']
            self.alice.write(_FILE, _NOW)
            place = f'.snap/{self.alice.snapshot(self.snapshot)}/{_FILE}'
            if (text := self.alice.read(place)) != _THEN:
                raise Trouble(f'{place} reads {text!r}')
            demo.say(f'alice changed {_FILE}; {place} reads {text!r}')

    def _copy(self):
        demo = self.demo
        with demo.step('A share of the snapshot: the cluster copies it'):
            self.shares[_COPY] = demo.ask('POST', '/shares', {'share': {
                'name': _COPY, 'share_proto': 'CEPHFS', 'size': 2, 'snapshot_id': self.snapshot}})['id']
            demo.say(f'"openstack share operation wait {_COPY}" shows the same:')
            if watch(self._progress, 0.2):
                raise Trouble(f'the snapshot was not copied\n{demo.logs()}')
            self._locate(_COPY)
            carla = self._mount(_COPY, 'carla')
            if (text := carla.read(_FILE)) != _THEN:
                raise Trouble(f'{_FILE} of the copy reads {text!r}')
            copied = carla.digests()
            if copied != self.alice.digests():
                raise Trouble(f'the files of the copy are others; it has {len(copied)}')
            demo.say(f'carla reads {text!r} in {_FILE}; the other files, {len(copied)}, have the same checksums')

    def _progress(self):
        """Return the progress of the copy."""
        op = self.demo.api('GET', f'/operations?resource_id={self.shares[_COPY]}')[1]['operations'][0]
        ended = None if op['state'] == 'open' else op['state'] == 'done'
        done, total = (op['progress'][name] for name in ('bytes_done', 'bytes_total'))
        return Progress(f'    {"copying" if ended is None else "copied"}', 100 if ended else op['progress']['percent'],
                        fraction(done >> 20, total >> 20, 'MiB') if total and not ended else '', ended=ended)

    # Faults and the end of access -------------------------------------------------------------

    def _writers(self):
        """Return a native and an NFS client that write one file after another."""
        return {'alice': native.Writer(self.alice), V4: NfsWriter(V4, split(self.paths[_HOME])[1], None)}

    def _fail_over(self):
        demo = self.demo
        with demo.step('The active metadata server is killed while both clients write: the other one takes over'):
            name = self.cluster.active()
            writers = self._writers()
            try:
                for writer in writers.values():
                    writer.goes_on()
                demo.say(f'$ kill -9 {self.cluster.pid(name)}    # {name}')
                os.kill(self.cluster.pid(name), signal.SIGKILL)
                began = time.monotonic()
                for writer in writers.values():
                    writer.goes_on(10)
                paused = time.monotonic() - began
            finally:
                failed = {who: writer.end() for who, writer in writers.items()}
            if any(failed.values()):
                raise Trouble(f'clients failed: {failed}')
            self._took_over(name, paused)
            self._all_there(writers)

    def _took_over(self, name, paused):
        demo = self.demo
        now = demo.wait('a metadata server is active', self.cluster.active)
        if now == name:
            raise Trouble(f'{name} was killed, and serves')
        demo.say(f'{now} took over: both write again after {paused:.1f} s, and nothing failed')
        self.cluster.ceph.kill(name)
        self.cluster.ceph.start(name)
        demo.say(f'{name} is started again, and stands by')

    def _all_there(self, writers):
        """Check that every file that a client could write is there."""
        native_files, nfs_files = set(os.listdir(self.alice.root)), set(must(self._nfs('list')).split())
        for who, files in (('alice', native_files), (V4, nfs_files)):
            if lost := set(writers[who].written) - files:
                raise Trouble(f'files of {who} are lost: {", ".join(sorted(lost))}')
            self.demo.say(f'{who} wrote {len(writers[who].written)} files; all are there')

    def _deny(self):
        demo = self.demo
        with demo.step('Access is taken away under clients that write: they are shut out at once'):
            writers = self._writers()
            try:
                for (name, who), writer in zip(((_DOCS, 'alice'), (_HOME, V4)), writers.values(), strict=True):
                    writer.goes_on()
                    began = time.monotonic()
                    demo.ask('POST', f'/shares/{self.shares[name]}/action', {
                        'deny_access': {'access_id': self.rules.pop((name, who))}})
                    demo.wait(f'{who} is shut out', lambda writer=writer: writer.failed)
                    demo.say(f'{who} is refused {time.monotonic() - began:.1f} s after the request: {writer.failed[0]}')
            finally:
                for writer in writers.values():
                    writer.end()
            self._grant(_HOME, 'ip', V4)
            demo.say(f'with a new rule {V4} reads {_FILE} again: {must(self._nfs("read", _FILE))!r}')

    # End --------------------------------------------------------------------------------------

    def _look_around(self):
        """Draw the pools as they are now, to be shown at the end."""
        shares = {}
        for name, path in self.paths.items():
            about = self.demo.api('GET', f'/shares/{self.shares[name]}')[1]['share']
            pool, used = self.cluster.subvolume(path.split('/')[3 if about['share_proto'] == 'CEPHFS' else 2])
            shares.setdefault(pool, []).append(
                f'{name:5} {about["share_proto"]:6}  {about["size"]} GiB, {pools.amount(used)} used'
                f'{f", copied from snapshot monday of {_DOCS}" * (name == _COPY)}')
        about = {f'{settings.FILESYSTEM}.meta': 'names and directories', settings.NATIVE_POOL: 'backend native',
                 settings.NFS_POOL: 'backend gateway'}
        self.drawn = ['', *pools.draw(f'Pools of the cluster, before the shares were deleted; file system {settings.FILESYSTEM}', {
            name: (*found, about[name], shares.get(name, [])) for name, found in sorted(self.cluster.pools().items())})]

    def picture(self):
        """Return lines that show the cluster's pools and the shares in them."""
        return self.drawn

    def delete(self):
        """Delete shares, snapshot and clients, and look at what is left."""
        demo = self.demo
        with demo.step('Delete: nothing is left on the cluster'):
            self.clients.stop()
            demo.say(f'$ DELETE /v2/snapshots/{self.snapshot}')
            demo.api('DELETE', f'/snapshots/{self.snapshot}')
            demo.wait('the snapshot is gone', lambda: demo.api('GET', f'/snapshots/{self.snapshot}')[0] == 404)
            for share in self.shares.values():
                demo.unshare(share)
            if left := self.cluster.left():
                raise Trouble(f'left on the cluster: {", ".join(left)}')
            demo.say('subvolumes, ids and keys left on the cluster: 0')
