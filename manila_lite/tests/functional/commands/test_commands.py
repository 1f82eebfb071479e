# SPDX-License-Identifier: Apache-2.0
"""Operators' commands. Each starts as a process once; what else they do, they do in forks, which import nothing anew."""

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
from manila_lite.tests.functional import manage

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

#: Runs oslopolicy-policy-generator with each of these arguments, in forks: the configuration is read once in a process.
_EACH_POLICY = """
import json, os, sys
from oslo_policy import generator

for words in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        sys.argv[1:] = ['--namespace', 'manila_lite', *words]
        generator.generate_policy()
        sys.exit()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit(f'{words} failed')
"""


class Commands(testtools.TestCase):
    """Commands with a database of their own, and without a broker at the configured address."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.port = process.free_port()
        self.config = self.state / 'c.conf'
        self.config.write_text(_CONFIG.format(state=self.state, port=self.port, dead=process.free_port()))

    def run_python(self, *words, status=0, **env):
        """Run a process; return its output and its error output."""
        done = subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            stdin=subprocess.DEVNULL,
            env=os.environ | env,
        )
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def run_module(self, name, *words, status=0):
        """Run a command by its name, as a process."""
        return ''.join(
            self.run_python(
                '-m', f'manila_lite.cmd.{name}', f'--config-file={self.config}', *words, status=status
            )
        )

    def run_fork(self, name, *words, status=0):
        """Run a command in a fork of a process that has imported it."""
        got, out, err = manage.run(self.config, name, *words)
        self.assertEqual(status, got, out + err)
        return out + err

    def start(self, name):
        log = (self.state / f'{name}.log').open('wb')
        self.addCleanup(log.close)
        started = subprocess.Popen(
            [sys.executable, '-m', f'manila_lite.cmd.{name}', f'--config-file={self.config}'],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {'PYTHONUNBUFFERED': '1'},
        )
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
            f'http://127.0.0.1:{self.port}{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={'X-OpenStack-Manila-API-Version': '2.82', 'Content-Type': 'application/json'},
        )
        with urllib.request.urlopen(request, timeout=waiting.LIMIT) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def eventually(self, ready, what):
        def told():
            logs = '\n'.join(f'{log.name}: {log.read_text()[-1500:]}' for log in self.state.glob('*.log'))
            return f'{what}\n{logs}'

        return waiting.until(ready, told, pause=0.1, ignoring=(OSError,))

    def test_manage_makes_and_shows_the_schema(self):
        self.assertIn('none', self.run_fork('manage', 'db', 'version'))
        self.assertIn('The schema is at', self.run_module('manage', 'db', 'sync'))
        self.assertNotIn('none', self.run_fork('manage', 'db', 'version'))
        self.assertIn('0 finished operations', self.run_fork('manage', 'db', 'purge', '1'))
        self.run_fork('manage', 'db', 'purge', 'x', status=2)
        self.assertIn('[]', self.run_fork('manage', 'service', 'list', '--format_output', 'json'))

    def test_upgrade_check_reports_missing_schema_and_unknown_driver(self):
        said = self.run_module('status', 'upgrade', 'check', status=2)
        self.assertIn('run manila-manage db sync', ' '.join(said.replace('|', ' ').split()))
        self.run_fork('manage', 'db', 'sync')
        self.run_fork('status', 'upgrade', 'check')
        self.config.write_text(self.config.read_text().replace('driver = dummy', 'driver = nonsense', 1))
        self.assertIn('nonsense', self.run_fork('status', 'upgrade', 'check', status=2))

    def test_tools_for_policies_read_the_policy_file_beside_the_configuration(self):
        at_home = self.state / '.manila_lite'
        at_home.mkdir()
        for folder in (self.state, at_home):
            (folder / 'manila_lite.conf').write_text(self.config.read_text())
            (folder / 'policy.yaml').write_text(f'"share:create": "role:{folder.name}"\n')
        ways = (
            (['--config-file', str(self.config)], self.state),
            ([f'--config-file={self.config}'], self.state),
            (['--config-dir', str(self.state)], self.state),
            ([], at_home),
        )
        out, err = self.run_python(
            '-c', _EACH_POLICY, json.dumps([words for words, _ in ways]), HOME=str(self.state)
        )
        self.assertEqual(
            [f'"share:create": "role:{folder.name}"' for _, folder in ways],
            [line for line in out.splitlines() if line.startswith('"share:create"')],
            err,
        )

    def test_wsgi_module_serves_requests(self):
        """Check the module that uwsgi and gunicorn load. Importing it connects to nothing."""
        script = (
            'from webob import Request; from manila_lite.wsgi.api import application; '
            'print(Request.blank("/v2/shares").get_response(application).status_int, '
            'Request.blank("/v2/").get_response(application).json["versions"][0]["version"])'
        )
        self.run_fork('manage', 'db', 'sync')
        out, err = self.run_python('-c', script, MANILA_LITE_CONFIG_FILES=str(self.config))
        self.assertEqual('200 2.99', out.strip().splitlines()[-1], err)

    def test_configuration_errors_exit_with_status_1_and_no_traceback(self):
        run = self.run_module
        for old, new, said in (
            ('driver = dummy', 'driver = nonsense', 'no such driver'),
            ('enabled_share_backends = alpha,beta', 'enabled_share_backends = gamma', '[gamma] driver'),
            ('driver = dummy', 'driver = dummy\ndriver_handles_share_servers = perhaps', 'driver_handles'),
        ):
            text = self.config.read_text()
            self.config.write_text(text.replace(old, new, 1))
            for name in ('all_in_one', 'share'):
                found = run(name, status=1)
                self.assertIn(said, found)
                self.assertNotIn('Traceback', found)
                run = self.run_fork
            self.config.write_text(text)

    def test_three_processes_work_without_a_broker(self):
        """Check that polling does all work when no wake-up arrives."""
        self.run_fork('manage', 'db', 'sync')
        started = [self.start(name) for name in ('api', 'scheduler', 'share')]
        self.eventually(lambda: self.call('GET', '/v2/scheduler-stats/pools')['pools'][1:], 'both pools')
        self.call(
            'POST',
            '/v2/types',
            {'share_type': {'name': 'default', 'extra_specs': {'driver_handles_share_servers': 'False'}}},
        )
        share = self.call('POST', '/v2/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        self.eventually(
            lambda: self.call('GET', f'/v2/shares/{share}')['share']['status'] == 'available', 'the share'
        )
        services = self.run_fork('manage', 'service', 'list')
        for host in ('test@alpha', 'test@beta'):
            self.assertIn(host, services)
        for one in started:
            one.terminate()
        self.assertEqual([0, 0, 0], [one.wait(timeout=waiting.LIMIT) for one in started])
        self.assertEqual(3, self.run_fork('manage', 'service', 'list').count(' down '))
