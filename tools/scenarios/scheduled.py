# SPDX-License-Identifier: Apache-2.0
"""A share that fills, warns and grows; and a schedule that snaps it each minute, keeps one snapshot, and is the way back."""

import os

from manila_lite.tests.nfs_client import call as nfs
from scenarios.clients import must
from scenarios.one_share import OneShare
from scenarios.service import Trouble
from scenarios.settings import V4

#: What is allocated in the share of 1 GiB, and what a client writes then, in MiB: above 80 %, and above 90 %.
_TAKEN, _MORE = 840, 96
_MINUTES = 3
_FILE, _NAME = 'diary.txt', 'each-minute'


class Scheduled(OneShare):
    """The scenario, with its steps in their order."""

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand."""
        self._share()
        self._access()
        self._fill()
        self._snap()
        self._restore()
        return f'mount -t nfs4 {self.path} /mnt'

    def _fill(self):
        demo, grow = self.demo, ('usage:grow_by=1', 'usage:grow_to=2')
        with demo.step('The share fills: its owner is warned, and it grows'):
            demo.run('share', 'set', self.share, *(word for one in grow for word in ('--property', one)))
            folder = demo.state / 'lib/storage/pool/shares' / self.remote.rpartition('/')[2]
            with (folder / 'big').open('wb') as file:
                os.posix_fallocate(file.fileno(), 0, _TAKEN << 20)
            path = f'/messages?resource_id={self.share}'
            said = demo.wait('the owner has a message', lambda: demo.get(path))
            demo.say(f'{_TAKEN} MiB of 1 GiB are taken; a message to the owner: {said[0]["user_message"]}')
            must(nfs(V4, self.remote, 'fill', 'more', _MORE))
            demo.wait('the share has grown', lambda: demo.get(f'/shares/{self.share}')['size'] == 2)
            demo.say(f'{V4} wrote {_MORE} MiB more, and the share has grown to 2 GiB while it was mounted')
            demo.has_settled(f'/shares/{self.share}', 'status', 'available')
            demo.run('share', 'usage', 'list')

    def _snap(self):
        demo = self.demo
        with demo.step(
            f'A schedule takes a snapshot each minute for {_MINUTES} minutes, and keeps the last one'
        ):
            what = ('--cron', '* * * * *', '--keep', 'last=1', '--share', self.share)
            schedule = demo.show('share', 'schedule', 'create', _NAME, *what)['id']
            demo.run('share', 'schedule', 'preview', schedule)
            runs = f'/operations?resource_id={schedule}&kind=schedule.run&state=done'
            for minute in range(_MINUTES):
                must(nfs(V4, self.remote, 'write', _FILE, f'minute {minute}'))
                demo.wait('the schedule runs', lambda wanted=minute + 1: len(demo.get(runs)) >= wanted)
                demo.say(f'snapshots: {", ".join(one["name"] for one in self._snapshots())}')
            demo.run('share', 'schedule', 'set', schedule, '--pause')
            demo.wait('one snapshot is kept', lambda: len(self._snapshots()) == 1)
            demo.run('share', 'snapshot', 'list', '--share', self.share)

    def _snapshots(self):
        return self.demo.get(f'/snapshots/detail?share_id={self.share}')

    def _restore(self):
        demo, wanted = self.demo, f'minute {_MINUTES - 1}'
        with demo.step('A mistake, and back to the snapshot that is kept'):
            must(nfs(V4, self.remote, 'write', _FILE, 'changed by mistake'))
            (kept,) = self._snapshots()
            demo.run('share', 'revert', kept['id'], '--wait')
            text = must(nfs(V4, self.remote, 'read', _FILE))
            if text != wanted:
                raise Trouble(f'after the revert the file reads {text!r}, not {wanted!r}')
            demo.say(f'reverted to {kept["name"]}: the file reads {text!r} again')

    def delete(self):
        """Delete the schedule, its snapshot and the share."""
        demo = self.demo
        with demo.step('Delete: nothing is left'):
            demo.run('share', 'schedule', 'delete', _NAME)
            demo.run('share', 'snapshot', 'delete', self._snapshots()[0]['id'], '--wait')
            demo.delete_last(self.share)
