# SPDX-License-Identifier: Apache-2.0
"""Operators' commands, each as a process."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import fixtures
import testtools

from manila_lite.tests import process, waiting

_CONFIG = """
[DEFAULT]
state_path = {state}
host = test
auth_strategy = noauth
default_share_type = default
enabled_share_backends = alpha,beta
osapi_share_listen = 127.0.0.1
osapi_share_workers = 2
osapi_share_listen_port = {port}
transport_url = rabbit://nobody:nothing@127.0.0.1:{dead}/
[database]
connection = sqlite:///{state}/x.sqlite
[operations]
poll_interval = 0.2
[alpha]
driver = dummy
[beta]
driver = dummy
"""


class Commands(testtools.TestCase):
    """Commands with a database of their own, and without a broker at the configured address."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.port = process.free_port()
        self.config = self.state / 'c.conf'
        self.config.write_text(_CONFIG.format(state=self.state, port=self.port, dead=process.free_port()))

    def run_module(self, name, *words, status=0, config=True):
        done = subprocess.run(
            [sys.executable, '-m', f'manila_lite.cmd.{name}', *([f'--config-file={self.config}'] if config else []), *words],
            capture_output=True, text=True, timeout=waiting.LIMIT, stdin=subprocess.DEVNULL)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def start(self, name):
        log = (self.state / f'{name}.log').open('wb')
        self.addCleanup(log.close)
        started = subprocess.Popen([sys.executable, '-m', f'manila_lite.cmd.{name}', f'--config-file={self.config}'],
                                   stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                                   env=os.environ | {'PYTHONUNBUFFERED': '1'})
        self.addCleanup(self.end, started)
        return started

    def end(self, started):
        if started.poll() is None:
            started.terminate()
            try:
                started.wait(timeout=waiting.LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, signal.SIGKILL)
                started.wait()

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            f'http://127.0.0.1:{self.port}{path}', method=method, data=None if body is None else json.dumps(body).encode(),
            headers={'X-OpenStack-Manila-API-Version': '2.82', 'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=waiting.LIMIT) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def eventually(self, ready, what):
        def told():
            logs = '\n'.join(f'{log.name}: {log.read_text()[-1500:]}' for log in self.state.glob('*.log'))
            return f'{what}\n{logs}'
        return waiting.until(ready, told, pause=0.1, ignoring=(OSError,))

    def test_manage_makes_and_shows_the_schema(self):
        self.assertIn('none', self.run_module('manage', 'db', 'version'))
        self.assertIn('The schema is at', self.run_module('manage', 'db', 'sync'))
        self.assertNotIn('none', self.run_module('manage', 'db', 'version'))
        self.assertIn('0 finished operations', self.run_module('manage', 'db', 'purge', '1'))
        self.run_module('manage', 'db', 'purge', 'x', status=2)
        self.assertIn('[]', self.run_module('manage', 'service', 'list', '--format_output', 'json'))

    def test_upgrade_check_reports_missing_schema_and_unknown_driver(self):
        said = self.run_module('status', 'upgrade', 'check', status=2)
        self.assertIn('run manila-manage db sync', ' '.join(said.replace('|', ' ').split()))
        self.run_module('manage', 'db', 'sync')
        self.run_module('status', 'upgrade', 'check')
        self.config.write_text(self.config.read_text().replace('driver = dummy', 'driver = nonsense', 1))
        self.assertIn('nonsense', self.run_module('status', 'upgrade', 'check', status=2))

    def test_tools_for_policies_read_the_policy_file_beside_the_configuration(self):
        at_home = self.state / '.manila_lite'
        at_home.mkdir()
        for folder in (self.state, at_home):
            (folder / 'manila_lite.conf').write_text(self.config.read_text())
            (folder / 'policy.yaml').write_text(f'"share:create": "role:{folder.name}"\n')
        script = 'from oslo_policy import generator; generator.generate_policy()'
        for words, folder in ((['--config-file', self.config], self.state), ([f'--config-file={self.config}'], self.state),
                              (['--config-dir', self.state], self.state), ([], at_home)):
            done = subprocess.run([sys.executable, '-c', script, '--namespace', 'manila_lite', *words], capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, env=os.environ | {'HOME': str(self.state)})
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            self.assertEqual([f'"share:create": "role:{folder.name}"'],
                             [line for line in done.stdout.splitlines() if line.startswith('"share:create"')])

    def test_wsgi_module_serves_requests(self):
        """Check the module that uwsgi and gunicorn load. Importing it connects to nothing."""
        script = ('from webob import Request; from manila_lite.wsgi.api import application; '
                  'print(Request.blank("/v2/shares").get_response(application).status_int, '
                  'Request.blank("/v2/").get_response(application).json["versions"][0]["version"])')
        self.run_module('manage', 'db', 'sync')
        done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, timeout=waiting.LIMIT,
                              env=os.environ | {'MANILA_LITE_CONFIG_FILES': str(self.config)})
        self.assertEqual('200 2.99', done.stdout.strip().splitlines()[-1], done.stderr)

    def test_configuration_errors_exit_with_status_1_and_no_traceback(self):
        for old, new, said in (('driver = dummy', 'driver = nonsense', 'no such driver'),
                               ('enabled_share_backends = alpha,beta', 'enabled_share_backends = gamma', '[gamma] driver'),
                               ('driver = dummy', 'driver = dummy\ndriver_handles_share_servers = perhaps', 'driver_handles')):
            text = self.config.read_text()
            self.config.write_text(text.replace(old, new, 1))
            for name in ('all_in_one', 'share'):
                found = self.run_module(name, status=1)
                self.assertIn(said, found)
                self.assertNotIn('Traceback', found)
            self.config.write_text(text)

    def test_three_processes_work_without_a_broker(self):
        """Check that polling does all work when no wake-up arrives."""
        self.run_module('manage', 'db', 'sync')
        started = [self.start(name) for name in ('api', 'scheduler', 'share')]
        self.eventually(lambda: self.call('GET', '/v2/scheduler-stats/pools')['pools'][1:], 'both pools')
        self.call('POST', '/v2/types', {'share_type': {'name': 'default', 'extra_specs': {
            'driver_handles_share_servers': 'False'}}})
        share = self.call('POST', '/v2/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        self.eventually(lambda: self.call('GET', f'/v2/shares/{share}')['share']['status'] == 'available', 'the share')
        services = self.run_module('manage', 'service', 'list')
        for host in ('test@alpha', 'test@beta'):
            self.assertIn(host, services)
        for one in started:
            one.terminate()
        self.assertEqual([0, 0, 0], [one.wait(timeout=waiting.LIMIT) for one in started])
        self.assertEqual(3, self.run_module('manage', 'service', 'list').count(' down '))
