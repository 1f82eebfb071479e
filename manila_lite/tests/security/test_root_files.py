# SPDX-License-Identifier: Apache-2.0
"""Root trusts only root: a process of root does not start if another user could replace a file that it opens."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import testtools

from manila_lite.tests import forks, waiting

_STRANGER = 65534
_CONFIG = """[DEFAULT]
state_path = {root}/lib
log_dir = {root}/log
enabled_share_backends = alpha
enabled_share_protocols = NFS,CIFS
mount_tmp_location = {root}/mounts
[api]
http_basic_auth_user_file = {root}/passwords
[database]
connection = sqlite:///{root}/database/sqlite
[oslo_policy]
policy_file = {root}/policy.yaml
policy_dirs = {root}/policy.d
[oslo_reports]
log_dir = {root}/reports
[secrets]
key_file = {root}/keys/secrets.key
[alpha]
driver = linux
linux_pool_path = {root}/pool.img
linux_pool_size_gb = 1
linux_cifs_users = {root}/users
"""
#: What only an API reads.
_POLICIES = ('policy.d', 'policy.yaml')
_FOLDERS = (
    'lib',
    'lib/alpha',
    'lib/alpha/guard-1',
    'log',
    'mounts',
    'database',
    'policy.d',
    'reports',
    'keys',
    'more',
)
_FILES = (
    'conf',
    'more/one.conf',
    'pool.img',
    'passwords',
    'policy.yaml',
    'users',
    'keys/secrets.key',
    'log/manila-share.log',
    'database/sqlite',
    'lib/alpha/guard-1/libfsalvfs.so',
    'lib/alpha/ganesha.conf',
)


class Starts(testtools.TestCase):
    """Processes of root with a file, or a directory above one, of another user. Nothing is read, written or made there."""

    def setUp(self):
        super().setUp()
        self.root = Path(tempfile.mkdtemp(prefix='ml-root-'))
        self.addCleanup(shutil.rmtree, self.root)
        self.root.chmod(0o755)
        for name in _FOLDERS:
            (self.root / name).mkdir()
        for name in _FILES:
            (self.root / name).touch(mode=0o600)
        (self.root / 'conf').write_text(_CONFIG.format(root=self.root))

    def start(self, command='share'):
        """Run a command until its end; return what it said."""
        with tempfile.TemporaryFile('w+') as out:
            process = forks.start(
                f'manila_lite.cmd.{command}:main',
                f'--config-file={self.root}/conf',
                f'--config-dir={self.root}/more',
                stdout=out,
                stderr=out,
            )
            try:
                status = process.wait(timeout=waiting.LIMIT)
            finally:
                process.kill()
            out.seek(0)
            return status, out.read()

    def refused(self, place, *words, command='share'):
        status, said = self.start(command)
        self.assertEqual(1, status, f'{place}: {said}')
        self.assertEqual(1, said.count('\n'), said)
        for word in (str(place), *words, 'root uses nothing that another user can change'):
            self.assertIn(word, said)

    def test_each_file_and_directory_is_roots(self):
        for name in (*_FOLDERS, *_FILES):
            place = self.root / name
            os.chown(place, _STRANGER, _STRANGER)
            self.refused(
                place, 'belongs to the user nobody', command='all_in_one' if name in _POLICIES else 'share'
            )
            os.chown(place, 0, 0)
        said = self.start()[1]
        self.assertNotIn('another user', said)  # of the tables that are missing

    def test_all_the_way_up(self):
        os.chown(self.root, _STRANGER, _STRANGER)
        self.refused(self.root, 'belongs to the user nobody')
        self.refused(self.root, 'belongs to the user nobody', command='all_in_one')

    def test_nobody_else_can_write(self):
        for name, mode in (
            ('lib', 0o777),
            ('lib', 0o1777),
            ('log', 0o770),
            ('conf', 0o620),
            ('users', 0o602),
        ):
            place = self.root / name
            before = place.stat().st_mode & 0o7777
            os.chown(place, 0, _STRANGER)
            place.chmod(mode)
            self.refused(place, f'has mode {mode:04o}')
            place.chmod(before)

    def test_a_link_leads_into_no_directory_of_another_user(self):
        (self.root / 'theirs').mkdir()
        os.chown(self.root / 'theirs', _STRANGER, _STRANGER)
        (self.root / 'lib' / 'alpha' / 'guard-1' / 'libfsalvfs.so').unlink()
        shutil.rmtree(self.root / 'lib')
        (self.root / 'lib').symlink_to('theirs/../theirs')
        self.refused(self.root / 'theirs', 'belongs to the user nobody')

    def test_log_is_opened_through_no_link(self):
        target = self.root / 'target'
        target.touch()
        target.chmod(0o666)
        os.chown(target, 0, 0)
        target.chmod(0o644)
        log = self.root / 'log' / 'manila-share.log'
        log.unlink()
        log.symlink_to(target)
        status, said = self.start()
        self.assertEqual(1, status)
        self.assertIn('it is a symbolic link', said)
        self.assertEqual((0o644, 0), (target.stat().st_mode & 0o777, target.stat().st_size))

    def test_a_user_who_is_not_root_may_use_what_belongs_to_him(self):
        place = self.root / 'lib'
        os.chown(place, _STRANGER, _STRANGER)
        program = (
            'import os; from pathlib import Path; from manila_lite.host import ownership; os.setuid(65534); '
            f'ownership.check(Path({str(place)!r}), "state_path"); print("allowed")'
        )
        done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
        self.assertEqual(('allowed\n', ''), (done.stdout, done.stderr))
