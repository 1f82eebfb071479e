# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ: a cluster with a node on each controller. Clients know all three, so that nothing is in front of them."""

import concurrent.futures
import time

from cloud_of_three.hosts import accepts
from manila_lite.tests import waiting

_NAME, _USER = 'rabbitmq', 'rabbitmq'
#: Seconds that a node has to serve after its start, or after a fault.
_PATIENCE = 60.0
_CONFIG = """listeners.tcp.1 = {address}:5672
default_user = manila
default_pass = {password}
cluster_formation.peer_discovery_backend = classic_config
{nodes}
# The smaller part of a split network stops. Without this both parts go on, and do not come together by themselves.
cluster_partition_handling = pause_minority
disk_free_limit.absolute = 10MB
vm_memory_high_watermark.absolute = 1GB
log.console = true
log.console.level = warning
"""
#: Idle schedulers of Erlang spin by default; and a node that does not answer is given up after 15 seconds, not 60.
_ERLANG = '+sbwt none +sbwtdcpu none +sbwtdio none +S 1:1 -kernel net_ticktime 15'


class RabbitMQ:
    """The cluster."""

    programs = (_NAME,)

    def __init__(self, hosts, password):
        self.hosts, self.password = hosts, password

    @property
    def url(self):
        """Return the transport URL: all nodes."""
        return (
            'rabbit://' + ','.join(f'manila:{self.password}@{host.address}:5672' for host in self.hosts) + '/'
        )

    def start(self):
        """Start each node that does not run. The first one makes the cluster, the others join it."""
        first, *others = self.hosts
        formed = (others[-1].own / _NAME / 'data').exists()
        self._start(first)
        if not formed:
            self._await(first)
        for host in others:
            self._start(host)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(self._await, self.hosts))

    def _start(self, host):
        if host.program(_NAME):
            return
        nodes = '\n'.join(
            f'cluster_formation.classic_config.nodes.{number} = rabbit@{one.name}'
            for number, one in enumerate(self.hosts, 1)
        )
        text = _CONFIG.format(address=host.address, password=self.password, nodes=nodes)
        config = host.write(_NAME, 'rabbitmq.conf', text, _USER)
        host.write(_NAME, '.erlang.cookie', self.password, _USER).chmod(0o400)
        plugins = host.write(_NAME, 'plugins', '[].\n', _USER)
        host.start(_NAME, ['rabbitmq-server'], _USER, self._places(host, config, plugins))

    @staticmethod
    def _places(host, config, plugins):
        home = config.parent
        return {
            'RUNNING_UNDER_SYSTEMD': 'true',
            'RABBITMQ_CONF_ENV_FILE': '/dev/null',
            'RABBITMQ_NODENAME': f'rabbit@{host.name}',
            'RABBITMQ_CONFIG_FILE': str(config),
            'RABBITMQ_ADVANCED_CONFIG_FILE': f'{home}/none',
            'RABBITMQ_ENABLED_PLUGINS_FILE': str(plugins),
            'RABBITMQ_MNESIA_BASE': f'{home}/data',
            'RABBITMQ_LOG_BASE': f'{home}/log',
            'RABBITMQ_LOGS': '-',
            'RABBITMQ_PID_FILE': f'{home}/pid',
            'RABBITMQ_GENERATED_CONFIG_DIR': f'{home}/config',
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': _ERLANG,
        }

    def _await(self, host):
        """Wait until a node serves. RabbitMQ in it may have stopped when the disk was full, or may stay in its start after the
        network was split, and the process lives on: then do as an operator does, and start it again.
        """
        end = time.monotonic() + _PATIENCE
        waiting.until(
            lambda: accepts(host.address, 5672) or not host.program(_NAME) or time.monotonic() > end,
            f'{_NAME} of {host.name}',
            pause=0.2,
        )
        if host.program(_NAME) and not accepts(host.address, 5672):
            print(f'    RabbitMQ of {host.name} serves nobody, and is started again', flush=True)
            host.kill(_NAME)
            self._start(host)
        host.serves(_NAME, 5672)

    def problems(self):
        """Return lines about nodes that accept nobody."""
        return [
            f'RabbitMQ of {host.name} does not answer'
            for host in self.hosts
            if not accepts(host.address, 5672)
        ]
