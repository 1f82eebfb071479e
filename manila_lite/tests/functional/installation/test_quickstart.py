# SPDX-License-Identifier: Apache-2.0
"""The quickstart, as a newcomer runs it: it works, also a second time, and leaves nothing behind."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import fixtures
import testtools
import yaml

from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.tests import forks, waiting
from manila_lite.tests.services import groups, nodes, virtiofs_guest
from manila_lite.tests.services.daemon import Missing
from manila_lite.tests.services.keystone import Keystone

TOP = Path(__file__).resolve().parents[4]
#: Seconds for which nodes and machines of other tests live at most.
_OTHERS = 300
_TOOL = [sys.executable, str(TOP / 'tools' / 'quickstart.py')]
#: A process that takes down what one scenario and then another would have left, for each pair of them.
_PAIRS = """
import itertools, pathlib, sys
sys.path.insert(0, '.')
import manila_lite.cmd
from scenarios import down, settings

state = pathlib.Path(sys.argv[1])
(state / 'lib').mkdir(parents=True)
pairs = list(itertools.permutations(settings.OPTIONS, 2))
for kind in itertools.chain(*pairs):
    for name, text in settings.files(state, kind, 1, settings.basic(state, 'http://127.0.0.1:1', 'word')).items():
        (state / name).write_text(text)
    down.release(state, remove_data=True)
print(len(pairs), 'pairs')
"""


def _lines(*command):
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=waiting.LIMIT
    ).stdout.splitlines()


def traces(state):
    """Return mounts, loop devices, processes and network namespaces of a run, by its state directory and the mark of it."""
    found = [
        *Path('/proc/self/mounts').read_text().splitlines(),
        *_lines('losetup', '-a'),
        *_lines('ip', 'netns'),
        *_lines('ps', '-eo', 'args'),
        *map(str, Path('/run').glob('mlq-*')),
    ]
    mark = f'mlq-{hashlib.sha256(str(state).encode()).hexdigest()[:6]}'
    return [line for line in found if str(state) in line or mark in line]


class Quickstart(testtools.TestCase):
    """The Python part of tools/quickstart; the shell part is tried by the set-up of .ci/run."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path) / 'q'
        self.env = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        self.env['PATH'] = f'{Path(sys.executable).parent}:{self.env["PATH"]}:/usr/sbin:/sbin'
        self.env['PYTHONPATH'] = f'{TOP}:{TOP}/client'  # the environment may have been made for another tree

    def run_tool(self, *words, ok=True):
        done = subprocess.run(
            [*_TOOL, '--state', str(self.state), *words],
            env=self.env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        self.assertEqual(ok, done.returncode == 0, done.stdout + done.stderr)
        return done.stdout

    def stay(self, *words, by='--stay', until='Staying'):
        """Start a run that stays; return its process, and its output up to the line with ``until``."""
        process = subprocess.Popen(
            [*_TOOL, '--state', str(self.state), by, *words],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(process.kill)
        guard = threading.Timer(600, process.kill)
        guard.start()
        self.addCleanup(guard.cancel)
        said = ''
        for line in process.stdout:
            said += line
            if until in line:
                break
        self.assertIn(until, said)
        return process, said

    def assert_no_traces(self):
        """Wait until nothing is left. A node or machine of another test, in mounts of its own, keeps what was mounted
        when it began, and loop devices with it.
        """
        waiting.until(lambda: not traces(self.state), lambda: f'nothing is left: {traces(self.state)}')

    def test_dummy_behind_keystone(self):
        try:
            Keystone().need()
        except Missing as why:
            self.skipTest(f'no Keystone: {why}')
        said = self.run_tool('--backend', 'dummy', '--keystone')
        for part in ('manilav2 (sharev2)', 'viewer may not delete it', 'shares left: 0', 'It works.'):
            self.assertIn(part, said)
        clouds = yaml.safe_load((self.state / 'clouds.yaml').read_text())['clouds']
        self.assertEqual(
            {'auth_url', 'username', 'password', 'project_name', 'user_domain_name', 'project_domain_name'},
            set(clouds['manila-lite']['auth']),
        )
        self.assert_no_traces()
        self.run_tool('--down')
        self.assertFalse(self.state.exists())

    def test_console_is_there_while_it_stays(self):
        process, said = self.stay('--backend', 'dummy', by='--console')
        url = re.search(r'The console for browsers: (\S+)', said)
        self.assertIsNotNone(url, said)
        with urllib.request.urlopen(url[1], timeout=waiting.LIMIT) as page:
            self.assertEqual((200, 'text/html'), (page.status, page.headers.get_content_type()))
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=waiting.LIMIT)
        self.assertEqual(0, process.returncode, rest)
        self.run_tool('--down')

    def test_trouble_at_the_end_is_told(self):
        """What is to be taken down cannot be read any more: that has a message, and the rest is taken down."""
        process, _ = self.stay('--backend', 'dummy')
        config = self.state / 'manila_lite.conf'
        config.write_text(
            config.read_text().replace('driver = dummy', 'driver = linux\nlinux_pool_size_gb = many')
        )
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=waiting.LIMIT)
        self.assertEqual((1, 1), (process.returncode, rest.count('It did not work: ')), rest)
        self.assertIn('linux_pool_size_gb', rest)
        self.assertNotIn('Traceback', rest)
        self.assertFalse((self.state / 'pid').exists())
        self.assert_no_traces()

    def test_help_names_the_way_down(self):
        done = subprocess.run([str(TOP / 'tools' / 'quickstart'), '--help'], capture_output=True, text=True)
        self.assertIn('--down', done.stdout)


class WithRoot(Quickstart):
    """With root and the packages of bindep.txt: real btrfs, real NFS."""

    test_dummy_behind_keystone = None
    test_console_is_there_while_it_stays = None
    test_trouble_at_the_end_is_told = None
    test_help_names_the_way_down = None

    def setUp(self):
        if (
            os.geteuid()
            or not shutil.which('ganesha.nfsd', path='/usr/bin:/usr/sbin')
            or not shutil.which('mkfs.btrfs', path='/sbin:/usr/sbin')
        ):
            self.skipTest('needs root, nfs-ganesha and btrfs-progs')
        super().setUp()

    def stay(self, *words, **more):
        """Do as the base class, and look that there is something to remove."""
        process, said = super().stay(*words, **more)
        self.assertNotEqual([], traces(self.state))
        return process, said


class AfterAnother(WithRoot):
    """A scenario in the state directory that another one left: see also tools/scenarios/round.py, which runs them all."""

    def test_every_pair_is_released_in_one_process(self):
        """One process takes down what the other scenario left, and then its own: with another configuration."""
        done = subprocess.run(
            [sys.executable, '-c', _PAIRS, str(self.state)],
            cwd=TOP / 'tools',
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r'^[5-9]\d pairs\n$')
        self.assert_no_traces()


class RealStorage(WithRoot):
    """The life of a share, and then, in the same state directory, the repair of damage made behind the service."""

    def test_quickstart_runs_twice_and_down_removes_everything(self):
        self.addCleanup(self.run_tool, '--down')
        self._stay()
        self.assert_no_traces()
        self._ensure()
        self.assert_no_traces()
        self.run_tool('--down')
        self.assertFalse(self.state.exists())
        self.assert_no_traces()

    def _stay(self):
        """Let a run stay until it is told to end, and use the service meanwhile."""
        process, said = self.stay()
        for part in (
            "read back: 'hello from manila_lite'",
            'is refused',
            'writes 32 MiB more is refused: ',
            'extended to 2 GiB',
            'reverted',
            'mount -t nfs4',
            'It works.',
        ):
            self.assertIn(part, said)
        exported = dict(
            word.split('=', 1)
            for line in said.splitlines()
            if 'export OS_' in line
            for word in line.split()[1:]
        )
        done = subprocess.run(
            ['openstack', 'share', 'list', '-f', 'value', '-c', 'Name'],
            env=self.env | exported,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
        self.assertEqual('demo', done.stdout.strip(), done.stderr)
        self._first_steps(self.env | exported)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(timeout=waiting.LIMIT))

    def _first_steps(self, env):
        """Type the commands of the page, as a member of a project, who may not do what the administrator does there."""
        usage = (TOP / 'doc/source/scenarios.rst').read_text().partition('\nUsage\n')[2]
        typed = re.findall('^    openstack (.*)$', usage, re.MULTILINE)
        self.assertLess(5, len(typed))
        for words in typed:
            status, said = self._openstack(words, env)
            self.assertEqual(0, status, said)
        for words in ('share type create mine false', 'share service list'):
            status, said = self._openstack(words, env)
            self.assertEqual((1, True), (status, 'HTTP 403' in said), said)

    def _openstack(self, words, env):
        done = forks.run(
            'manila_lite.tests.openstack_page:command', *words.split(), env=env, timeout=waiting.LIMIT
        )
        return done.returncode, f'openstack {words}: {done.stdout}{done.stderr}'

    def _ensure(self):
        said = self.run_tool('--ensure')
        for part in (
            'cannot read hello.txt',
            'share service ensure shares',
            '1 of 1 shares, 1 repaired',
            'The NFS server did not run; it was restarted.',
            'The share was not mounted; it is again.',
            'was 5 GiB; it is 1 GiB',
            "reads hello.txt again: 'hello from manila_lite'",
            "a client that stayed mounted reads 'after'",
            'new values in use: linux_export_ips',
            'the client of the other backend wrote',
            'at the new address',
            'It works.',
        ):
            self.assertIn(part, said)


class Scheduled(WithRoot):
    """A share that grows, and its schedule."""

    def test_a_share_grows_is_snapped_each_minute_and_goes_back(self):
        self.addCleanup(self.run_tool, '--down')
        said = self.run_tool('--schedule')
        for part in (
            'a message to the owner: ',
            'the share has grown to 2 GiB while it was mounted',
            "the file reads 'minute 2' again",
            'shares left: 0',
            'It works.',
        ):
            self.assertIn(part, said)
        self.assertEqual(3, len(set(re.findall(r'scheduled-\d{4}-\d\d-\d\d-\d{4}', said))), said)
        self.assert_no_traces()


class Moving(WithRoot):
    """Migration of a share server to another backend."""

    def test_a_share_moves_with_its_data(self):
        self.addCleanup(self.run_tool, '--down')
        said = self.run_tool('--migration', '--mebibytes', '2')
        for part in (
            'yes: nothing was changed to find out',
            'copied   100 %',
            'photos: every checksum as before',
            "note.txt reads 'before the snapshot'",
            'was granted nothing and is refused on',
            'namespaces left: 0',
            'Before\n',
            'After\n',
            'It works.',
        ):
            self.assertIn(part, said)
        found = {
            when: [line.find('share server ') for line in said.partition(f'\n{when}\n')[2].splitlines()[2:3]]
            for when in ('Before', 'After')
        }
        self.assertNotEqual(found['Before'], found['After'], said)
        self.assert_no_traces()

    def test_a_backend_is_emptied(self):
        self.addCleanup(self.run_tool, '--down')
        said = self.run_tool('--migration', '--evacuate', '--mebibytes', '1')
        (left,) = set(re.findall('before: .* is on ([^ ,]+)', said))
        (to,) = {f'quickstart@{name}' for name in ('alpha', 'beta')} - {left}
        for part in (
            'planned  100 %  3 of 3 resources',
            'empty  100 %  3 of 3 resources',
            f'share servers on {left}: 0',
            f'{left} is disabled; the reason: evacuated',
            "note.txt reads 'before the snapshot'",
            'was granted nothing and is refused on',
            'namespaces left: 0',
            'disabled: evacuated',
            'It works.',
            *(f'{name}: every checksum as before' for name in ('docs', 'photos', 'music', 'films')),
        ):
            self.assertIn(part, said)
        self.assertRegex(said, rf'share_server +office +\S+ +2 +2 +{left} +{to} +pause')
        self.assertEqual(4, len(re.findall(f'after: .* is on {to}', said)), said)
        self.assert_no_traces()

    def test_a_share_is_copied_to_a_backend_that_is_no_peer(self):
        self.addCleanup(self.run_tool, '--down')
        said = self.run_tool('--migration', '--any', '--mebibytes', '2')
        for part in (
            'copied   100 %',
            'docs: every checksum as before',
            'and written to again',
            'at quickstart@storage it is gone',
            'Before\n',
            'After\n',
            'shares left: 0',
            'It works.',
        ):
            self.assertIn(part, said)
        self.assertGreater(int(re.search('docs: .* files compared: ([0-9]+)', said)[1]), 5)
        self.assert_no_traces()

    def test_parts_of_the_migration_without_it_are_refused(self):
        for part in ('--evacuate', '--any'):
            done = subprocess.run([*_TOOL, '--ensure', part], env=self.env, capture_output=True, text=True)
            self.assertEqual((2, True), (done.returncode, 'add --migration' in done.stderr), done.stderr)


class Siblings(WithRoot):
    """Services that use shares, with guests."""

    def scenario(self, lacks, *words):
        """Run the tool, and check that it leaves nothing; return its output."""
        if lacks:
            self.skipTest(f'guests need {lacks}')
        self.addCleanup(self.run_tool, '--down')
        said = self.run_tool(*words)
        self.assertIn('It works.', said)
        self.assert_no_traces()
        return said

    def test_guest_and_nfs_client_read_each_others_files(self):
        said = self.scenario(virtiofs_guest.missing(), '--vm')
        for part in (
            '"tag": "data"',
            'data: inactive',
            'access rule for 127.0.0.1, the host: active',
            'the guest sees: data /mnt/data virtiofs',
            'the guest sees: hello from an NFS client',
            "::1 reads hello.txt through NFS: 'hello from the guest'",
            'access rules left: ::1',
        ):
            self.assertIn(part, said)

    def test_a_cluster_mounts_its_share(self):
        said = self.scenario(nodes.missing(), '--cluster')
        for part in (
            "it reads: 'hello from 10.77.1.",
            'Read-only file system',
            'access rules left: 0',
            'mounts left on the node: 0',
        ):
            self.assertIn(part, said)
        self.assertRegex(said, r'it has: .*/srv/data nfs rw,.*_netdev')


class OnCeph(WithRoot):
    """Native and NFS shares on a private Ceph cluster."""

    def setUp(self):
        groups.want('ceph')
        lacks = [
            name
            for name in ('ceph-mon', 'ceph-mgr', 'ceph-mds', 'ceph-osd', 'ceph-fuse')
            if not shutil.which(name)
        ]
        lacks += [] if fsal.plugin() else ['nfs-ganesha-ceph']
        if lacks:
            self.skipTest(f'a Ceph cluster and its clients need {", ".join(lacks)}')
        super().setUp()

    def test_it_runs_after_a_killed_run_and_down_removes_everything(self):
        self.addCleanup(self.run_tool, '--down')
        process, _ = self.stay('--ceph', until='The size is a limit')
        process.kill()
        process.wait()
        said = self.run_tool('--ceph', '--mebibytes', '4')
        for part in (
            "rita reads: 'before the snapshot'",
            'rita writes and is refused: ',
            "reads: 'hello over NFS'",
            '::1 was granted nothing and is refused',
            'Disk quota exceeded. Clients keep the limit',
            'extended to 2 GiB while mounted',
            "hello.txt reads 'before the snapshot'",
            ': done',
            'the other files, 64, have the same checksums',
            'both write again after',
            'and nothing failed',
            'alice is refused',
            '127.0.0.1 is refused',
            'left on the cluster: 0',
            'It works.',
        ):
            self.assertIn(part, said)
        self.assertRegex(
            said, r'cephfs\.data +▕█.*backend native\n +├─ docs +CEPHFS +2 GiB.*\n +└─ copy +CEPHFS +2 GiB'
        )
        self.assertRegex(said, r'cephfs\.nfs +▕.*backend gateway\n +└─ home +NFS +1 GiB')
        self.assert_no_traces()
        self.run_tool('--down')
        self.assertFalse(self.state.exists())


class DualStack(WithRoot):
    """A share server in three subnets."""

    def test_both_families_reach_the_share(self):
        self.addCleanup(self.run_tool, '--down')
        said = self.run_tool('--dual-stack')
        for part in (
            "fd77:2::101 reads: 'hello from IPv4'",
            "10.77.1.101 reads: 'hello from IPv6'",
            'none failed',
            "10.77.3.101 reads through 10.77.3.10: 'hello from IPv4'",
            'namespaces left: 0',
            'It works.',
            'share network demo',
            '✓ fd77:2::101',
            '✗ 10.77.3.102',
            '━ green',
        ):
            self.assertIn(part, said)
        self.assertEqual(3, said.count('was granted nothing and is refused on'), said)
        self.assert_no_traces()
        self.run_tool('--down')
        self.assertFalse(self.state.exists())

    def test_down_cleans_up_after_a_killed_run(self):
        self.addCleanup(self.run_tool, '--down')
        process, _ = self.stay('--dual-stack', until='A third subnet')
        process.kill()
        process.wait()
        (server,) = (self.state / 'lib' / 'storage' / 'servers').iterdir()
        spaces = _lines('ip', 'netns')
        self.assertTrue([line for line in spaces if line.startswith(f'manila-{server.name}')], spaces)
        self.assertEqual(5, len([line for line in traces(self.state) if line.startswith('mlq-')]), spaces)
        self.run_tool('--down')
        self.assertFalse(self.state.exists())
        self.assert_no_traces()
        self.assertFalse([line for line in _lines('ip', 'netns') if line.startswith(f'manila-{server.name}')])
