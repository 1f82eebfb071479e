# SPDX-License-Identifier: Apache-2.0
"""A share's life on real storage, shown step by step."""

import os

from manila_lite.tests.nfs_client import call as nfs
from scenarios.nfs import must, must_not, refused, split
from scenarios.service import Trouble
from scenarios.settings import V4, V6

#: What is allocated in the share of 1 GiB, and what a client writes then: in MiB. Writing all of it would take a minute.
_TAKEN, _MORE = 1008, 32


def overfill(folder, remote):
    """Allocate most of the share, and write more than is left with a client; return the output of its refusal."""
    with (folder / 'big').open('wb') as file:
        os.posix_fallocate(file.fileno(), 0, _TAKEN << 20)
    return must_not(nfs(V4, remote, 'fill', 'more', _MORE), 'DQUOT', 'quota')


class OneShare:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        self.real = demo.backend != 'dummy'
        self.share = self.path = self.remote = ''

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand, if that is possible."""
        self._share()
        self._access()
        if self.demo.backend == 'linux':
            self._limit()
        self._snapshot()
        return f'mount -t nfs4 {self.path} /mnt' if self.real else ''

    def _share(self):
        demo = self.demo
        with demo.step('A share type and a share, through API, scheduler and share manager'):
            specs = [
                '--snapshot-support',
                'True',
                '--create-share-from-snapshot-support',
                'True',
                '--revert-to-snapshot-support',
                'True',
            ]
            known = {kind['Name'] for kind in demo.show('share', 'type', 'list')}
            if 'default' not in known:
                demo.show(*demo.as_operator, 'share', 'type', 'create', 'default', 'False', *specs)
            share = demo.show('share', 'create', 'NFS', '1', '--name', 'demo', '--wait')
            self.share = share['id']
            if share['status'] != 'available':
                raise Trouble(f'share {self.share} is in {share["status"]}:\n{demo.logs()}')
            locations = demo.show('share', 'export', 'location', 'list', self.share)
            self.path = locations[0]['Path']
            demo.say(
                f'{self.share} is {share["status"]}, exported as {", ".join(place["Path"] for place in locations)}'
            )
        self.remote = split(self.path)[1]

    def _access(self):
        demo = self.demo
        with demo.step(f'Access for {V4}, and for nobody else'):
            demo.show('share', 'access', 'create', self.share, 'ip', V4, '--wait')
            if self.real:
                must(nfs(V4, self.remote, 'write', 'hello.txt', 'hello from manila_lite'))
                read = must(nfs(V4, self.remote, 'read', 'hello.txt'))
                demo.say(f'mounted by {V4}, wrote hello.txt, read back: {read!r}')
                demo.say(
                    f'{V6} was granted nothing and is refused: {refused(nfs(V6, self.remote, "read", "hello.txt"))}'
                )

    def _limit(self):
        demo = self.demo
        with demo.step('The size is a limit, and extending lifts it'):
            folder = demo.state / 'lib/storage/pool/shares' / self.remote.rpartition('/')[2]
            demo.say(
                f'{_TAKEN} MiB of 1 GiB are taken; a client that writes {_MORE} MiB more is refused: '
                f'{overfill(folder, self.remote)}'
            )
            demo.run('share', 'resize', self.share, '2', '--wait')
            must(nfs(V4, self.remote, 'fill', 'more', _MORE))
            demo.say('extended to 2 GiB while mounted, and written to again')

    def _snapshot(self):
        demo = self.demo
        with demo.step('A snapshot, a change, and back again'):
            snapshot = demo.show('share', 'snapshot', 'create', self.share, '--name', 'before', '--wait')
            if self.real:
                must(nfs(V4, self.remote, 'write', 'hello.txt', 'changed by mistake'))
            demo.run('share', 'revert', snapshot['id'], '--wait')
            if self.real:
                text = must(nfs(V4, self.remote, 'read', 'hello.txt'))
                if text != 'hello from manila_lite':
                    raise Trouble(f'after the revert the file reads {text!r}')
                demo.say(f'reverted: the file reads {text!r} again')
            demo.run('share', 'snapshot', 'delete', snapshot['id'], '--wait')

    def delete(self):
        """Delete the share."""
        demo = self.demo
        with demo.step('Delete: nothing is left'):
            demo.run('share', 'delete', self.share, '--wait')
            demo.say(f'shares left: {len(demo.show("share", "list"))}')

    def picture(self):
        """Return no lines: there is one address."""
        return []
