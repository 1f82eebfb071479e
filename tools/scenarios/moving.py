# SPDX-License-Identifier: Apache-2.0
"""A share server moves to another backend with its shares, snapshot and rules, while a client writes; drawn at the end."""

from manila_lite.states import Migration
from scenarios.kept import Kept
from scenarios.service import Trouble
from scenarios.settings import ADMIN

_HOW = '--preserve-snapshots', 'True', '--writable', 'True', '--nondisruptive', 'False'


class Moving(Kept):
    """The scenario, with its steps in their order."""

    NETWORKS = {'demo': ('docs', 'photos')}

    def make(self):
        """Make two shares on one share server."""
        demo = self.demo
        with demo.step('Two shares on one share server; a second backend stands by'):
            self.prepare()
            words = 'share', 'create', 'NFS', str(self.size), '--share-network', 'demo', '--wait'
            for name in self.NETWORKS['demo']:
                hint = [f'same_host={share}' for share in self.shares.values()]
                more = ['--scheduler-hint', *hint] if hint else []
                self.shares[name] = demo.show(*words, '--name', name, *more)['id']
            self.find()
        self.fill()

    def find(self):
        """Look up the present server, too, as an administrator sees it."""
        super().find()
        mine = self.servers['docs']
        (server,) = self.demo.show(*self.demo.as_operator, 'share', 'server', 'list')
        if (server['ID'], server['Host'].partition('#')[0]) != (mine, self.home):
            raise Trouble(
                f'{server["ID"]} on {server["Host"]} is not the server of the shares, {mine} on {self.home}'
            )

    def move(self):
        """Move the share server: a check, the copy, the cut-over."""
        demo, source = self.demo, self.servers['docs']
        migration = *demo.as_operator, 'share', 'server', 'migration'
        with demo.step(f'May the server move from {self.home} to {self.other}?'):
            check = demo.show(*migration, 'start', source, self.other, *_HOW, '--check-only')
            if not check['compatible']:
                raise Trouble(f'it may not: {check}')
            demo.say('yes: nothing was changed to find out')
        with demo.step('Phase one: everything is copied, while the client writes'):
            self.write_on()
            demo.run(*migration, 'start', source, self.other, *_HOW)
            demo.say(f'"manila-manage migration watch {source}" shows the same:')
            demo.watch_copy(f'/share-servers/{source}', Migration.COPIED)
            self.written()
        with demo.step('Phase two, when you say so: the other backend serves'):
            demo.run(*migration, 'complete', source)
            demo.wait('the server has moved', lambda: self._moved(source))
            self.written()

    def _moved(self, source):
        """Say whether the shares are on the other backend, and the old server is gone."""
        there = [
            self.demo.has_settled(f'/shares/{share}', 'status', 'available') for share in self.shares.values()
        ]
        return all(there) and self.demo.call('GET', f'/share-servers/{source}', user=ADMIN)[0] == 404
