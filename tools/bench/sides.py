# SPDX-License-Identifier: Apache-2.0
"""Products that are measured side by side: API under uwsgi with two processes, scheduler, share manager with a dummy driver."""

import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import cloud
import product
import psutil
import wire

from manila_lite.tests.services import environments

WORKERS = 2
#: The processes of a product.
PARTS = ('API', 'scheduler', 'manager')
_SAMPLE = Path(__file__).parents[2] / 'etc/manila_lite/uwsgi/manila-api.ini'
#: The same as the command "uwsgi" of pyuwsgi, but independent of PATH.
_UWSGI = ('-c', 'import pyuwsgi; pyuwsgi.run()')


class Ours(product.Product):
    """manila_lite, with the sample of its configuration of uwsgi."""

    def __init__(self, folder: str, around: cloud.Cloud, **more: str):
        self.database = around.database(folder)
        super().__init__(folder, self.database, around.bus(), around.keystone.middleware, **more)

    def begin(self) -> dict[str, psutil.Process]:
        """Start all processes; return them by part."""
        text = (
            _SAMPLE.read_text()
            .replace(':8786', f':{self.port}')
            .replace('processes = 4', f'processes = {WORKERS}')
        )
        ini = self.state / 'uwsgi.ini'
        ini.write_text(
            re.sub('^env = MANILA_LITE_CONFIG_FILES=.*', 'disable-logging = true', text, flags=re.MULTILINE)
        )
        self.sync()
        return {
            'API': self.run(
                sys.executable,
                *_UWSGI,
                f'--ini={ini}',
                HOME=str(self.state),
                MANILA_LITE_CONFIG_FILES=str(self.config),
            ),
            'scheduler': self.start('scheduler'),
            'manager': self.start('share'),
        }


_CONFIG = """
[DEFAULT]
state_path = {state}
host = bench
default_share_type = default
enabled_share_backends = alpha
enabled_share_protocols = NFS
transport_url = {bus}
log_file = {state}/log
api_paste_config = {venv}/etc/manila/api-paste.ini
rootwrap_config = {venv}/etc/manila/rootwrap.conf
{auth}
[oslo_concurrency]
lock_path = {state}/locks
[database]
connection = {database}
[quota]
shares = -1
gigabytes = -1
[alpha]
share_backend_name = alpha
share_driver = manila.tests.share.drivers.dummy.DummyDriver
driver_handles_share_servers = False
# Without these two its dummy driver waits some seconds in each call.
dummy_driver_default_driver_method_delay = 0
dummy_driver_driver_methods_delays = create_share:0
"""
#: As OpenStack's installer sets uwsgi up for Manila.
_INI = """
[uwsgi]
http-socket = 127.0.0.1:{port}
module = manila.wsgi.api:application
master = true
processes = {workers}
threads = 1
enable-threads = true
lazy-apps = true
need-app = true
thunder-lock = true
buffer-size = 65535
disable-logging = true
"""


class Manila(product.Processes):
    """Manila as published, from an environment of its own (tools/peer-requirements.txt): run, and never read."""

    def __init__(self, folder: str, around: cloud.Cloud):
        super().__init__(folder)
        self._bin = environments.find('peer', 'bin/manila-manage') / 'bin'
        self.database = around.database(folder)
        self._config = self.state / '.manila' / 'manila.conf'  # one of the places where it looks
        self._config.parent.mkdir()
        self._config.write_text(
            _CONFIG.format(
                state=folder,
                venv=self._bin.parent,
                bus=around.bus(),
                auth=around.keystone.middleware,
                database=self.database,
            )
        )

    def begin(self) -> dict[str, psutil.Process]:
        """Start all processes; return them by part."""
        config, ini = f'--config-file={self._config}', self.state / 'uwsgi.ini'
        ini.write_text(_INI.format(port=self.port, workers=WORKERS))
        subprocess.run([self._bin / 'manila-manage', config, 'db', 'sync'], check=True, capture_output=True)
        return {
            'API': self.run(str(self._bin / 'python'), *_UWSGI, f'--ini={ini}', HOME=str(self.state)),
            'scheduler': self.run(str(self._bin / 'manila-scheduler'), config),
            'manager': self.run(str(self._bin / 'manila-share'), config),
        }


class Side:
    """A product that runs, with clients of it, and a meter."""

    def __init__(self, around: cloud.Cloud, made: Ours | Manila):
        member, admin = around.token(), around.token(admin=True)
        made.client = lambda: wire.Client(made.port, admin)
        self.meter = cloud.Meter(made.begin() | around.processes, watched := around.watch(made.database))
        self.database = watched
        made.wait_for_pool(made.answers())
        self.made = made
        self.clients = [wire.Client(made.port, member) for _ in range(8)]
        self.client, self.admin = self.clients[0], made.client()
        #: Those that phases have made.
        self.shares: list[str] = []


@contextlib.contextmanager
def side(around: cloud.Cloud, kind: Callable[[str, cloud.Cloud], Ours | Manila]) -> Iterator[Side]:
    """Yield a product that runs in a new directory; end it, and remove the directory, afterwards."""
    with tempfile.TemporaryDirectory(prefix='manila-lite-bench-') as folder:
        made = kind(folder, around)
        try:
            yield Side(around, made)
        finally:
            made.end()
