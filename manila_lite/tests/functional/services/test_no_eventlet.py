# SPDX-License-Identifier: Apache-2.0
"""Services on threads: all start and make a share where eventlet, greenlet and gevent cannot be imported."""

import json
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from manila_lite.tests import waiting

_CONFIG = """
[DEFAULT]
state_path = {state}
host = test
auth_strategy = noauth
default_share_type = default
enabled_share_backends = alpha
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = 0
[operations]
poll_interval = 0.2
[alpha]
driver = dummy
"""

#: Runs in a process of its own, since nothing may be imported before the block.
_SCRIPT = r"""
import sys

BLOCKED = ('eventlet', 'greenlet', 'gevent')
for name in BLOCKED:
    sys.modules[name] = None

import json, time, urllib.request
from manila_lite.cmd import all_in_one, setup

conf = setup.configure(sys.argv[1:], transport_url='inproc://')
parts = all_in_one.build(conf)
for part in parts:
    part.start()

def call(path, body=None):
    request = urllib.request.Request(f'http://127.0.0.1:{parts[-1].port}/v2{path}',
                                     data=None if body is None else json.dumps(body).encode(),
                                     headers={'X-OpenStack-Manila-API-Version': '2.65', 'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return json.loads(answer.read())

call('/types', {'share_type': {'name': 'default', 'extra_specs': {'driver_handles_share_servers': 'False'}}})
share = call('/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']
end = time.monotonic() + LIMIT
while share['status'] == 'creating' and time.monotonic() < end:
    time.sleep(0.05)
    share = call(f'/shares/{share["id"]}')['share']
for part in reversed(parts):
    part.stop()
loaded = [name for name, module in sys.modules.items() if name.partition('.')[0] in BLOCKED and module is not None]
print(json.dumps({'status': share['status'], 'loaded': loaded}))
"""


class Threads(testtools.TestCase):
    def test_share_is_created_without_green_thread_libraries(self):
        state = Path(self.useFixture(fixtures.TempDir()).path)
        config = state / 'manila_lite.conf'
        config.write_text(_CONFIG.format(state=state))
        done = subprocess.run(
            [sys.executable, '-c', f'LIMIT = {waiting.LIMIT}\n{_SCRIPT}', f'--config-file={config}'],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(
            {'status': 'available', 'loaded': []},
            json.loads(done.stdout.strip().splitlines()[-1]),
            done.stderr,
        )
