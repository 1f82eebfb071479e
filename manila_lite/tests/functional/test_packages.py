# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: built, looked into, and installed, used, upgraded and purged in a small Debian.

What only systemd can show is tried by hand: tools/package --test.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from importlib import metadata
from pathlib import Path

import testtools

from manila_lite.tests import process
from manila_lite.tests.services import small_debian

ROOT = Path(__file__).resolve().parents[3]
UNITS = ROOT / 'etc/manila_lite/systemd'
CONF = '/etc/manila_lite/manila_lite.conf'
STATE = '/var/lib/manila_lite'
CONFFILES = {'/etc/logrotate.d/manila_lite', '/etc/manila_lite/compute.conf', '/etc/manila_lite/dataproc.conf', CONF}
_SETTINGS = """
[DEFAULT]
state_path = /var/lib/manila_lite
auth_strategy = noauth
default_share_type = default
enabled_share_backends = alpha
osapi_share_listen_port = {port}
[alpha]
driver = dummy
"""
#: Prints the completions of a line of words, the last of which is completed.
_COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_manila_manage
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Installed(process.Lite):
    """``manila-lite`` of the packages, in a small Debian, as the user of the services."""

    def __init__(self, debian):
        super().__init__()
        self.debian = debian

    def spawn(self):
        """Start the process, and do not wait for it."""
        self.debian.path(CONF).write_text(_SETTINGS.format(port=self.port))
        with self.log.open('ab') as log:
            self.process = subprocess.Popen(
                self.debian.words('runuser', '-u', 'manila_lite', '--', 'manila-lite', '--config-file', CONF, hidden=False),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)


class Packages(testtools.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lacks = [name for name in ('dpkg-buildpackage', 'dh', 'lintian') if not shutil.which(name)]
        if lacks := ', '.join([*lacks, *filter(None, [small_debian.missing()])]):
            raise unittest.SkipTest(f'packages need {lacks}; tools/setup-env --tests puts it in place')
        cls.folder = Path(tempfile.mkdtemp(prefix='ml-packages-'))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        done = subprocess.run([ROOT / 'tools/package', '--quick', '--venv', sys.prefix, '--out', cls.folder], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=1200)
        if done.returncode:
            raise AssertionError(f'tools/package: exit status {done.returncode}\n{done.stderr}')
        cls.debs = {path.name.partition('_')[0]: path for path in map(Path, done.stdout.splitlines())}
        cls.entries = {name: cls.read(deb) for name, deb in cls.debs.items()}

    @staticmethod
    def read(deb):
        """Return the files of a package by path."""
        with (subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as packed,
              tarfile.open(fileobj=packed.stdout, mode='r|') as archive):
            return {entry.name.removeprefix('.'): entry for entry in archive}

    def owners(self, path):
        """Return the packages that have a file."""
        return [name for name, entries in self.entries.items() if path in entries]

    def test_each_command_and_unit_is_in_one_package_with_its_page(self):
        commands = [entry.name for entry in metadata.entry_points(group='console_scripts')
                    if entry.module.startswith('manila_lite.')]
        self.assertLess(10, len(commands))
        for name in commands:
            owner, = self.owners(f'/usr/bin/{name}')
            self.assertEqual([owner], self.owners(f'/usr/share/man/man8/{name}.8.gz'))
        for unit in UNITS.glob('*.service'):
            self.assertEqual(self.owners(f'/usr/bin/{unit.stem}'), self.owners(f'/lib/systemd/system/{unit.name}'))

    def test_files_belong_to_root_and_secrets_are_for_the_group_only(self):
        conffiles = set()
        for name, entries in self.entries.items():
            for path, entry in entries.items():
                self.assertEqual((0, 0), (entry.uid, entry.gid), path)
                self.assertFalse(entry.mode & 0o022 and not entry.issym(), path)
                self.assertFalse(entry.mode & 0o6000, path)
            conffiles |= {*subprocess.run(['dpkg-deb', '--info', self.debs[name], 'conffiles'], text=True,
                                          capture_output=True).stdout.split()}
        self.assertEqual(CONFFILES, conffiles)
        common = self.entries['manila-lite-common']
        self.assertEqual((0o640, 0o750, 0o700, 0o750), tuple(
            common[path].mode for path in (CONF, '/etc/manila_lite/', STATE + '/', '/var/log/manila_lite/')
            for path in [path.rstrip('/')]))

    def test_environment_has_all_modules_and_data_but_no_tests(self):
        inside = re.compile(r'/usr/lib/manila-lite/lib/python3\.\d+/site-packages/(.*)')
        common = self.entries['manila-lite-common']
        found = {match[1] for path, entry in common.items() if entry.isfile() and (match := inside.fullmatch(path))}
        files = (path.relative_to(ROOT) for path in (ROOT / 'manila_lite').rglob('*') if path.is_file())
        wanted = {str(path) for path in files if not {'tests', '__pycache__'} & {*path.parts}}
        self.assertLess(300, len(wanted))
        self.assertEqual(wanted, {name for name in found if name.startswith('manila_lite/')})
        self.assertEqual([], [name for name in found if '/tests/' in name or name.endswith('.pyc')])

    def test_completion_knows_commands_options_and_values(self):
        deb = self.debs['manila-lite-common']
        subprocess.run(['dpkg-deb', '--extract', deb, self.folder / 'common'], check=True)
        script = self.folder / 'common/usr/share/bash-completion/completions/manila-manage'

        def complete(*words):
            done = subprocess.run(['bash', '-c', _COMPLETE, 'complete', script, 'manila-manage', *words], capture_output=True,
                                  text=True, check=True)
            return done.stdout.split()
        self.assertEqual(['db', 'doctor'], complete('d'))
        self.assertEqual(['sync'], complete('db', 'sy'))
        self.assertEqual(['sync'], complete('--config-file', 'doctor', 'db', 'sy'))
        self.assertEqual(['table', 'json', 'yaml'], complete('doctor', '--format', ''))
        self.assertEqual(['--older-than'], complete('doctor', '--fix', '--ol'))
        self.assertEqual(['list', 'cleanup', '--help'], complete('service', ''))

    def test_life_of_an_installation(self):
        debian = small_debian.SmallDebian(self.folder / 'root')
        self.install(debian)
        self.use(debian)
        self.upgrade(debian)
        self.purge(debian)

    def dpkg(self, debian, folder, *words):
        """Install the packages of a folder."""
        shutil.copytree(folder, debian.path('/debs'))
        out = debian.run('sh', '-c', f'dpkg --force-unsafe-io {" ".join(words)} --install /debs/*.deb')
        shutil.rmtree(debian.path('/debs'))
        return out

    def install(self, debian):
        old = self.folder / 'old'
        old.mkdir()
        for deb in self.debs.values():
            os.link(deb, old / deb.name)
        self.assertIn('Nothing was started, and no database was made.', self.dpkg(debian, old))
        for path, wanted in ((STATE, 'manila_lite:manila_lite:700'), ('/var/log/manila_lite', 'manila_lite:manila_lite:750'),
                             ('/etc/manila_lite', 'root:manila_lite:750'), (CONF, 'root:manila_lite:640'),
                             ('/etc/manila_lite/compute.conf', 'root:manila_lite:640')):
            self.assertEqual(wanted, debian.mode(path), path)
        self.assertEqual([], [*debian.path(STATE).iterdir()])
        enabled = {path.name for path in debian.path('/etc/systemd').rglob('*.service')}
        self.assertEqual(set(), enabled & {unit.name for unit in UNITS.iterdir()})

    def use(self, debian):
        """The file is rewritten by an administrator, and the service creates a share."""
        lite = self.useFixture(Installed(debian))
        lite.start(patience=300)
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        share = lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        lite.wait(f'/shares/{share}', 'share', 'available', patience=120)
        lite.kill()
        self.assertEqual('manila_lite:manila_lite:600', debian.mode(f'{STATE}/secrets.key'))
        told = debian.run('runuser', '-u', 'manila_lite', '--', 'manila-manage', '--version').strip()
        self.assertIn(told, self.debs['manila-lite'].name.replace('~', '.'))

    def upgrade(self, debian):
        """A changed file stays as it is, with its owner and mode, and nothing happens to the database."""
        debian.path('/etc/manila_lite/compute.conf').chmod(0o600)       # the administrator's choice
        before = {path.name: path.stat().st_mtime_ns for path in debian.path(STATE).iterdir()}
        settings = debian.path(CONF).read_text()
        new = self.folder / 'new'
        new.mkdir()
        subprocess.run([sys.executable, ROOT / 'tools/packaging/next_release.py', new, *self.debs.values()], check=True)
        out = self.dpkg(debian, new, '--force-confold')
        self.assertIn('runuser -u manila_lite -- manila-manage db sync', out)
        self.assertEqual(settings, debian.path(CONF).read_text())
        self.assertIn('A line of the next release', debian.path(f'{CONF}.dpkg-dist').read_text())
        self.assertIn('A line of the next release', debian.path('/etc/manila_lite/dataproc.conf').read_text())
        for path, wanted in ((CONF, 'root:manila_lite:640'), ('/etc/manila_lite/compute.conf', 'root:manila_lite:600'),
                             (STATE, 'manila_lite:manila_lite:700')):
            self.assertEqual(wanted, debian.mode(path), path)
        self.assertEqual(before, {path.name: path.stat().st_mtime_ns for path in debian.path(STATE).iterdir()})

    def purge(self, debian):
        """What administrator and services made is kept, and named."""
        debian.path('/etc/manila_lite/htpasswd').write_text('of the administrator')
        out = debian.run('dpkg', '--purge', *self.debs)
        for path in (STATE, '/etc/manila_lite'):
            self.assertIn(f'{path} is not empty, and is kept', out)
        self.assertEqual(['htpasswd'], [path.name for path in debian.path('/etc/manila_lite').iterdir()])
        self.assertTrue(debian.path(f'{STATE}/secrets.key').exists())
        left = debian.run('find', '/usr', '/lib/systemd', '/var/log', '/etc', '-name', '*manila*')
        self.assertEqual(['/etc/manila_lite'], left.split())
