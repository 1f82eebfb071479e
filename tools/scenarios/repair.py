# SPDX-License-Identifier: Apache-2.0
"""A share that is damaged beneath a running service, and repaired at an administrator's request; then a changed option."""

import os
import shutil
import signal
import subprocess

import psutil

from manila_lite.host import mounts
from manila_lite.tests.nfs_client import Session
from manila_lite.tests.nfs_client import call as nfs
from manila_lite.tests.nfs_writer import Writer
from scenarios import clients, settings
from scenarios.clients import must, split
from scenarios.one_share import OneShare
from scenarios.service import Trouble
from scenarios.settings import V4, V6

HOST = 'quickstart@storage'
#: The address in the export locations after the change.
NEW = '127.0.0.2'
#: A file that is in the share from here on.
_FILE, _TEXT = 'hello.txt', 'hello from manila_lite'


class Repair(OneShare):
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        super().__init__(demo)
        self.beside = ''
        clients.make(settings.other(demo.state))

    def through(self):
        """Run all steps but the deletion. Return the command to mount the share by hand."""
        self._share()
        self._access()
        self._break()
        self._ensure()
        self._change()
        return f'mount -t nfs4 {self.path} /mnt'

    def delete(self):
        """Delete the shares."""
        self.demo.delete(f'/shares/{self.beside}')
        super().delete()

    def _change(self):
        """Change the addresses of one backend, while a client writes to the other without a pause."""
        demo = self.demo
        with demo.step(
            'A changed option is applied, while a client of another backend writes without a pause'
        ):
            writer = self._writer()
            try:
                demo.say(
                    f'$ sed -i "s/^linux_export_ips = .*/linux_export_ips = {NEW}/"    # in the section [storage]'
                )
                text = demo.config.read_text()
                demo.config.write_text(
                    text.replace(f'linux_export_ips = {V4},{V6}', f'linux_export_ips = {NEW}')
                )
                writer.goes_on()
                self._ask('new values in use: linux_export_ips')
                writer.goes_on()
            finally:
                failed = writer.end()
            if failed:
                raise Trouble(f'the client of the other backend was disturbed: {failed}')
            demo.say(f'the client of the other backend wrote {len(writer.written)} files, and none failed')
            paths = [place['Path'] for place in demo.show('share', 'export', 'location', 'list', self.share)]
            if [split(path)[0] for path in paths] != [NEW]:
                raise Trouble(f'the share is exported as {paths}')
            self.path = paths[0]
            demo.say(
                f'{V4} reads {_FILE} at the new address: {must(nfs(NEW, split(self.path)[1], "read", _FILE))!r}'
            )

    def _writer(self):
        """Create a share on the other backend. Return a client that writes to it."""
        demo = self.demo
        demo.share_type(name='other', share_backend_name='other')
        self.beside = demo.share(share_type='other')
        demo.grant(self.beside, V4)
        return Writer(Session(*split(demo.paths(self.beside)[0]), netns=settings.other(demo.state)))

    def _break(self):
        demo = self.demo
        with demo.step('Broken behind its back: the NFS server, the mount, the limit'):
            home = demo.state / 'lib' / 'storage'
            (place,) = [place for place in (home / 'exports').iterdir() if mounts.is_mounted(place)]
            daemon = next(process for process in psutil.process_iter() if self._is_server(process, home))
            demo.say(f'$ kill -9 {daemon.pid}    # NFS-Ganesha')
            os.kill(daemon.pid, signal.SIGKILL)
            demo.wait('NFS-Ganesha has ended', lambda: self._has_ended(daemon))
            self._by_hand('umount', str(place))
            self._by_hand('btrfs', 'qgroup', 'limit', '5G', str(home / 'pool' / 'shares' / place.name))
            demo.say(
                'The share manager starts a dead NFS server anew by itself, once a minute. Here it looks once in ten'
            )
            demo.say('minutes only, so that it is seen who repairs what.')
            worked, said = nfs(V4, self.remote, 'read', _FILE)
            if worked:
                raise Trouble(f'{_FILE} can be read all the same: {said!r}')
            demo.say(f'{V4} cannot read {_FILE}: {said}')

    def _is_server(self, process, home):
        """Say whether the process is the NFS server, alive."""
        try:
            words = process.cmdline()
            return words[:1] == ['ganesha.nfsd'] and any(str(home) in word for word in words)
        except psutil.Error:
            return False

    def _has_ended(self, process):
        """Say whether no thread of the process is left. Until then its files are open, and nothing can be unmounted."""
        try:
            return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() == 1
        except psutil.NoSuchProcess:
            return True

    def _by_hand(self, *words):
        """Show and run a command, as a mistake of an administrator."""
        self.demo.say(f'$ {" ".join(words)}')
        path = shutil.which(words[0], path=f'{os.environ["PATH"]}:/usr/sbin:/sbin')
        subprocess.run([path, *words[1:]], check=True, capture_output=True, timeout=60)

    def _ask(self, *wanted, never='\0'):
        """Let the service ensure its shares, and wait for the end. Its report must have these words, and not another."""
        demo = self.demo
        newer = *demo.as_operator, '--os-share-api-version', '2.86'
        demo.run(*newer, 'share', 'service', 'ensure', 'shares', HOST)
        said = demo.manage('ensure', 'watch', HOST, '--every', '0.2')
        if never in said or not all(word in said for word in wanted):
            raise Trouble(f'expected {wanted or f"no {never}"}, and it says: {said}')

    def _ensure(self):
        demo = self.demo
        with demo.step('Ensure: what is amiss is found, repaired and reported'):
            self._ask('NFS server did not run', 'was not mounted', 'was 5 GiB; it is 1 GiB')
            text = must(nfs(V4, self.remote, 'read', _FILE))
            if text != _TEXT:
                raise Trouble(f'{_FILE} reads {text!r}')
            demo.say(f'{V4} reads {_FILE} again: {text!r}')
        with demo.step('Ensure once more: nothing is amiss, and no client notices'):
            client = Session(V4, self.remote)
            try:
                must(client.call('write', 'work.txt', 'before'))
                self._ask(never='repaired')
                must(client.call('write', 'work.txt', 'after'))
                demo.say(f'a client that stayed mounted reads {must(client.call("read", "work.txt"))!r}')
            finally:
                client.close()
