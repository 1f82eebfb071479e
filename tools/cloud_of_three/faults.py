# SPDX-License-Identifier: Apache-2.0
"""What befalls the cloud in a round: each is a context in which it is so. What died is started again after it, by ``up``.

A fault is a generator function of the cloud and a source of random numbers. It yields what it has done.
"""

import contextlib
import signal
import time

import psutil

from cloud_of_three import services
from manila_lite.tests import waiting

#: A table of nft that no packet from an address passes. It is the host's own, and is deleted as a whole.
_TABLE = ('inet', 'cut')
_CHAIN = '{ type filter hook input priority 0 ; policy accept ; }'


def _process(cloud, chance):
    """Kill a program with its children."""
    host, name = chance.choice([(host, name) for host in cloud.hosts for name in host.started()])
    was_primary = getattr(cloud.database, 'primary', lambda: None)() is host
    host.kill(name)
    if was_primary:
        cloud.database.promote()
    yield f'kill -9 {name} on {host.name}'


def _child(cloud, chance):
    """Kill one process of the share service and nothing else, be it a master, a child, a guard or an NFS server."""
    host = chance.choice([*cloud.controllers, *cloud.storage])
    ours = [
        one for name in host.started() if name in services.Services.programs for one in _family(host, name)
    ]
    victim = chance.choice(sorted(ours, key=lambda one: one.pid))
    with contextlib.suppress(psutil.NoSuchProcess):
        what = ' '.join(victim.cmdline()[:4])
        victim.kill()
    yield f'kill -9 one process on {host.name}: {what[-60:]}'


def _family(host, name):
    main = host.program(name)
    return [main, *main.children(recursive=True)] if main else []


def _host(cloud, chance):
    """Power a host off."""
    host = chance.choice([*cloud.controllers, *cloud.storage])
    host.power_off()
    yield f'power off {host.name}'


def _front(cloud, chance):
    """Power off the host in front of the APIs."""
    cloud.front.power_off()
    yield 'power off front'


def _brokers(cloud, chance):
    """Kill two brokers of three."""
    two = chance.sample(cloud.controllers, 2)
    for host in two:
        host.kill('rabbitmq')
    yield f'kill -9 rabbitmq on {" and ".join(host.name for host in two)}'


def _partition(cloud, chance):
    """Have two hosts not hear each other."""
    one, two = chance.sample([*cloud.controllers, *cloud.storage], 2)
    with _deaf(one, two), _deaf(two, one):
        yield f'partition between {one.name} and {two.name}'


def _one_way(cloud, chance):
    """Have one host not hear another, which hears it."""
    one, two = chance.sample([*cloud.controllers, *cloud.storage], 2)
    with _deaf(one, two):
        yield f'{one.name} does not hear {two.name}'


def _alone(cloud, chance):
    """Have one host hear none of the others."""
    one = chance.choice([*cloud.controllers, *cloud.storage])
    with _deaf(one, *(host for host in cloud.hosts if host is not one)):
        yield f'{one.name} hears nobody'


@contextlib.contextmanager
def _deaf(host, *others):
    host.run('nft', 'add', 'table', *_TABLE)
    host.run('nft', f'add chain {" ".join(_TABLE)} in {_CHAIN}')
    for other in others:
        host.run('nft', f'add rule {" ".join(_TABLE)} in ip saddr {other.address} drop')
    try:
        yield
    finally:
        host.run('nft', 'delete', 'table', *_TABLE)


def _frozen(cloud, chance):
    """Stop a program with its children, as a debugger or a swapping host does."""
    host, name = chance.choice([(host, name) for host in cloud.hosts for name in host.started()])
    host.kill(name, signal.SIGSTOP)
    try:
        yield f'stop {name} on {host.name}, and continue'
    finally:
        host.kill(name, signal.SIGCONT)


def _database(cloud, chance):
    """Kill a node of the database; if it was the primary, promote the other one."""
    name = cloud.database.programs[0]
    host = chance.choice([host for host in cloud.controllers if name in host.started()])
    host.kill(name)
    yield f'kill -9 {name} on {host.name}'


def _rolling(cloud, chance):
    """Restart each program of the share service in turn, as an upgrade does."""
    for host in (*cloud.controllers, *cloud.storage):
        for name in services.Services.programs:
            if main := host.program(name):
                main.terminate()
                waiting.until(lambda main=main: not main.is_running(), f'{name} of {host.name} ends')
                cloud.up()
    yield 'a rolling restart'


FAULTS = {
    'process': _process,
    'child': _child,
    'host': _host,
    'front': _front,
    'brokers': _brokers,
    'partition': _partition,
    'one-way': _one_way,
    'alone': _alone,
    'frozen': _frozen,
    'database': _database,
    'rolling': _rolling,
}


@contextlib.contextmanager
def happens(name, cloud, chance):
    """Have a fault while the context lasts. Gives what it is."""
    with contextlib.contextmanager(FAULTS[name])(cloud, chance) as done:
        yield done


def last(chance):
    """Let a fault last for some seconds."""
    time.sleep(chance.uniform(2, 20))  # sleeps: how long it lasts is a part of the round
