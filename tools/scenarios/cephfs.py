# SPDX-License-Identifier: Apache-2.0
"""Shares on a private Ceph cluster, for native and for NFS clients: limits, access, copies, and a daemon that dies."""

import shutil

from scenarios import ceph_writers, pools, private_ceph, settings
from scenarios.ceph_shares import COPY, DOCS, HOME, CephShares
from scenarios.clients import must, must_not, refused
from scenarios.service import Trouble
from scenarios.settings import V4, V6

_FILE, _THEN, _NOW = 'hello.txt', 'before the snapshot', 'after the snapshot'
_OF_POOLS = {
    f'{settings.FILESYSTEM}.meta': 'names and directories',
    settings.NATIVE_POOL: 'backend native',
    settings.NFS_POOL: f'backend {settings.GATEWAY}',
}


class CephFs:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        private_ceph.vet(demo.state)
        self.cluster = private_ceph.PrivateCeph(demo.state)
        demo.needs.append(self.cluster)
        self.shares = CephShares(demo, self.cluster)
        self.alice = None
        self.snapshot = ''
        self.drawn = []

    def through(self):
        """Run all steps but the deletion. Return the command to mount a share by hand."""
        self._make()
        self._native()
        self._nfs()
        self._limit()
        self._snapshot()
        self._copy()
        ceph_writers.fail_over(self.demo, self.cluster, self.shares, self.alice)
        ceph_writers.shut_out(self.demo, self.shares, self.alice)
        self._look_around()
        return f'mount -t nfs4 {self.shares.paths[HOME]} /mnt'

    def _make(self):
        demo = self.demo
        with demo.step('Two shares: one for native clients, one for NFS clients'):
            demo.share_type(snapshot_support='True', create_share_from_snapshot_support='True')
            for name, proto in ((DOCS, 'CEPHFS'), (HOME, 'NFS')):
                self.shares.add(
                    name, demo.show('share', 'create', proto, '1', '--name', name, '--wait')['id']
                )

    def _native(self):
        demo = self.demo
        with demo.step('Native clients: alice may write, rita may only read'):
            demo.say(
                'The cluster makes a key for each of them, which the API shows to the owner of the rule:'
            )
            self.alice = self.shares.mount(DOCS, 'alice')
            rita = self.shares.mount(DOCS, 'rita', 'ro')
            must(self.alice.sh(f'echo {_THEN} > {_FILE}'))
            demo.say(f'alice wrote {_FILE}, rita reads: {must(rita.sh(f"cat {_FILE}"))!r}')
            demo.say(f'rita writes and is refused: {must_not(rita.sh("touch mine"), "denied")}')

    def _nfs(self):
        demo, nfs = self.demo, self.shares.nfs
        with demo.step(f'NFS clients: {V4} may write, and nobody else may mount'):
            demo.say(
                'The share manager runs an NFS-Ganesha, which has an id of its own at the cluster for each share:'
            )
            self.shares.grant(HOME, V4)
            must(nfs('write', _FILE, 'hello over NFS'))
            demo.say(f'{V4} wrote {_FILE} and reads: {must(nfs("read", _FILE))!r}')
            demo.say(f'{V6} was granted nothing and is refused: {refused(nfs("read", _FILE, address=V6))}')

    def _limit(self):
        demo, alice = self.demo, self.alice
        with demo.step('The size is a limit, and extending lifts it under the client'):
            must(alice.sh('truncate --size=1000M hole'))
            demo.wait(
                'the cluster knows the size of the file',
                lambda: shutil.disk_usage(alice.root).free >> 20 < 50,
            )
            demo.say('the file has no data, but its size counts: df shows what is left')
            said = must_not(alice.sh('dd if=/dev/urandom of=big bs=1M count=256 oflag=dsync'), 'quota')
            demo.say(f'alice is refused: {said.splitlines()[0]}. Clients keep the limit, a few MiB late')
            demo.run('share', 'resize', self.shares.ids[DOCS], '2', '--wait')
            more = 'dd if=/dev/urandom of=more bs=1M count=32 conv=fsync'
            demo.wait('alice can write more', lambda: alice.sh(more)[0])
            demo.say('extended to 2 GiB while mounted: alice wrote 32 MiB more')
            must(alice.sh('rm hole big more'))

    def _snapshot(self):
        demo, alice = self.demo, self.alice
        with demo.step(f'A snapshot of {demo.mebibytes} MiB in small files, which clients read in .snap'):
            must(
                alice.sh(
                    f'mkdir many; head -c {demo.mebibytes}M /dev/urandom | split --bytes=64K - many/part'
                )
            )
            self.snapshot = demo.show(
                'share', 'snapshot', 'create', self.shares.ids[DOCS], '--name', 'monday', '--wait'
            )['id']
            must(alice.sh(f'echo {_NOW} > {_FILE}'))
            if (text := must(alice.sh(f'cat .snap/*{self.snapshot}*/{_FILE}'))) != _THEN:
                raise Trouble(f'{_FILE} of the snapshot reads {text!r}')
            demo.say(f'alice changed {_FILE}; in .snap {_FILE} reads {text!r}')

    def _copy(self):
        demo = self.demo
        with demo.step('A share of the snapshot: the cluster copies it'):
            body = {'name': COPY, 'share_proto': 'CEPHFS', 'size': 2, 'snapshot_id': self.snapshot}
            copy = demo.ask('POST', '/shares', {'share': body})['id']
            demo.run('share', 'operation', 'wait', COPY)
            self.shares.add(COPY, copy)
            carla = self.shares.mount(COPY, 'carla')
            then, copied = must(carla.sh(f'cat {_FILE}')), must(carla.sh('sha256sum many/*'))
            count = len(copied.splitlines())
            if then != _THEN or copied != must(self.alice.sh('sha256sum many/*')):
                raise Trouble(f'the copy has other files; these are {count}')
            demo.say(f'carla reads {then!r} in {_FILE}; the other files, {count}, have the same checksums')

    def _look_around(self):
        """Draw the pools as they are now, to be shown at the end."""
        within = {}
        for name, share in self.shares.ids.items():
            about = self.demo.get(f'/shares/{share}')
            pool, used = self.cluster.subvolume(self.shares.subvolume(name))
            within.setdefault(pool, []).append(
                f'{name}  {about["share_proto"]:6}  {about["size"]} GiB, {pools.amount(used)} used'
                f'{f", copied from snapshot monday of {DOCS}" * (name == COPY)}'
            )
        self.drawn = [
            '',
            *pools.draw(
                'Pools of the cluster, before the shares were deleted',
                {
                    name: (*found, _OF_POOLS[name], within.get(name, []))
                    for name, found in sorted(self.cluster.pools().items())
                },
            ),
        ]

    def delete(self):
        """Delete shares, snapshot and clients, and look at what is left."""
        demo = self.demo
        with demo.step('Delete: nothing is left on the cluster'):
            while demo.beside:
                demo.beside.pop().stop()  # the clients
            demo.delete(f'/snapshots/{self.snapshot}')
            for share in self.shares.ids.values():
                demo.delete(f'/shares/{share}')
            if left := self.cluster.left():
                raise Trouble(f'left on the cluster: {", ".join(left)}')
            demo.say('shares, snapshots, ids and keys left on the cluster: 0')
