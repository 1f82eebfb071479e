# SPDX-License-Identifier: Apache-2.0
"""A share's life on real storage, shown step by step."""

import os

from manila_lite.tests.nfs_client import call as nfs
from scenarios.clients import must, must_not, refused, split
from scenarios.service import Trouble
from scenarios.settings import V4, V6

#: What is allocated in the share of 1 GiB, and what a client writes then: in MiB. Writing all of it would take a minute.
_TAKEN, _MORE = 1008, 32
_HELLO = 'hello from manila_lite'


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
        if self.real:
            self._limit()
        self._snapshot()
        return f'mount -t nfs4 {self.path} /mnt' if self.real else ''

    def _share(self):
        demo = self.demo
        with demo.step('A share type and a share, through API, scheduler and share manager'):
            if not demo.show('share', 'type', 'list'):
                abilities = ('snapshot', 'create-share-from-snapshot', 'revert-to-snapshot')
                specs = [word for ability in abilities for word in (f'--{ability}-support', 'True')]
                demo.show(*demo.as_operator, 'share', 'type', 'create', 'default', 'False', *specs)
            self.share = demo.show('share', 'create', 'NFS', '1', '--name', 'demo', '--wait')['id']
            demo.has_settled(f'/shares/{self.share}', 'status', 'available')
            locations = demo.show('share', 'export', 'location', 'list', self.share)
            self.path = locations[0]['Path']
            demo.say(f'{self.share} is exported as {", ".join(place["Path"] for place in locations)}')
        self.remote = split(self.path)[1]

    def _access(self):
        demo = self.demo
        with demo.step(f'Access for {V4}, and for nobody else'):
            demo.show('share', 'access', 'create', self.share, 'ip', V4, '--wait')
            if self.real:
                must(nfs(V4, self.remote, 'write', 'hello.txt', _HELLO))
                read = must(nfs(V4, self.remote, 'read', 'hello.txt'))
                demo.say(f'mounted by {V4}, wrote hello.txt, read back: {read!r}')
                demo.say(
                    f'{V6} was granted nothing and is refused: {refused(nfs(V6, self.remote, "read", "hello.txt"))}'
                )

    def _limit(self):
        demo = self.demo
        with demo.step('The size is a limit, and extending lifts it'):
            folder = demo.state / 'lib/storage/pool/shares' / self.remote.rpartition('/')[2]
            with (folder / 'big').open('wb') as file:
                os.posix_fallocate(file.fileno(), 0, _TAKEN << 20)
            said = must_not(nfs(V4, self.remote, 'fill', 'more', _MORE), 'DQUOT', 'quota')
            demo.say(
                f'{_TAKEN} MiB of 1 GiB are taken; a client that writes {_MORE} MiB more is refused: {said}'
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
                if text != _HELLO:
                    raise Trouble(f'after the revert the file reads {text!r}')
                demo.say(f'reverted: the file reads {text!r} again')
            demo.run('share', 'snapshot', 'delete', snapshot['id'], '--wait')

    def delete(self):
        """Delete the share."""
        demo = self.demo
        with demo.step('Delete: nothing is left'):
            demo.delete_last(self.share)
