# SPDX-License-Identifier: Apache-2.0
"""A local user of the storage host without rights opens no file, folder or socket of the service; and files of tenants
are neither programs nor devices of the host.
"""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import testtools

from manila_lite.tests import process
from manila_lite.tests.contract.test_packaging import entry_points
from manila_lite.tests.functional.linux import base

_NOBODY = 65534
_SAFE = {'nosuid', 'nodev', 'noexec'}

#: Runs each command with --help, under an umask that lets all users read; prints the umask that it has then.
_COMMANDS = """
import contextlib, importlib, io, json, os, sys
masks = {}
commands = [(name, *target.split(':')) for name, target in json.loads(sys.argv[1])]
mains = {name: getattr(importlib.import_module(module), main) for name, module, main in commands}
for name, main in mains.items():
    read, write = os.pipe()
    if not os.fork():
        os.umask(0o022)
        sys.argv = [name, '--help']
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
            main()
        os.write(write, b'%o' % os.umask(0))
        os._exit(0)
    os.close(write)
    masks[name] = os.read(read, 9).decode()
    os.wait()
print(json.dumps(masks))
"""

#: Tries to open and to connect to all paths of standard input; prints the successful ones.
_STRANGER = """
import json, os, socket, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
worked = []
for path in json.load(sys.stdin):
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, flags | os.O_NONBLOCK))
            worked.append(path)
        except OSError:
            pass
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(1)
        try:
            one.connect(path)
            worked.append(path)
        except OSError:
            pass
print(json.dumps(worked))
"""

#: A user who got into a share in spite of it all: tries a program and a device there, and prints the result.
_INSIDE = """
import os, subprocess, sys
inside = os.open(sys.argv[1], os.O_PATH)
os.setgroups([]), os.setgid(65534), os.setuid(65534)
os.fchdir(inside)
for what in (lambda: subprocess.run(['./id', '-u'], check=True), lambda: os.open('null', os.O_RDONLY)):
    try:
        what()
        print('worked')
    except PermissionError:
        print('refused')
"""

#: Makes folders over NFS, with given modes.
_CLIENT = """
import sys
from manila_lite.siblings import libnfs
mount = libnfs.Mount(*sys.argv[1:])
mount.call('nfs_mkdir2', b'/theirs', 0o755)
mount.call('nfs_mkdir2', b'/all', 0o777)
"""


def _run(program, *words, given=''):
    """Run one of the programs above; return its output."""
    done = subprocess.run(
        [sys.executable, '-c', program, *words], input=given, capture_output=True, text=True
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


class Commands(testtools.TestCase):
    """All commands write files for their user alone, whichever program starts them."""

    def test_every_command_sets_a_closed_umask(self):
        commands = [(name, target) for group, name, target in entry_points() if group == 'console_scripts']
        self.assertEqual(
            {name: '77' for name, _ in commands}, json.loads(_run(_COMMANDS, json.dumps(commands)))
        )


_CONFIG = """[DEFAULT]
state_path = {state}/lib
enabled_share_protocols = NFS,CIFS
log_file = {state}/log
[alpha]
driver = linux
linux_pool_path = {state}/pool.img
linux_pool_size_gb = 2
linux_graceless = true
linux_netns = {netns}
linux_export_ips = {address}
linux_cifs_users = {state}/users
"""


@unittest.skipIf(base.missing(), f'real storage needs {base.missing()}')
class LocalUser(testtools.TestCase):
    """The service on real storage, in a folder that anybody may enter, with files of an earlier release that all could read."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.state = Path(tempfile.mkdtemp(prefix='ml-local-'))
        cls.addClassCleanup(shutil.rmtree, cls.state, ignore_errors=True)
        cls.state.chmod(0o755)
        (cls.state / 'lib').mkdir(mode=0o755)
        for name in ('log', 'lib/manila_lite.sqlite'):
            (cls.state / name).touch(mode=0o644)
        (cls.state / 'users').touch(mode=0o600)
        cls.fabric = base.Fabric(nas=1, one=11)
        cls.addClassCleanup(cls.fabric.down)
        cls.fabric.up()
        cls.lite = process.Lite(
            _CONFIG.format(state=cls.state, netns=cls.fabric.name('nas'), address=cls.fabric.v4('nas'))
        )
        cls.addClassCleanup(lambda: base.power_off(cls.state, ('pool.img',)))
        cls.lite.setUp()
        cls.addClassCleanup(cls.lite.cleanUp)
        cls.old_umask = os.umask(0o022)
        cls.addClassCleanup(os.umask, cls.old_umask)
        cls.lite.start()
        cls.lite.ok('POST', '/types', process.DEFAULT_TYPE)
        process.until(
            lambda: cls.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'the pool is known', cls.lite.tail
        )
        made = [cls._share(proto) for proto in ('NFS', 'CIFS')]
        cls.share, cls.other = (cls._name(share) for share in made)
        rule = cls.lite.ok(
            'POST',
            f'/shares/{made[0]}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': cls.fabric.v4('one'), 'access_level': 'rw'}},
        )['access']['id']
        cls.lite.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        cls.exports = cls.state / 'lib' / 'alpha' / 'exports'

    @classmethod
    def _share(cls, proto):
        share = cls.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': proto}})['share']['id']
        cls.lite.wait(f'/shares/{share}', 'share', 'available')
        return share

    @classmethod
    def _name(cls, share):
        """Return the backend's name of the share."""
        path = cls.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations'][0]['path']
        return path.replace('\\', '/').rpartition('/')[2]

    def _own(self):
        """Return all paths of the service, except data of tenants."""
        paths = [self.state / name for name in ('lib', 'pool.img', 'users')]
        for folder, folders, files in os.walk(self.state / 'lib'):
            paths += [Path(folder, name) for name in (*folders, *files)]
            if Path(folder).name in ('exports', 'shares'):
                folders.clear()
        return [*paths, *Path('/run').glob('manila_lite-*')]

    def test_local_user_cannot_open_files_of_the_service(self):
        own = [str(path) for path in self._own()]
        for suffix in (
            'manila_lite.sqlite',
            'lock',
            'bus',
            'pool.img',
            self.share,
            self.other,
            'ganesha.conf',
            'smb.conf',
        ):
            self.assertTrue(any(path.endswith(suffix) for path in own), f'{suffix} is not in {own}')
        self.assertTrue([path for path in own if Path(path).is_socket()])  # some files are gone by now
        self.assertEqual('[]\n', _run(_STRANGER, given=json.dumps(own)))

    def test_attacks_work_without_the_protection(self):
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(self.state / 'anybodys'))
            (self.state / 'anybodys').chmod(0o666)
            one.listen()
            self.assertIn('anybodys', _run(_STRANGER, given=json.dumps([str(self.state / 'anybodys')])))

    def test_files_and_folders_are_closed_to_others(self):
        """The files are closed by themselves, not only the way to them."""
        for name in ('lib', 'lib/alpha'):
            self.assertEqual(0o700, stat.S_IMODE((self.state / name).stat().st_mode), name)
        for name in (
            'pool.img',
            'lib/manila_lite.sqlite',
            'lib/manila_lite.sqlite-wal',
            'lib/manila_lite.sqlite-shm',
            'lib/lock',
            'lib/alpha/ganesha.conf',
            'lib/alpha/cifs/smb.conf',
            'lib/alpha/ganesha.json',
        ):
            self.assertEqual(0o600, stat.S_IMODE((self.state / name).stat().st_mode), name)
        self.assertEqual(0o640, stat.S_IMODE((self.state / 'log').stat().st_mode))
        said = (self.state / 'log').read_text()
        self.assertIn(
            f'{self.state}/lib could be opened by other users of this machine (mode 0755); it has mode 0700 now',
            said,
        )

    def test_mounts_are_closed_to_programs_and_devices(self):
        mounts = {}
        for line in Path('/proc/self/mountinfo').read_text().splitlines():
            words = line.split(' ')
            if words[4].startswith(f'{self.state}/'):
                mounts[Path(words[4]).name] = set(words[5].split(','))
        self.assertEqual({'pool', self.share, self.other}, set(mounts))
        for name, options in mounts.items():
            self.assertEqual(_SAFE, _SAFE & options, name)

    def test_programs_and_devices_in_shares_are_refused(self):
        inside = self.exports / self.share
        shutil.copy('/usr/bin/id', inside / 'id')
        (inside / 'id').chmod(0o4755)
        os.mknod(inside / 'null', 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (inside / 'null').chmod(0o666)
        for place in (inside, self.state / 'lib' / 'alpha' / 'pool' / 'shares' / self.share):
            self.assertEqual('refused\nrefused\n', _run(_INSIDE, str(place)))

    def test_clients_still_get_the_modes_they_ask_for(self):
        place = f'{self.fabric.v4("nas")} /shares/{self.share}'.split()
        base.ip('netns', 'exec', self.fabric.name('one'), sys.executable, '-c', _CLIENT, *place)
        for name, mode in (('theirs', 0o755), ('all', 0o777), ('', 0o777)):
            self.assertEqual(mode, stat.S_IMODE((self.exports / self.share / name).stat().st_mode), name)
