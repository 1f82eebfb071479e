# SPDX-License-Identifier: Apache-2.0
"""A Galera cluster of three MariaDB nodes on loopback, each of which can be stopped, killed and started again.

The nodes begin with copies of one data directory, so that no node has to send its state to another at first. What they take
and say is here as functions, too: tools/cloud_of_three starts the same nodes on hosts of their own.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import fixtures
import pymysql

from manila_lite.tests import hush, process, waiting
from manila_lite.tests.services import daemon, databases

_PROVIDER = Path('/usr/lib/galera/libgalera_smm.so')
#: What a cluster needs: rows in the binary log's form, InnoDB alone, and locks of new keys that let others insert.
SETTINGS = (
    'binlog-format=ROW',
    'default-storage-engine=InnoDB',
    'innodb-autoinc-lock-mode=2',
    # Galera counts as a binary log, and "db sync" makes triggers.
    'log-bin-trust-function-creators=1',
    'wsrep-on=ON',
    'wsrep-sst-method=rsync',
    'wsrep-slave-threads=2',
)


def need() -> None:
    """Find Galera. :raises daemon.Missing: it is not installed."""
    if not _PROVIDER.exists():
        raise daemon.Missing('galera-4 is not installed (tools/setup-env --mariadb does that)')


def settings(
    name: str, address: str, others: Iterable[str], group: int = 4567, ist: int = 4568, sst: int = 4444
) -> list[str]:
    """Return the settings of a node. ``others``: addresses and ports of all nodes; none if it begins a cluster."""
    options = (
        f'base_host={address}',
        f'base_port={group}',
        f'gmcast.listen_addr=tcp://{address}:{group}',
        f'ist.recv_addr={address}:{ist}',
        'gcache.size=64M',
        # A node that died is left out after three seconds, not five.
        'evs.keepalive_period=PT0.5S;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT6S',
    )
    return [
        *SETTINGS,
        f'wsrep-provider={_PROVIDER}',
        f'wsrep-node-name={name}',
        f'wsrep-node-address={address}:{group}',
        f'wsrep-sst-receive-address={address}:{sst}',
        f'wsrep-provider-options={";".join(options)}',
        f'wsrep-cluster-address=gcomm://{",".join(others)}',
    ]


def allow_begin(data: Path) -> None:
    """Let a node begin the cluster though it was not the last one to leave it: the caller knows that no other has more."""
    state = data / 'grastate.dat'
    if state.exists():  # new data have none, and may begin
        state.write_text(state.read_text().replace('safe_to_bootstrap: 0', 'safe_to_bootstrap: 1'))


def recovered(text: str) -> tuple[str, int]:
    """Return the cluster's UUID and the number of the last transaction that ``mariadbd --wsrep-recover`` found in its data.

    :raises daemon.Broken: it found none.
    """
    found = re.findall(r'WSREP: Recovered position: ?([0-9a-f-]{36}):(-?\d+)', text)
    if not found:
        raise daemon.Broken(f'no position was recovered:\n{text[-1000:]}')
    return found[-1][0], int(found[-1][1])


class Node(databases.MariaDB):
    """A node. ``begins``: it begins the cluster at its next start."""

    PORTS = ('port', 'group', 'ist', 'sst')
    ADDRESS = '127.0.0.1'

    def __init__(self, cluster: 'Galera', name: str):
        super().__init__()
        self._cluster = cluster
        self.name = name
        self.begins = False
        self._at: list[str] = []  # where the data end, if the node was killed
        self.password = cluster.password

    def _start_somewhere(self, tries: int) -> None:
        self.ports = {name: process.free_port() for name in self.PORTS}
        if self is self._cluster.nodes[0]:  # the cluster starts the others
            self.begins = True
            self.start()
            self.stop()

    def prepare(self) -> None:
        """Make a data directory, or copy the first node's."""
        first = self._cluster.nodes[0]
        if first is not self:
            self.run('cp', '-a', f'{first.home}/data', f'{self.home}/data')
            return
        super().prepare()

    @property
    def group(self) -> str:
        """The address at which other nodes find this one."""
        return f'{self.ADDRESS}:{self.ports["group"]}'

    def command(self) -> list[str]:
        """Return the server's command line."""
        others = () if self.begins else [node.group for node in self._cluster.nodes]
        ports = {name: self.ports[name] for name in self.PORTS[1:]}
        words = [f'--{word}' for word in settings(self.name, self.ADDRESS, others, **ports)]
        return [*super().command(), *words, *self._at, *(['--wsrep-new-cluster'] if self.begins else [])]

    def recover(self) -> int:
        """Find where the data ended when the node was killed; return the number of its last transaction."""
        said = self.run(*self.command(), '--wsrep-recover', '--disable-log-error')
        uuid, number = recovered(said)
        self._at = [f'--wsrep-start-position={uuid}:{number}']
        return number

    def rejoin(self) -> None:
        """Start the node again after ``stop`` or ``abort``: it takes what it missed from another one."""
        self.begins = False
        self.recover()
        self.start()

    def status(self) -> dict[str, str]:
        """Return the cluster's variables as this node sees them."""
        with pymysql.connect(**self.login()) as conn, conn.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'wsrep%'")
            return dict(cursor.fetchall())

    def answers(self) -> bool:
        """Say whether a client can log in, and the node is in step with the cluster."""
        try:
            return self.status().get('wsrep_local_state_comment') == 'Synced'
        except pymysql.MySQLError:
            return False


class Galera(fixtures.Fixture):
    """A cluster. ``nodes`` are its nodes; ``url`` is that of the first."""

    def __init__(self, size: int = 3):
        super().__init__()
        self.password = hush.secret('daemon')
        self.nodes: list[Node] = []
        self._size = size

    def _setUp(self) -> None:
        need()
        for number in range(self._size):
            self.nodes.append(Node(self, f'node{number + 1}'))
            self.useFixture(self.nodes[-1])
        for node in self.nodes:
            node.start()
            node.begins = False

    @property
    def url(self) -> str:
        """Return the URL of the first node."""
        return self.nodes[0].url

    def begin_again(self) -> None:
        """Begin the cluster again after all nodes ended: first the node that knows most, and then the others."""
        order = sorted(self.nodes, key=Node.recover, reverse=True)
        for node in order:
            node.begins = node is order[0]
            if node.begins:
                allow_begin(node.home / 'data')
            node.start()
            node.begins = False

    def wait_size(self, size: int) -> None:
        """Wait until each node that runs sees so many."""
        waiting.until(lambda: set(self.sizes()) == {size}, lambda: f'{size} nodes: {self.sizes()}')

    def sizes(self) -> Sequence[int]:
        """Return the size of the cluster as each running node sees it."""
        return [int(node.status()['wsrep_cluster_size']) for node in self.nodes if node.process]
