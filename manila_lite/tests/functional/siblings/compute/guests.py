# SPDX-License-Identifier: Apache-2.0
"""A share service with real storage, and a compute service with real guests: each is a process that can be killed.

Storage is in one network namespace, and the host mounts from another.
"""

import json
import os
import shutil
import signal
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import testtools

from manila_lite.tests import forks, nfs_client, process, waiting
from manila_lite.tests.functional.linux import base, test_mount
from manila_lite.tests.functional.siblings.compute import test_qemu_driver
from manila_lite.tests.functional.siblings.compute.base import Caller
from manila_lite.tests.services import virtiofs_guest

_SHARES = """[DEFAULT]
state_path = {state}/lib
[alpha]
driver = linux
linux_pool_path = {state}/pool.img
linux_pool_size_gb = 4
linux_graceless = true
linux_netns = {nas}
linux_export_ips = {address}
"""
_COMPUTE = """[DEFAULT]
state_path = {state}/vm
host = here
auth_strategy = noauth
[operations]
poll_interval = 0.2
retry_delay = 0.1
lease = 60
[share_service]
auth_type = admin_token
endpoint = http://127.0.0.1:{shares}/v2
token = nova:service:service
[compute]
listen = 127.0.0.1
listen_port = {port}
driver = qemu
images = {state}/images
my_shared_fs_storage_ip = {client}
reconcile_interval = 1
retry_interval = 0.2
[compute_qemu]
accelerator = tcg
mount_way = fuse
mount_netns = {netns}
power_off_timeout = 1
{more}"""


def missing():
    """Return the requirements that this machine lacks, or an empty text."""
    return ', '.join(
        filter(
            None, (base.missing(), test_qemu_driver.missing(), virtiofs_guest.missing(), test_mount.lacks())
        )
    )


class ComputeProcess(process.Lite):
    """A running ``mlite-compute``: API and agent. ``Caller`` can use it as a WebTest application."""

    def __init__(self, **values):
        super().__init__()
        self._values = values

    def _setUp(self):
        super()._setUp()
        self.config.write_text(_COMPUTE.format(port=self.port, **self._values))

    def spawn(self):
        """Start the process; see ``Lite.spawn``."""
        with self.log.open('ab') as log:
            self.process = forks.start(
                'manila_lite.siblings.compute.cmd:both',
                f'--config-file={self.config}',
                stdout=log,
                stderr=log,
            )

    def request(self, path, method, body, headers, expect_errors):
        """Send a request, as ``webtest.TestApp`` would."""
        sent = urllib.request.Request(
            f'http://127.0.0.1:{self.port}{path}', method=method, data=body or None, headers=headers
        )
        try:
            with urllib.request.urlopen(sent, timeout=waiting.LIMIT) as answer:
                return _Answer(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as refused:
            return _Answer(refused.code, refused.read(), refused.headers)


class _Answer:
    def __init__(self, status, body, headers):
        self.status_int, self.body, self.headers = status, body, headers

    @property
    def json(self):
        """The document of the answer."""
        return json.loads(self.body)


class GuestTest(testtools.TestCase):
    """Both services, and the clients "one" (the host) and "two" (another machine), for the class. ``MORE``: further lines
    of ``[compute_qemu]``.
    """

    MORE = ''
    COMPUTE = ComputeProcess

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := missing():
            raise unittest.SkipTest(
                f'guests with shares need {lacks}; tools/setup-env --guests puts it in place'
            )
        cls.state = Path(tempfile.mkdtemp(prefix='ml-vm-'))
        cls.addClassCleanup(shutil.rmtree, cls.state, ignore_errors=True)
        cls.fabric = base.Fabric(nas=1, one=11, two=12)
        cls.addClassCleanup(cls.fabric.down)
        cls.fabric.up()
        (cls.state / 'images').mkdir()
        cls.boot = {
            'kernel': 'kernel',
            'initrd': 'initrd',
            'cmdline': virtiofs_guest.make(cls.state / 'images'),
            'memory': 160,
        }
        cls.lite = cls._fixture(
            process.Lite(
                _SHARES.format(state=cls.state, nas=cls.fabric.name('nas'), address=cls.fabric.v4('nas'))
            )
        )
        cls.compute = cls._fixture(
            cls.COMPUTE(
                state=cls.state,
                shares=cls.lite.port,
                client=cls.fabric.v4('one'),
                netns=cls.fabric.name('one'),
                more=cls.MORE,
            )
        )
        cls.addClassCleanup(cls.power_off)
        cls.lite.start()
        cls.lite.ok('POST', '/types', process.DEFAULT_TYPE)
        process.until(
            lambda: cls.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'the pool is known', cls.lite.tail
        )
        cls.compute.start()
        cls.me = Caller(cls.compute)

    @classmethod
    def _fixture(cls, fixture):
        fixture.setUp()
        cls.addClassCleanup(fixture.cleanUp)
        return fixture

    @classmethod
    def power_off(cls):
        """Remove all that a reboot removes."""
        cls.compute.kill()
        cls.lite.kill()
        base.power_off(cls.state, ('pool.img',))

    # Shares -----------------------------------------------------------------------------------

    def share(self):
        """Create a share that the client "two" may write to; return its id."""
        share = self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        self.assertEqual(
            'available', self.lite.wait(f'/shares/{share}', 'share', ('available', 'error'))['status']
        )
        rule = self.lite.ok(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': self.fabric.v4('two'), 'access_level': 'rw'}},
        )['access']['id']
        self.lite.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        return share

    def export(self, share):
        """Return the exported directory of the share."""
        [location] = self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations']
        return location['path'].partition(':')[2]

    def rules(self, share):
        """Return the number of access rules of the share, including that of "two"."""
        return len(self.lite.ok('GET', f'/share-access-rules?share_id={share}')['access_list'])

    def nfs(self, share, *words):
        """Run an NFS command as the client "two"; return the output."""
        worked, said = nfs_client.call(
            self.fabric.v4('nas'), self.export(share), *words, netns=self.fabric.name('two')
        )
        self.assertTrue(worked, said)
        return said

    # Guests -----------------------------------------------------------------------------------

    def off(self, name):
        """Create a server that is off; return its id."""
        return self.me.off(name=name, **self.boot)

    def console(self, server):
        """Return the console output of a guest so far."""
        return self.me.act(server, 'os-getConsoleOutput', {})['output']

    def on(self, server, asked=False):
        """Start the guest and wait until it is up; return the metadata that it printed."""
        if not asked:
            self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        self.until(lambda: 'READY' in self.console(server), 'the guest is up', lambda: self.console(server))
        return dict(
            line.split(' ', 1)
            for line in self.console(server).splitlines()
            if line.startswith(('META ', 'CONFIG '))
        )

    def run_in_guest(self, name, share, script):
        """Run a script in a guest, by way of a file in a share; return the output."""
        done = f'said-{name}'
        client = nfs_client.Session(self.fabric.v4('nas'), self.export(share), netns=self.fabric.name('two'))
        try:
            if done in client.call('list')[1].split():
                client.call('unlink', done)
            for words in (('write', 'draft', script), ('rename', 'draft', f'do-{name}')):
                self.assertEqual((True, None), client.call(*words))
            self.until(
                lambda: done in client.call('list')[1].split(),
                f'{name} did it',
                lambda: str(client.call('list')),
            )
            return client.call('read', done)[1]
        finally:
            client.close()

    def until(self, check, what, tail=None):
        """Wait until ``check`` returns something true; return its value."""
        return process.until(check, what, tail or self.compute.tail)

    def processes(self, *words):
        """Return the processes of guests whose command line has all these words."""
        processes = []
        for one in psutil.process_iter():
            try:
                line = ' '.join(one.cmdline())
            except psutil.Error:
                continue
            if f'{self.state}/vm/' in line and all(word in line for word in words):
                processes.append(one)
        return processes

    def kill(self, *words):
        """Kill the processes with these words; check that there was one."""
        processes = self.processes(*words)
        self.assertNotEqual([], processes, words)
        for one in processes:
            try:
                os.kill(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def mounts(self):
        """Return the exports that are mounted on the host."""
        lines = [line.split(' ') for line in Path('/proc/mounts').read_text().splitlines()]
        return {words[0].partition(':')[2] for words in lines if words[1].startswith(f'{self.state}/vm/')}
