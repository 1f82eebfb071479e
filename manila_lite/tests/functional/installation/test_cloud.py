# SPDX-License-Identifier: Apache-2.0
"""A cloud of three controllers and two storage hosts, which outlives its faults; and the page about such clouds."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from manila_lite.tests import waiting
from manila_lite.tests.functional.admin_pages import blocks
from manila_lite.tests.functional.linux import base
from manila_lite.tests.services import daemon, groups

_TOP = Path(__file__).resolve().parents[4]
_PAGES = 'high-availability', 'databases'
#: Files that the page shows, and those that the cloud has in their place.
_FILES = {
    '/etc/manila_lite/manila_lite.conf': 'control2/manila-api/manila_lite.conf',
    'stor: /etc/manila_lite/manila_lite.conf': 'stor1/manila-share/manila_lite.conf',
    '/etc/rabbitmq/rabbitmq.conf': 'control3/rabbitmq/rabbitmq.conf',
    'front: /etc/haproxy/haproxy.cfg': 'front/haproxy/haproxy.cfg',
    '/etc/haproxy/haproxy.cfg': 'control1/haproxy/haproxy.cfg',
    '/etc/mysql/mariadb.conf.d/galera.cnf': 'control2/mariadb/galera.cnf',
}


class Cloud(testtools.TestCase):
    """One cloud, since it takes long to start: one test covers its whole life."""

    #: It starts thirty servers.
    LIMITS = 3

    def setUp(self):
        super().setUp()
        groups.want('cloud')
        try:
            for program in ('haproxy', 'rabbitmq-server', 'mariadbd', 'nft'):
                daemon.program(program)
        except daemon.Missing as missing:
            self.skipTest(str(missing))
        if lacks := base.missing():
            self.skipTest(f'real storage needs {lacks}')
        folder = Path(self.useFixture(fixtures.TempDir(str(_TOP))).path)
        folder.chmod(0o711)
        self.state = folder / 'cloud'
        self.addCleanup(self.cloud, 'down', ok=None)

    def cloud(self, *words, ok=True):
        env = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        done = subprocess.run(
            [sys.executable, '-m', 'cloud_of_three', '--state', str(self.state), *words],
            env=env | {'PYTHONPATH': f'{_TOP}/tools:{_TOP}', 'PATH': f'{env["PATH"]}:/usr/sbin:/sbin'},
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT * 3,
        )
        if ok is not None:
            self.assertEqual(ok, done.returncode == 0, f'{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}')
        return done.stdout

    def test_cloud_works_as_the_page_says_and_outlives_rounds(self):
        self.cloud('up')
        self.cloud('run', 'openstack', 'share', 'create', 'NFS', '1', '--share-network', 'data', '--wait')
        self.cloud('status')
        self._page()
        said = self.cloud('rounds', '2', '--seed', '1')
        self.assertIn(', 0 problems', said)
        self.cloud('down')
        self.assertFalse(self.state.exists())
        self.assertEqual([], self._traces())

    def _page(self):
        seen = set()
        for block in itertools.chain.from_iterable(map(blocks.read, _PAGES)):
            if block.caption:
                seen.add(block.caption)
                self._file(block)
            for command in block.commands if block.language == 'console' else ():
                self.assertTrue(self.cloud('on', 'control1', *command.split()), command)
        self.assertEqual(set(_FILES), seen)
        queues = self.cloud('on', 'control1', 'rabbitmqctl', '--quiet', 'list_queues', 'type')
        self.assertEqual({'type', 'quorum'}, set(queues.split()))

    def _file(self, block):
        """Check that the cloud has each line of a file, in the order of the page."""
        password = (self.state / 'password').read_text()
        has = iter(
            (self.state / 'hosts' / _FILES[block.caption])
            .read_text()
            .replace(password, 'PASSWORD')
            .splitlines()
        )
        for line in filter(str.strip, block.text.splitlines()):
            if not line.startswith('#'):
                self.assertTrue(any(line == one for one in has), f'{block.caption}: {line}')

    def _traces(self):
        table = Path('/proc/self/mountinfo').read_text().splitlines()
        loops = base.command('losetup', '--list', '--noheadings').splitlines()
        running = base.command('ps', '-eo', 'args').splitlines()
        return [line for line in (*table, *loops, *running) if str(self.state) in line]
