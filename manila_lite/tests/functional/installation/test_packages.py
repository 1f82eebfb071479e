# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: built, looked into, and installed, used, upgraded and purged on a fresh Debian, which reboots."""

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

from manila_lite.tests import packages, waiting
from manila_lite.tests.services import groups
from manila_lite.tests.services.daemon import Missing
from manila_lite.tests.services.machine import ROOT, Disk, Machine

#: The disk for shares, as tests/packages/in_guest.py knows it.
DISK = '/dev/disk/by-id/pool'
UNITS = ROOT / 'etc/manila_lite/systemd'
CONF = '/etc/manila_lite/manila_lite.conf'
STATE = '/var/lib/manila_lite'
EXAMPLES = '/usr/share/doc/manila-lite-common/examples'
CONFFILES = {
    '/etc/logrotate.d/manila_lite',
    '/etc/manila_lite/compute.conf',
    '/etc/manila_lite/dataproc.conf',
    CONF,
}
#: Prints the completions of a line of words, the last of which is completed.
_COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_manila_manage
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Packages(testtools.TestCase):
    """Packages, built from the environment at hand."""

    #: One installs them, which takes minutes beside other tests.
    LIMITS = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        groups.want('packages')
        if lacks := ', '.join(
            name for name in ('dpkg-buildpackage', 'dh', 'lintian') if not shutil.which(name)
        ):
            raise unittest.SkipTest(f'packages need {lacks}; tools/setup-env --packages puts it in place')
        cls.folder = Path(tempfile.mkdtemp(prefix='ml-packages-'))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        done = subprocess.run(
            [ROOT / 'tools/package', '--quick', '--venv', sys.prefix, '--out', cls.folder],
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        if done.returncode:
            raise AssertionError(f'tools/package: exit status {done.returncode}\n{done.stderr}')
        cls.debs = {path.name.partition('_')[0]: path for path in map(Path, done.stdout.splitlines())}
        cls.entries = {name: cls.read(deb) for name, deb in cls.debs.items()}

    @staticmethod
    def read(deb):
        """Return the files of a package by path."""
        with (
            subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as packed,
            tarfile.open(fileobj=packed.stdout, mode='r|') as archive,
        ):
            return {entry.name.removeprefix('.'): entry for entry in archive}

    def owners(self, path):
        """Return the packages that have a file."""
        return [name for name, entries in self.entries.items() if path in entries]

    def test_each_command_and_unit_is_in_one_package_with_its_page(self):
        commands = [
            entry.name
            for entry in metadata.entry_points(group='console_scripts')
            if entry.module.startswith('manila_lite.')
        ]
        self.assertLess(10, len(commands))
        for name in commands:
            (owner,) = self.owners(f'/usr/bin/{name}')
            self.assertEqual([owner], self.owners(f'/usr/share/man/man8/{name}.8.gz'))
        for unit in UNITS.iterdir():
            self.assertEqual(
                self.owners(f'/usr/bin/{unit.stem}'), self.owners(f'/lib/systemd/system/{unit.name}')
            )

    def test_files_belong_to_root_and_secrets_are_for_the_group_only(self):
        conffiles = set()
        for name, entries in self.entries.items():
            for path, entry in entries.items():
                self.assertEqual((0, 0), (entry.uid, entry.gid), path)
                self.assertFalse(entry.mode & 0o022 and not entry.issym(), path)
                self.assertFalse(entry.mode & 0o6000, path)
            conffiles |= {
                *subprocess.run(
                    ['dpkg-deb', '--info', self.debs[name], 'conffiles'], text=True, capture_output=True
                ).stdout.split()
            }
        self.assertEqual(CONFFILES, conffiles)
        common = self.entries['manila-lite-common']
        self.assertEqual(
            (0o640, 0o750, 0o700, 0o750),
            tuple(
                common[path].mode
                for path in (CONF, '/etc/manila_lite/', STATE + '/', '/var/log/manila_lite/')
                for path in [path.rstrip('/')]
            ),
        )

    def test_examples_that_pages_name_are_there(self):
        common = self.entries['manila-lite-common']
        pages = ''.join(page.read_text() for page in (ROOT / 'doc/source/admin').glob('*.rst'))
        named = set(re.findall(r'[^/]etc/manila_lite/((?!systemd|logrotate)[a-z]+/[\w.-]+\w)', pages))
        self.assertLess(4, len(named))
        samples = {'manila_lite.conf.sample', 'siblings.conf.sample', 'policy.yaml.sample'}
        self.assertEqual([], [name for name in sorted(named | samples) if f'{EXAMPLES}/{name}' not in common])
        unpacked = self.folder / 'examples'
        subprocess.run(['dpkg-deb', '--extract', self.debs['manila-lite-common'], unpacked], check=True)
        told = (unpacked / f'{EXAMPLES}/httpd/manila-api-wsgi.conf'.lstrip('/')).read_text()
        self.assertIn('python-home=/usr/lib/manila-lite ', told)

    def test_environment_has_all_modules_and_data_but_no_tests(self):
        inside = re.compile(r'/usr/lib/manila-lite/lib/python3\.\d+/site-packages/(.*)')
        common = self.entries['manila-lite-common']
        found = {
            match[1] for path, entry in common.items() if entry.isfile() and (match := inside.fullmatch(path))
        }
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
            done = subprocess.run(
                ['bash', '-c', _COMPLETE, 'complete', script, 'manila-manage', *words],
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout.split()

        self.assertEqual(['db', 'doctor'], complete('d'))
        self.assertEqual(['sync'], complete('db', 'sy'))
        self.assertEqual(['sync'], complete('--config-file', 'doctor', 'db', 'sy'))
        self.assertEqual(['table', 'json', 'yaml'], complete('doctor', '--format', ''))
        self.assertEqual(['--older-than'], complete('doctor', '--fix', '--ol'))
        self.assertEqual(['list', 'cleanup', '--help'], complete('service', ''))

    def test_life_of_an_installation(self):
        try:
            self.machine = self.useFixture(Machine({DISK: self.useFixture(Disk()).device}))
        except Missing as why:
            self.skipTest(f'a fresh Debian needs {why}')
        self.put_packages()
        # The machine has them in its cache, but by itself it takes nothing that is only recommended.
        recommended = ' '.join(map(self.recommended, ('manila-lite-common', 'manila-lite-share')))
        self.run_in(f'apt-get install --yes python3 postgresql {recommended}')
        self.run_in('python3 /test/in_guest.py installed')
        written = self.client('write', 'file', 'written before the reboot')
        self.assertEqual(0, written.returncode, written)
        self.machine.reboot()
        # The server begins with a time in which only clients of before may come back.
        waiting.until(
            lambda: 'written before the reboot' in self.client('read', 'file').stdout, self.machine.tail
        )
        self.run_in('python3 /test/in_guest.py rebooted')
        # A share of manila-share, under the limits of its unit.
        written = self.client('write', 'file', 'written to the second share')
        self.assertEqual(0, written.returncode, written)
        self.assertIn('written to the second share', self.client('read', 'file').stdout)
        self.run_in('python3 /test/in_guest.py purged')

    def recommended(self, name):
        """Return the names of packages that one recommends."""
        words = ['dpkg-deb', '--field', self.debs[name], 'Recommends']
        return (
            subprocess.run(words, text=True, capture_output=True, check=True).stdout.replace(',', ' ').strip()
        )

    def put_packages(self):
        """Put the packages of this release and of the next into the machine."""
        for name in ('old', 'new'):
            self.machine.file(f'/test/{name}').mkdir(parents=True)
        for deb in self.debs.values():
            shutil.copy(deb, self.machine.file('/test/old'))
            packages.make_later(deb, self.machine.file('/test/new'))
        made = [*self.machine.file('/test').glob('*/*.deb')]
        # Not in the machine: dpkg-scanpackages finds nothing in a directory that has no path here.
        home = self.folder / 'repository'
        packages.publish(home, made)
        shutil.copytree(home, self.machine.file('/test/repository'))
        shutil.copy(packages.PROGRAM, self.machine.file('/test'))
        shutil.copy(ROOT / 'doc/source/admin/packages.rst', self.machine.file('/test/page'))

    def run_in(self, command):
        done = self.machine.run(command, seconds=900)  # limit: packages are installed, in namespaces
        self.assertEqual(0, done.returncode, f'{command}\n{done.stdout}')

    def client(self, *words):
        """Do this with the share, in the machine's network."""
        address, _, path = self.machine.file('/test/export').read_text().rpartition(':')
        command = [
            *self.machine.enter('net'),
            sys.executable,
            '-m',
            'manila_lite.tests.nfs_client',
            address,
            path,
            *words,
        ]
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=waiting.LIMIT
        )
