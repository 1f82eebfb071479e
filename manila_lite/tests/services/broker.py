# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ on loopback, with its own node name, epmd and files."""

import base64
import json
import secrets
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from manila_lite.tests import waiting
from manila_lite.tests.services.daemon import Daemon, program

_CONFIG = """
listeners.tcp.1 = 127.0.0.1:{port}
management.tcp.ip = 127.0.0.1
management.tcp.port = {management}
management_agent.disable_metrics_collector = false
collect_statistics_interval = 5000
default_user = tests
default_pass = {password}
disk_free_limit.absolute = 10MB
vm_memory_high_watermark.absolute = 1GB
log.file.level = warning
"""
_ERLANG = '-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none'


class Epmd(Daemon):
    """Erlang's port mapper. RabbitMQ would start one that outlives it, or use another's."""

    USER = 'rabbitmq'

    def need(self) -> None:
        """Find ``epmd``."""
        self._epmd = program('epmd')

    def command(self) -> list[str]:
        """Return the command line of ``epmd``."""
        return [self._epmd, '-address', '127.0.0.1', '-port', str(self.ports['port'])]

    def answers(self) -> bool:
        """Say whether ``epmd`` accepts connections."""
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', self.ports['port'])) == 0


class RabbitMQ(Daemon):
    """A broker with one user, ``tests``, and the management plug-in, which makes virtual hosts quickly."""

    USER = 'rabbitmq'
    PORTS = ('port', 'distribution', 'management')

    def need(self) -> None:
        """Find ``rabbitmq-server``."""
        self._server = program('rabbitmq-server', '/usr/lib/rabbitmq/bin')

    def prepare(self) -> None:
        """Start the port mapper, and write the list of plug-ins."""
        self._epmd = self.useFixture(Epmd())
        self._node = f'tests-{secrets.token_hex(6)}@localhost'
        self._plugins = self.write('plugins', '[rabbitmq_management].\n')

    def command(self) -> list[str]:
        """Return the server's command line; write the configuration too, since it has the ports."""
        self.write('rabbitmq.conf', _CONFIG.format(password=self.password, **self.ports))
        return [self._server]

    def environment(self) -> Mapping[str, str]:
        """Return the places of all files, and the setting by which the shell script becomes the server."""
        return {
            'RUNNING_UNDER_SYSTEMD': 'true',
            'RABBITMQ_CONF_ENV_FILE': '/dev/null',
            'RABBITMQ_NODENAME': self._node,
            'RABBITMQ_CONFIG_FILE': f'{self.home}/rabbitmq.conf',
            'RABBITMQ_ADVANCED_CONFIG_FILE': f'{self.home}/none',
            'RABBITMQ_ENABLED_PLUGINS_FILE': str(self._plugins),
            'RABBITMQ_MNESIA_BASE': f'{self.home}/data',
            'RABBITMQ_LOG_BASE': f'{self.home}/log',
            'RABBITMQ_PID_FILE': f'{self.home}/pid',
            'RABBITMQ_GENERATED_CONFIG_DIR': f'{self.home}/config',
            'RABBITMQ_DIST_PORT': str(self.ports.get('distribution', '')),
            'ERL_EPMD_PORT': str(self._epmd.ports['port']),
            'ERL_EPMD_ADDRESS': '127.0.0.1',
            # Idle schedulers spin by default, at the expense of the tests.
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': _ERLANG,
        }

    def answers(self) -> bool:
        """Say whether the broker accepts connections, and requests of the management plug-in."""
        with socket.socket() as probe:
            if probe.connect_ex(('127.0.0.1', self.ports['port'])):
                return False
        try:
            order(self.admin_url, 'GET', 'overview')
        except OSError:
            return False
        return True

    @property
    def url(self) -> str:
        """Return a transport URL of the default virtual host."""
        return f'rabbit://tests:{self.password}@127.0.0.1:{self.ports["port"]}/'

    @property
    def admin_url(self) -> str:
        """Return the URL to which :func:`order` sends requests."""
        return f'http://tests:{self.password}@127.0.0.1:{self.ports["management"]}/api'


def order(admin_url: str, method: str, path: str, body: Any = None) -> Any:
    """Send a request to the management plug-in; return its document, if any.

    :raises OSError: the request was refused, or the plug-in is away.
    """
    parts = urllib.parse.urlsplit(admin_url)
    login = base64.b64encode(f'{parts.username}:{parts.password}'.encode()).decode()
    request = urllib.request.Request(
        f'http://{parts.hostname}:{parts.port}{parts.path}/{path}',
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={'Authorization': f'Basic {login}', 'Content-Type': 'application/json'},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        request, timeout=waiting.LIMIT
    ) as answer:
        text = answer.read()
    return json.loads(text) if text else None
