# SPDX-License-Identifier: Apache-2.0
"""What befalls the cloud in a round: each is a context in which it is so. What died is started again after it, by ``up``.

A fault is a generator function of the cloud and a source of chances. It yields what it has done.
"""

import contextlib
import itertools
import random
import signal
import time

import psutil

from cloud_of_three import services

#: A table of nft that no packet from an address passes. It is the host's own, and is deleted as a whole.
_TABLE = ('inet', 'cut')
_CHAIN = '{ type filter hook input priority 0 ; policy accept ; }'
#: Seconds by which a clock jumps.
_JUMPS = (-7200, -60, 60, 7200)


class Chances(random.Random):
    """Random numbers of which a draw takes each member of a kind once before it takes one of them again."""

    def __init__(self, seed):
        super().__init__(seed)
        self._left = {}

    def draw(self, kind, members):
        """Return a member of a kind that has had no turn for the longest time; ``members``: those that there are now."""
        left = [one for one in self._left.get(kind, ()) if one in members]
        if not left:
            left = list(members)
            self.shuffle(left)
        self._left[kind] = left[1:]
        return left[0]


def _process(cloud, chance):
    """Kill a program with its children."""
    host, name = chance.draw('process', _programs(cloud))
    was_primary = getattr(cloud.database, 'primary', lambda: None)() is host
    host.kill(name)
    if was_primary:
        cloud.database.promote()
    yield f'kill -9 {name} on {host.name}'


def _programs(cloud):
    return [(host, name) for host in cloud.hosts for name in host.started()]


def _child(cloud, chance):
    """Kill one process of the share service and nothing else, be it a master, a child, a guard or an NFS server."""
    host = chance.draw('child', [*cloud.controllers, *cloud.storage])
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
    host = chance.draw('host', [*cloud.controllers, *cloud.storage])
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
    one, two = chance.draw('partition', list(itertools.combinations([*cloud.controllers, *cloud.storage], 2)))
    with _deaf(one, two), _deaf(two, one):
        yield f'partition between {one.name} and {two.name}'


def _one_way(cloud, chance):
    """Have one host not hear another, which hears it."""
    one, two = chance.draw('one-way', list(itertools.permutations([*cloud.controllers, *cloud.storage], 2)))
    with _deaf(one, two):
        yield f'{one.name} does not hear {two.name}'


def _alone(cloud, chance):
    """Have one host hear none of the others."""
    one = chance.draw('alone', [*cloud.controllers, *cloud.storage])
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
    host, name = chance.draw('frozen', _programs(cloud))
    host.kill(name, signal.SIGSTOP)
    try:
        yield f'stop {name} on {host.name}, and continue'
    finally:
        host.kill(name, signal.SIGCONT)


def _database(cloud, chance):
    """Kill a node of the database, or its primary if it has one, while commits go on; then promote the other one."""
    name = cloud.database.programs[0]
    primary = getattr(cloud.database, 'primary', lambda: None)()
    host = primary or chance.draw('database', [host for host in cloud.controllers if name in host.started()])
    host.kill(name)
    if primary:
        cloud.database.promote()
    yield f'kill -9 {name} on {host.name}'


def _clock(cloud, chance):
    """Have the clock of the share service jump on one host, and later jump back. An API may start under the wrong clock."""
    host = chance.draw('clock', [*cloud.controllers, *cloud.storage])
    jump = chance.draw('jump', _JUMPS)
    host.set_clock(jump)
    try:
        what = f'the clock of {host.name} jumps by {jump:+} s'
        if host in cloud.controllers and chance.draw('start', (True, False)):
            host.end(services.API)
            cloud.up()
            what += ', and its API starts again'
        yield what
    finally:
        host.set_clock(0)


def _full(cloud, chance):
    """Fill the disk of a controller to the last block."""
    host = chance.draw('full', cloud.controllers)
    file = host.own / 'fills-the-disk'
    try:
        with contextlib.suppress(OSError), file.open('wb', buffering=0) as noise:
            while True:
                noise.write(bytes(1 << 20))
        yield f'the disk of {host.name} is full'
    finally:
        file.unlink()


def _upgrade(cloud, chance):
    """Bring the share service to the earlier release and back to this one, each time program by program."""
    ways = {False: 'a rolling upgrade'}
    if not cloud.services.is_earlier():
        ways = {True: 'a rolling way back to the earlier release', **ways}
    for earlier in ways:
        for _ in cloud.services.change(earlier):
            cloud.up()
    yield ', and '.join(ways.values())


def _rolling(cloud, chance):
    """Restart each program of the share service in turn, as an upgrade does."""
    for host in (*cloud.controllers, *cloud.storage):
        for name in services.Services.programs:
            host.end(name)
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
    'clock': _clock,
    'full': _full,
    'upgrade': _upgrade,
}


@contextlib.contextmanager
def happens(name, cloud, chance):
    """Have a fault while the context lasts. Gives what it is."""
    with contextlib.contextmanager(FAULTS[name])(cloud, chance) as done:
        yield done


def last(chance):
    """Let a fault last for some seconds."""
    time.sleep(chance.uniform(2, 20))  # sleeps: how long it lasts is a part of the round
