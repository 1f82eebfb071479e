# SPDX-License-Identifier: Apache-2.0
"""Packages that a process loads only where it uses them: each costs every start time and memory."""

import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from manila_lite.tests import waiting

_CONFIG = """
[DEFAULT]
state_path = {state}
auth_strategy = noauth
transport_url = inproc://
osapi_share_listen_port = 0
enabled_share_backends = alpha
[alpha]
driver = dummy
"""

#: The last line is what is loaded of the packages. A part of a service runs in this process: nothing forks.
_PROGRAM = """
import sys
import manila_lite.cmd
from oslo_config import cfg

def manage(*words):
    from manila_lite.cmd.manage import main
    sys.argv = ['manila-manage', *words]
    try:
        assert main() == 0, words
    except SystemExit as ended:
        assert not ended.code, words
    cfg.CONF.reset()        # to be read again

def serve(parts):
    for part in parts:
        part.start()
    for part in reversed(parts):
        part.stop()

def run(program):
    from manila_lite.cmd import processes
    processes.run = lambda conf, name, parts: serve([part.make() for part in parts]) or 0
    sys.argv = ['manila-share', CONFIG]
    assert program.main() == 0
    cfg.CONF.reset()

CONFIG = sys.argv[1]
PACKAGES = {PACKAGES}
{BODY}
print()
print(*sorted(PACKAGES & set(sys.modules)))
"""

#: Packages that are slow to import.
_PACKAGES = frozenset(
    (
        'alembic',
        'amqp',
        'cheroot',
        'jinja2',
        'keystoneauth1',
        'kombu',
        'manila_lite.policies',
        'oslo_messaging',
        'oslo_policy',
        'oslo_service.service',
        'osprofiler',
        'pecan',
        'pygments',
        'requests',
        'rich',
        'sqlalchemy.dialects.postgresql',
        'webob',
        'yaml',
    )
)

_MANAGE = """
manage('--help')
for words in (('db', 'version'), ('db', 'check'), ('service', 'list'), ('host', 'list'), ('secret', 'list'), ('version',)):
    manage(CONFIG, *words)
"""

#: What processes do -> the packages that they load meanwhile. In turn: the first one makes the database for the others.
_LOADED = {
    "manage(CONFIG, 'db', 'sync')": {'alembic', 'sqlalchemy.dialects.postgresql'},
    _MANAGE: set(),
    'from manila_lite.cmd import share; run(share)': {'oslo_messaging', 'oslo_service.service'},
    'from manila_lite.cmd import scheduler; run(scheduler)': {'oslo_messaging', 'oslo_service.service'},
    """
from manila_lite.cmd import all_in_one, setup
serve(all_in_one.build(setup.configure([CONFIG], transport_url='inproc://')))
""": _PACKAGES
    - {
        'alembic',
        'amqp',
        'keystoneauth1',
        'kombu',
        'osprofiler',
        'pygments',
        'rich',
        'sqlalchemy.dialects.postgresql',
    },
    'from manila_lite.cmd import metrics_server, guru_meditation': {'cheroot', 'jinja2', 'webob'},
}


class Packages(testtools.TestCase):
    def test_processes_load_only_what_they_use(self):
        state = Path(self.useFixture(fixtures.TempDir()).path)
        config = state / 'c.conf'
        config.write_text(_CONFIG.format(state=state))
        for body, loaded in _LOADED.items():
            program = _PROGRAM.replace('{BODY}', body).replace('{PACKAGES}', repr(set(_PACKAGES)))
            done = subprocess.run(
                [sys.executable, '-c', program, f'--config-file={config}'],
                capture_output=True,
                text=True,
                timeout=waiting.LIMIT,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(loaded, set(done.stdout.splitlines()[-1].split()), body)


class Collector(testtools.TestCase):
    def test_garbage_collector_leaves_a_start_alone(self):
        looks = 'import gc; print(sum(each["collections"] for each in gc.get_stats()))'
        done = subprocess.run(
            [sys.executable, '-c', f'from manila_lite.cmd import share; {looks}'],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        self.assertLess(int(done.stdout), 100)  # 300 by default
