# SPDX-License-Identifier: Apache-2.0
"""A share moves to a backend that is no peer of its own, so no driver can do it: the host copies it while a client writes."""

from manila_lite.cmd.manage.watch import Progress, fraction, watch
from manila_lite.states import Migration
from manila_lite.tests import nfs_client
from manila_lite.tests.functional.linux.moving_writer import Writer
from scenarios import clients, places, settings
from scenarios.nfs import must, refused, split
from scenarios.service import Trouble
from scenarios.settings import ADMIN, V4

_HERE, _THERE = (f'quickstart@{name}' for name in settings.backends(settings.ANY))
_HOW = [
    word
    for name in ('writable', 'nondisruptive', 'preserve-metadata', 'preserve-snapshots')
    for word in (f'--{name}', 'False')
]
#: Seconds between files of the client, so that the machine has time to copy them.
_PAUSE = 0.05


class AnyToAny:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        self.share = self.path = ''
        self.digests, self.drawn = {}, []
        self.writer = None
        #: The network of the clients, by the backend: both have the same address, each in a network of its own.
        self.networks = {_HERE: None, _THERE: settings.other(demo.state)}
        self.home = _HERE
        clients.make(settings.other(demo.state))

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand."""
        self._make()
        self._look_around('Before')
        try:
            self._copy()
            self._switch()
        finally:
            self.writer.end()
        self._again()
        return f'ip netns exec {self.networks[_THERE]} mount -t nfs4 {self.path} /mnt'

    def _nfs(self, *words):
        """Run an NFS command as a client; return (success, output)."""
        return nfs_client.call(*split(self.path), *words, netns=self.networks[self.home])

    def _make(self):
        demo = self.demo
        with demo.step(f'A share on {_HERE}; a client fills it with {demo.mebibytes} MiB'):
            demo.show(*demo.as_operator, 'share', 'type', 'create', 'default', 'False')
            # Only administrators may choose a backend, so the other one takes no new shares for a moment.
            self._set('disable')
            share = demo.show(
                'share', 'create', 'NFS', str(1 + 2 * demo.mebibytes // 1024), '--name', 'docs', '--wait'
            )
            self.share = share['id']
            self._set('enable')
            demo.show('share', 'access', 'create', self.share, 'ip', V4, '--wait')
            self._find()
            must(self._nfs('fill', 'data', str(demo.mebibytes)))
            self.digests = self._digests()

    def _set(self, action):
        """Let the other backend take new shares, or not."""
        status, said = self.demo.api(
            'PUT', f'/services/{action}', {'host': _THERE, 'binary': 'manila-share'}, user=ADMIN
        )
        if status >= 400:
            raise Trouble(f'{action} {_THERE}: {status} {said}')

    def _find(self):
        """Look up where the share is."""
        self.home = self.demo.api('GET', f'/shares/{self.share}', user=ADMIN)[1]['share']['host'].partition(
            '#'
        )[0]
        self.path = self.demo.api('GET', f'/shares/{self.share}/export_locations')[1]['export_locations'][0][
            'path'
        ]

    def _digests(self):
        return {
            file: digest
            for digest, file in (line.split('  ', 1) for line in must(self._nfs('digest')).splitlines())
        }

    def _copy(self):
        demo = self.demo
        with demo.step(f'The host of {_THERE}, no peer, copies it, while the client writes'):
            self.writer = Writer(*split(self.path), self.networks[_HERE], _PAUSE)
            self.writer.goes_on()
            demo.run(*demo.as_operator, 'share', 'migration', 'start', self.share, f'{_THERE}#pool', *_HOW)
            if watch(self._progress, 0.2):
                raise Trouble(f'the copy did not become ready\n{demo.logs()}')
            self.writer.goes_on()
            demo.say(f'{V4} wrote {len(self.writer.acknowledged)} files so far')

    def _progress(self):
        """Return the progress of the copy."""
        status, progress = self.demo.api(
            'POST', f'/shares/{self.share}/action', {'migration_get_progress': None}, user=ADMIN
        )
        if status >= 400:
            raise Trouble(f'migration_get_progress: {status} {progress}')
        ended = {Migration.DATA_COPIED: True, Migration.ERROR: False, Migration.CANCELLED: False}.get(
            progress['task_state']
        )
        done, total = ((progress[name] or 0) >> 20 for name in ('bytes_done', 'bytes_total'))
        return Progress(
            '    copied ' if ended else '    copying',
            progress['total_progress'],
            fraction(done, total, 'MiB') if total else '',
            progress['seconds_left'],
            ended=ended,
        )

    def _switch(self):
        demo = self.demo
        with demo.step('A last pass with nobody writing, a comparison, and the switch'):
            demo.run(*demo.as_operator, 'share', 'migration', 'complete', self.share)
            demo.wait('the share has moved', self._has_moved, 120)
            self.writer.end()
            demo.say(
                f'{V4} had {len(self.writer.acknowledged)} files acknowledged; its mount ended with the source'
            )

    def _has_moved(self):
        state = self.demo.api('GET', f'/shares/{self.share}', user=ADMIN)[1]['share']['task_state']
        if state == Migration.ERROR:
            raise Trouble(f'the share has not moved\n{self.demo.logs()}')
        return state == Migration.SUCCESS

    def _again(self):
        demo = self.demo
        with demo.step('Nothing is lost: every file, and the access rule'):
            before, former = self.digests, split(self.path)
            self._find()
            demo.wait(
                'the rule is in force',
                lambda: (
                    demo.api('GET', f'/shares/{self.share}')[1]['share']['access_rules_status'] == 'active'
                ),
            )
            now = self._digests()
            lost = [name for name, digest in before.items() if now.get(name) != digest]
            lost += [name for name in self.writer.acknowledged if name not in now]
            if lost:
                raise Trouble(f'lost or changed: {", ".join(lost)}')
            demo.say(
                f'docs: every checksum as before; acknowledged files that are there: {len(self.writer.acknowledged)}'
            )
            must(self._nfs('write', 'more', 'at home again'))
            demo.say(f'exported as {self.path}, and written to again')
            demo.say(
                f'at {_HERE} it is gone: {refused(nfs_client.call(*former, "list", netns=self.networks[_HERE]))}'
            )
            self._look_around('After')

    def _look_around(self, when):
        inside = {_HERE: ['its own btrfs'], _THERE: ['its own btrfs']}
        inside[self.home] += ['share docs']
        self.drawn += [
            '',
            *places.draw(
                when, inside, self.home, (split(self.path)[0], 'loopback'), [f'✓ {V4} reads and writes']
            ),
        ]

    def picture(self):
        """Return lines that show the share's place before and after."""
        return self.drawn

    def delete(self):
        """Delete the share."""
        demo = self.demo
        with demo.step('Delete: nothing is left'):
            demo.run('share', 'delete', self.share, '--wait')
            demo.say(f'shares left: {len(demo.show("share", "list"))}')
