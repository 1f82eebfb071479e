# SPDX-License-Identifier: Apache-2.0
"""A share moves to a backend that is no peer of its own, so no driver can do it: the host copies it while a client writes."""

from manila_lite.states import Migration
from manila_lite.tests import nfs_client
from scenarios import clients, settings
from scenarios.clients import must, refused, split
from scenarios.kept import Moved
from scenarios.settings import ADMIN, V4

_HOW = [
    word
    for name in ('writable', 'nondisruptive', 'preserve-metadata', 'preserve-snapshots')
    for word in (f'--{name}', 'False')
]
#: Seconds between files of the client, so that the machine has time to copy them.
_PAUSE = 0.05


class AnyToAny(Moved):
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        super().__init__(demo)
        clients.make(settings.other(demo.state))

    @property
    def netns(self):
        """The network of the client: on both backends it has the same address, each in a network of its own."""
        return None if self.home == self.hosts[0] else settings.other(self.demo.state)

    def nfs(self, name, *words):
        """Let the client run an action on a share; return (worked, output)."""
        return nfs_client.call(*split(self.paths[name]), *words, netns=self.netns)

    def make(self):
        """Make the share, and have a client fill it."""
        demo = self.demo
        with demo.step(f'A share on {self.hosts[0]}; a client fills it with {demo.mebibytes} MiB'):
            demo.show(*demo.as_operator, 'share', 'type', 'create', 'default', 'False')
            # Only administrators may choose a backend, so the other one takes no new shares for a moment.
            self._set('disable')
            share = demo.show('share', 'create', 'NFS', str(self.size), '--name', 'docs', '--wait')['id']
            self.shares['docs'] = share
            self._set('enable')
            demo.show('share', 'access', 'create', share, 'ip', V4, '--wait')
            self.find()
            must(self.nfs('docs', 'fill', 'data', demo.mebibytes))
            self.note_digests()
        self._look_around('Before')

    def _set(self, action):
        """Let the other backend take new shares, or not."""
        body = {'host': self.hosts[1], 'binary': 'manila-share'}
        self.demo.get(f'/services/{action}', 'PUT', body, user=ADMIN)

    def move(self):
        """Have the share copied, then switch to the copy."""
        demo, share, to = self.demo, self.shares['docs'], self.hosts[1]
        migration = *demo.as_operator, 'share', 'migration'
        with demo.step(f'The host of {to}, no peer, copies it, while the client writes'):
            self.write_on(_PAUSE)
            demo.run(*migration, 'start', share, f'{to}#pool', *_HOW)
            demo.watch_copy(f'/shares/{share}', Migration.DATA_COPIED)
            self.written()
        with demo.step('A last pass with nobody writing, a comparison, and the switch'):
            demo.run(*migration, 'complete', share)
            path = f'/shares/{share}'
            demo.wait('the share has moved', lambda: demo.has_settled(path, 'task_state', Migration.SUCCESS))
            self.writer.end()
            demo.say(
                f'{V4} had {len(self.writer.acknowledged)} files acknowledged; its mount ended with the source'
            )

    def again(self):
        """Check that nothing is lost."""
        demo = self.demo
        with demo.step('Nothing is lost: every file, and the access rule'):
            former, there = split(self.paths['docs']), self.netns
            self.find()
            path = f'/shares/{self.shares["docs"]}'
            demo.wait('the rule is in force', lambda: demo.has_settled(path, 'access_rules_status', 'active'))
            self.compare()
            must(self.nfs('docs', 'write', 'more', 'at home again'))
            demo.say(f'exported as {self.paths["docs"]}, and written to again')
            gone = refused(nfs_client.call(*former, 'list', netns=there))
            demo.say(f'at {self.hosts[0]} it is gone: {gone}')
            self._look_around('After')

    def _look_around(self, when):
        self.draw(
            when, ['its own btrfs', 'share docs'], 'loopback', [f'✓ {V4} reads and writes'], ['its own btrfs']
        )

    def delete(self):
        """Delete the share."""
        demo = self.demo
        with demo.step('Delete: nothing is left'):
            demo.delete_last(self.shares['docs'])
