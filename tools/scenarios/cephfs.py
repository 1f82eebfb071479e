# SPDX-License-Identifier: Apache-2.0
"""Shares on a private Ceph cluster, for native and for NFS clients: limits, access, copies, and a daemon that dies."""

from manila_lite.cmd.manage.watch import Progress, fraction, watch
from scenarios import ceph_writers, pools, private_ceph, settings
from scenarios.ceph_shares import COPY, DOCS, HOME, CephShares
from scenarios.nfs import must, refused
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
            demo.ask(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': 'default',
                        'extra_specs': {
                            'driver_handles_share_servers': 'False',
                            'snapshot_support': 'True',
                            'create_share_from_snapshot_support': 'True',
                        },
                    }
                },
                user=settings.ADMIN,
            )
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
            self.alice.write(_FILE, _THEN)
            demo.say(f'alice wrote {_FILE}, rita reads: {rita.read(_FILE)!r}')
            demo.say(f'rita writes and is refused: {rita.refused("mine")}')

    def _nfs(self):
        demo, nfs = self.demo, self.shares.nfs
        with demo.step(f'NFS clients: {V4} may write, and nobody else may mount'):
            demo.say(
                'The share manager runs an NFS-Ganesha, which has an id of its own at the cluster for each share:'
            )
            self.shares.grant(HOME, 'ip', V4)
            must(nfs('write', _FILE, 'hello over NFS'))
            demo.say(f'{V4} wrote {_FILE} and reads: {must(nfs("read", _FILE))!r}')
            demo.say(f'{V6} was granted nothing and is refused: {refused(nfs("read", _FILE, address=V6))}')

    def _limit(self):
        demo, alice = self.demo, self.alice
        with demo.step('The size is a limit, and extending lifts it under the client'):
            alice.hole(1000)
            demo.wait('the cluster knows the size of the file', lambda: alice.free() < 50)
            demo.say(
                f'alice has a file of 1000 MiB, without data, but its size counts: df shows {alice.free()} MiB free'
            )
            mib, said = alice.overfill()
            demo.say(
                f'alice wrote {mib} MiB more, and is refused: {said}. Clients keep the limit, a few MiB late'
            )
            demo.run('share', 'resize', self.shares.ids[DOCS], '2', '--wait')
            demo.wait('alice can write more', lambda: alice.fits(32))
            demo.say('extended to 2 GiB while mounted: alice wrote 32 MiB more')
            alice.clear()

    def _snapshot(self):
        demo, alice = self.demo, self.alice
        with demo.step(f'A snapshot of {demo.mebibytes} MiB in small files, which clients read in .snap'):
            alice.fill(demo.mebibytes)
            self.snapshot = demo.show(
                'share', 'snapshot', 'create', self.shares.ids[DOCS], '--name', 'monday', '--wait'
            )['id']
            alice.write(_FILE, _NOW)
            place = f'.snap/{alice.snapshot(self.snapshot)}/{_FILE}'
            if (text := alice.read(place)) != _THEN:
                raise Trouble(f'{place} reads {text!r}')
            demo.say(f'alice changed {_FILE}; {place} reads {text!r}')

    def _copy(self):
        demo = self.demo
        with demo.step('A share of the snapshot: the cluster copies it'):
            copy = demo.ask(
                'POST',
                '/shares',
                {'share': {'name': COPY, 'share_proto': 'CEPHFS', 'size': 2, 'snapshot_id': self.snapshot}},
            )['id']
            demo.say(f'"openstack share operation wait {COPY}" shows the same:')
            if watch(lambda: self._progress(copy), 0.2):
                raise Trouble(f'the snapshot was not copied\n{demo.logs()}')
            self.shares.add(COPY, copy)
            carla = self.shares.mount(COPY, 'carla')
            copied = carla.digests()
            if carla.read(_FILE) != _THEN or copied != self.alice.digests():
                raise Trouble(f'the copy has other files; these are {len(copied)}')
            demo.say(
                f'carla reads {_THEN!r} in {_FILE}; the other files, {len(copied)}, have the same checksums'
            )

    def _progress(self, copy):
        """Return the progress of the copy."""
        op = self.demo.api('GET', f'/operations?resource_id={copy}')[1]['operations'][0]
        ended = None if op['state'] == 'open' else op['state'] == 'done'
        done, total = (op['progress'][name] for name in ('bytes_done', 'bytes_total'))
        return Progress(
            f'    {"copying" if ended is None else "copied"}',
            100 if ended else op['progress']['percent'],
            fraction(done >> 20, total >> 20, 'MiB') if total and not ended else '',
            ended=ended,
        )

    def _look_around(self):
        """Draw the pools as they are now, to be shown at the end."""
        within = {}
        for name, share in self.shares.ids.items():
            about = self.demo.api('GET', f'/shares/{share}')[1]['share']
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

    def picture(self):
        """Return lines that show the cluster's pools and the shares in them."""
        return self.drawn

    def delete(self):
        """Delete shares, snapshot and clients, and look at what is left."""
        demo = self.demo
        with demo.step('Delete: nothing is left on the cluster'):
            self.shares.clients.stop()
            path = f'/snapshots/{self.snapshot}'
            demo.say(f'$ DELETE /v2{path}')
            demo.api('DELETE', path)
            demo.wait('the snapshot is gone', lambda: demo.api('GET', path)[0] == 404)
            for share in self.shares.ids.values():
                demo.unshare(share)
            if left := self.cluster.left():
                raise Trouble(f'left on the cluster: {", ".join(left)}')
            demo.say('shares, snapshots, ids and keys left on the cluster: 0')
