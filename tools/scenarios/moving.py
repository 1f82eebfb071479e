# SPDX-License-Identifier: Apache-2.0
"""A share server moves to another backend with its shares, snapshot and rules, while a client writes; drawn at the end."""

from manila_lite.cmd.manage.watch import Progress, fraction, watch
from manila_lite.states import Migration
from scenarios.kept import Kept
from scenarios.service import Trouble
from scenarios.settings import ADMIN

_HOW = '--preserve-snapshots', 'True', '--writable', 'True', '--nondisruptive', 'False'


class Moving(Kept):
    """The scenario, with its steps in their order."""

    NETWORKS = {'demo': ('docs', 'photos')}

    @property
    def server(self):
        """The id of the only share server."""
        return self.servers[self.names[0]]

    def make(self):
        """Make two shares on one share server."""
        demo = self.demo
        with demo.step('Two shares on one share server; a second backend stands by'):
            self.prepare()
            hint = []
            for name in self.names:
                share = demo.show(
                    'share',
                    'create',
                    'NFS',
                    str(self.size),
                    '--name',
                    name,
                    '--share-network',
                    'demo',
                    *hint,
                    '--wait',
                )
                self.shares[name] = share['id']
                hint = ['--scheduler-hint', f'same_host={share["id"]}']
            self.find()

    def find(self):
        """Look up the present server, too, as an administrator sees it."""
        super().find()
        (server,) = self.demo.show(*self.demo.as_operator, 'share', 'server', 'list')
        if (server['ID'], server['Host'].partition('#')[0]) != (self.server, self.home):
            raise Trouble(
                f'{server["ID"]} on {server["Host"]} is not the server of the shares, {self.server} on {self.home}'
            )

    def move(self):
        """Move the share server: a check, the copy, the cut-over."""
        self._check()
        self._copy()
        self._cut_over()

    def _check(self):
        demo = self.demo
        with demo.step(f'May the server move from {self.home} to {self.other}?'):
            check = demo.show(
                *demo.as_operator,
                'share',
                'server',
                'migration',
                'start',
                self.server,
                self.other,
                *_HOW,
                '--check-only',
            )
            if not check['compatible']:
                raise Trouble(f'it may not: {check}')
            demo.say('yes: nothing was changed to find out')

    def _copy(self):
        demo = self.demo
        with demo.step('Phase one: everything is copied, while the client writes'):
            self.write_on()
            demo.run(
                *demo.as_operator, 'share', 'server', 'migration', 'start', self.server, self.other, *_HOW
            )
            demo.say(f'"manila-manage migration watch {self.server}" shows the same:')
            if watch(self._progress, 0.2):
                raise Trouble(f'the copy did not become ready\n{demo.logs()}')
            self.writer.goes_on()
            demo.say(f'{self.wire.friend.address} wrote {len(self.writer.acknowledged)} files so far')

    def _progress(self):
        """Return the progress of the copy."""
        status, progress = self.demo.api(
            'POST', f'/share-servers/{self.server}/action', {'migration_get_progress': None}, user=ADMIN
        )
        if status >= 400:
            raise Trouble(f'migration_get_progress: {status} {progress}')
        state = progress['task_state']
        ended = {Migration.COPIED: True, Migration.ERROR: False, Migration.CANCELLED: False}.get(state)
        done, total = ((progress[name] or 0) >> 20 for name in ('bytes_done', 'bytes_total'))
        return Progress(
            '    copied ' if ended else '    copying',
            progress['total_progress'],
            fraction(done, total, 'MiB') if total else '',
            progress['seconds_left'],
            ended=ended,
        )

    def _cut_over(self):
        demo, source = self.demo, self.server
        with demo.step('Phase two, when you say so: the other backend serves'):
            demo.run(*demo.as_operator, 'share', 'server', 'migration', 'complete', source)
            demo.wait('the server has moved', lambda: self._moved(source), 120)
            self.written()

    def _moved(self, source):
        """Say whether the shares are on the other backend, and the old server is gone."""
        states = {
            self.demo.api('GET', f'/shares/{share}')[1]['share']['status'] for share in self.shares.values()
        }
        if 'error' in states:
            raise Trouble(f'the cut-over failed\n{self.demo.logs()}')
        return (
            states == {'available'} and self.demo.api('GET', f'/share-servers/{source}', user=ADMIN)[0] == 404
        )
