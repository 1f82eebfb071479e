# SPDX-License-Identifier: Apache-2.0
"""A share's life on real storage, shown step by step."""

import concurrent.futures

from manila_lite.tests.nfs_client import call as nfs
from walks.nfs import must, must_not, refused, split
from walks.service import Trouble
from walks.settings import V4, V6


def overfill(remote):
    """Write more than fits with two clients; return the output of the one that was refused."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda name: nfs(V4, remote, 'fill', name, '600'), ('big', 'bigger')))
    return must_not(min(results), 'DQUOT', 'quota')


class OneShare:
    """The scenario, with its steps in their order."""

    def __init__(self, walk):
        self.walk = walk
        self.real = walk.backend != 'dummy'
        self.share = self.path = self.remote = ''

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand, if that is possible."""
        self._share()
        self._access()
        if self.walk.backend == 'linux':
            self._limit()
        self._snapshot()
        return f'mount -t nfs4 {self.path} /mnt' if self.real else ''

    def _share(self):
        walk = self.walk
        with walk.step('A share type and a share, through API, scheduler and share manager'):
            specs = ['--snapshot-support', 'True', '--create-share-from-snapshot-support', 'True',
                     '--revert-to-snapshot-support', 'True']
            known = {kind['Name'] for kind in walk.show('share', 'type', 'list')}
            if 'default' not in known:
                walk.show(*walk.as_operator, 'share', 'type', 'create', 'default', 'False', *specs)
            share = walk.show('share', 'create', 'NFS', '1', '--name', 'demo', '--wait')
            self.share = share['id']
            locations = walk.show('share', 'export', 'location', 'list', self.share)
            self.path = locations[0]['Path']
            walk.say(f'{self.share} is {share["status"]}, exported as {", ".join(place["Path"] for place in locations)}')
        self.remote = split(self.path)[1]

    def _access(self):
        walk = self.walk
        with walk.step(f'Access for {V4}, and for nobody else'):
            walk.show('share', 'access', 'create', self.share, 'ip', V4, '--wait')
            if self.real:
                must(nfs(V4, self.remote, 'write', 'hello.txt', 'hello from manila_lite'))
                read = must(nfs(V4, self.remote, 'read', 'hello.txt'))
                walk.say(f'mounted by {V4}, wrote hello.txt, read back: {read!r}')
                walk.say(f'{V6} was granted nothing and is refused: {refused(nfs(V6, self.remote, "read", "hello.txt"))}')

    def _limit(self):
        walk = self.walk
        with walk.step('The size is a limit, and extending lifts it'):
            walk.say(f'two clients writing 1.2 GiB into 1 GiB are refused: {overfill(self.remote)}')
            walk.run('share', 'resize', self.share, '2', '--wait')
            must(nfs(V4, self.remote, 'fill', 'more', '64'))
            walk.say('extended to 2 GiB while mounted, and written to again')

    def _snapshot(self):
        walk = self.walk
        with walk.step('A snapshot, a change, and back again'):
            snapshot = walk.show('share', 'snapshot', 'create', self.share, '--name', 'before', '--wait')
            if self.real:
                must(nfs(V4, self.remote, 'write', 'hello.txt', 'changed by mistake'))
            walk.run('share', 'revert', snapshot['id'], '--wait')
            if self.real:
                found = must(nfs(V4, self.remote, 'read', 'hello.txt'))
                if found != 'hello from manila_lite':
                    raise Trouble(f'after the revert the file reads {found!r}')
                walk.say(f'reverted: the file reads {found!r} again')
            walk.run('share', 'snapshot', 'delete', snapshot['id'], '--wait')

    def delete(self):
        """Delete the share."""
        walk = self.walk
        with walk.step('Delete: nothing is left'):
            walk.run('share', 'delete', self.share, '--wait')
            walk.say(f'shares left: {len(walk.show("share", "list"))}')

    def picture(self):
        """Return no lines: there is one address."""
        return []
