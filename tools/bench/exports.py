#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thousand exports on one NFS server: one more, ensuring all, a restart of the share manager, and starts of the file server.

The product with a linux backend on btrfs; a raw client looks up all exports. The baseline of a start is NFS-Ganesha alone:
its own plug-in, no guards, the same configuration and mounts. A client that writes all the time sees what it has to wait for.
Needs root, btrfs-progs and NFS-Ganesha.
"""

import concurrent.futures
import contextlib
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import access
import product
import psutil
import report

from manila_lite.drivers.linux.protocols import handle_guard
from manila_lite.drivers.linux.protocols.handle_guard import HandleGuard
from manila_lite.tests.functional.linux import base
from manila_lite.tests.process import free_port
from manila_lite.tests.security import nfs4

#: Seconds: from the start of a file server until all exports are served, and of a processor to ensure all.
_START, _ENSURE = 5.0, 10.0
#: With fewer exports these say nothing.
_MANY = 1000
#: One more export may cost so many times what it costs with few.
_SAME = 1.25
#: Exports of which the cost of one more is the mean.
_FEW = 20
#: Seconds without an answer that a client notices.
_PAUSE = 0.25
#: Seconds in which is seen what NFS-Ganesha takes while nobody asks anything.
_IDLE = 4.0
_BACKEND = """driver = linux
linux_pool_path = {folder}/pool.img
linux_pool_size_gb = 100
linux_nfs_port = {port}
linux_graceless = true
max_over_subscription_ratio = 1000
linux_export_ips = 127.0.0.1
"""


class Server:
    """The NFS server of the backend, whose folder is ``home``."""

    def __init__(self, home: Path, port: int):
        self.home, self._port = home, port
        self.conf = home / 'ganesha.conf'

    def names(self) -> list[str]:
        """Return the names of all exports."""
        return sorted(file.stem for file in (self.home / 'exports.d').iterdir())

    def process(self) -> psutil.Process | None:
        """Return NFS-Ganesha, if it runs with the configuration of this backend."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.cmdline()[:4] == ['ganesha.nfsd', '-F', '-f', str(self.conf)]:
                    return process
        return None

    def seconds(self) -> float:
        """Return the seconds of a processor that it used so far."""
        process = self.process()
        return product.processor_time(process) if process else 0.0

    def kill(self) -> None:
        """Kill it."""
        if process := self.process():
            process.kill()
            process.wait()

    def client(self) -> nfs4.Client:
        """Connect."""
        return nfs4.Client('127.0.0.1', self._port)

    def writing(self, client: nfs4.Client, name: str) -> Callable[[], object]:
        """Return a function that writes to the disk of an export."""
        file = self.home / 'exports' / name / 'file'
        file.touch()
        file.chmod(0o666)
        return functools.partial(client.write, client.walk('shares', name, 'file'), b'data', 0)

    def serves(self, names: Sequence[str]) -> bool:
        """Say whether a client can look up all these exports."""
        try:
            with contextlib.closing(self.client()) as client:
                for name in names:
                    client.walk('shares', name)
        except (OSError, nfs4.Refused):
            return False
        return True

    def start(self, begin: Callable[[], object]) -> tuple[float, float, float]:
        """Return the seconds, and those of a processor, from the start of the server until it serves all exports; and the
        seconds since the call of ``begin``, which has the server started.
        """
        names = self.names()
        called = began = time.monotonic()
        begin()
        while (process := self.process()) is None:
            time.sleep(0.005)
        began = max(began, time.monotonic() - (time.time() - process.create_time()))
        while not self.serves(names):
            time.sleep(0.02)
        now = time.monotonic()
        return now - began, self.seconds(), now - called


class Writer(threading.Thread):
    """A client that writes to one export all the time, to the server's disk, and notes its pauses."""

    def __init__(self, server: Server, name: str):
        super().__init__(daemon=True)
        self._write = server.writing(server.client(), name)
        self._ending = threading.Event()
        self.longest, self.count, self.failure = 0.0, 0, ''
        self.start()

    def run(self) -> None:
        """Write until told to end."""
        while not self._ending.wait(0.01):
            began = time.monotonic()
            try:
                self._write()
            except (OSError, nfs4.Refused) as bad:
                self.failure = repr(bad)
                return
            self.longest, self.count = max(self.longest, time.monotonic() - began), self.count + 1

    def end(self) -> None:
        """Stop writing."""
        self._ending.set()
        self.join()
        if self.failure:
            raise RuntimeError(f'a client was not served: {self.failure}')


@contextlib.contextmanager
def _product() -> Iterator[tuple[product.Product, Server]]:
    """Yield a product with a linux backend; remove it afterwards with all its processes."""
    port = free_port()
    with contextlib.ExitStack() as last:
        folder = last.enter_context(tempfile.TemporaryDirectory(prefix='ml-exports-'))
        made = last.enter_context(product.Product())
        last.callback(base.power_off, Path(folder), ('pool.img',))
        last.callback(base.power_off, made.state, ())
        last.callback(made.end)
        made.edit(product.BACKEND, _BACKEND.format(folder=folder, port=port))
        yield made, Server(made.state / 'alpha', port)


def _make(client: product.Client) -> None:
    share = client.create()
    client.wait(f'/shares/{share}', 'share', 'available', pause=0.01)
    grant = {'access_type': 'ip', 'access_to': '127.0.0.1', 'access_level': 'rw'}
    rule = client.ask('POST', f'/shares/{share}/action', {'allow_access': grant})['access']['id']
    client.wait(f'/share-access-rules/{rule}', 'access', 'active', 'state', pause=0.01)


class Meter:
    """Measures work in seconds of a processor. NFS-Ganesha has timers for each export, so what it takes while idle, ``idle``
    seconds in each, is not counted.
    """

    def __init__(self, server: Server, service: psutil.Process):
        self._server, self._service = server, service
        self.idle = 0.0
        began = time.monotonic()
        _, used = self.took(lambda: time.sleep(_IDLE))
        self.idle = used / (time.monotonic() - began)

    def took(self, work: Callable[[], object]) -> tuple[float, float]:
        """Return what the work took the service, and NFS-Ganesha."""
        began, before = time.monotonic(), self._used()
        work()
        service, server = (late - early for early, late in zip(before, self._used(), strict=True))
        return service, max(0.0, server - self.idle * (time.monotonic() - began))

    def _used(self) -> tuple[float, float]:
        server = self._server.seconds()
        # It is a child of the service that started it.
        is_child = self._server.process() in product.family(self._service)
        return product.processor_time(self._service) - server * is_child, server


def _one_more(meter: Meter, made: product.Product) -> tuple[float, float]:
    """Return the milliseconds of a processor that one more share with a rule takes the service, and NFS-Ganesha."""
    client = made.client()

    def make() -> None:
        for _ in range(_FEW):
            _make(client)

    service, server = meter.took(make)
    return service / _FEW * 1e3, server / _FEW * 1e3


def fill(
    figures: report.Report, made: product.Product, server: Server, service: psutil.Process, count: int
) -> None:
    """Make all exports, and add the lines of one more."""
    count = max(count, 2 * _FEW + 2)
    _make(made.client())
    few = _one_more(Meter(server, service), made)
    report.say(f'{count:,} shares')
    rest = count - 2 * _FEW - 1
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: _make(made.client()), range(rest)))
    meter = Meter(server, service)
    many = _one_more(meter, made)
    most = _SAME if count >= _MANY else None
    base_line = figures.add(f'one export more, with {_FEW}', sum(few), 'ms of a core')
    figures.add(f'one export more, with {count:,}', sum(many), 'ms of a core', base_line, most=most)
    figures.note(f'of which NFS-Ganesha: {few[1]:.1f} and {many[1]:.1f} ms')
    figures.note(
        f'idle, NFS-Ganesha takes {meter.idle * 1e3:.0f} ms of a processor in each second with {count:,}'
    )


def ensured(figures: report.Report, made: product.Product, server: Server, service: psutil.Process) -> None:
    """Ensure all shares, and add the line of what that takes."""
    allowed = figures.add('the time allowed to ensure', _ENSURE, 's of a core')
    took = Meter(server, service).took(lambda: access.ensure(made.client()))
    figures.add(
        f'{len(server.names()):,} healthy shares ensured', sum(took), 's of a core', allowed, most=1.0
    )
    figures.note(f'of which NFS-Ganesha: {took[1]:.1f} s')


def restarted(figures: report.Report, made: product.Product, server: Server, service: psutil.Process) -> None:
    """Restart the service, and add the lines of a client that writes meanwhile."""
    before, names = server.process(), server.names()
    writer = Writer(server, names[0])
    began = time.monotonic()
    service.terminate()
    service.wait()
    made.start('all_in_one')
    made.ready()
    access.await_ensured(made.client())
    took = time.monotonic() - began
    writer.end()
    if server.process() != before or server.names() != names or not server.serves(names):
        raise RuntimeError('the restart of the service touched the NFS server')
    longest, count = writer.longest, writer.count
    idle = Writer(server, names[0])
    time.sleep(took)
    idle.end()
    noticed = figures.add('a pause that a client notices', _PAUSE * 1e3, 'ms')
    figures.add('longest answer, in the same time without a restart', idle.longest * 1e3, 'ms', noticed)
    figures.add('longest answer, with a restart of the service', longest * 1e3, 'ms', noticed, most=1.0)
    figures.note(f'{count:,} writes during the restart, which took {took:.1f} s; the NFS server is the same')


@contextlib.contextmanager
def alone(
    server: Server, ours: Path, theirs: Path | None, wrap: Callable[[list[str]], list[str]] = list
) -> Iterator[Callable[[], object]]:
    """Yield a function that starts NFS-Ganesha with its own plug-in, which is in the folder of ``theirs`` and not ``ours``, and
    without our libraries.
    """
    conf, before = server.home / 'alone.conf', server.conf
    conf.write_text(before.read_text().replace(str(ours), str(theirs and theirs.parent)))
    server.conf = conf
    files = ['-f', str(conf), '-L', f'{server.home}/alone.log', '-p', f'{server.home}/alone.pid']
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    try:
        yield lambda: subprocess.Popen(wrap(['ganesha.nfsd', '-F', *files]), **quiet)
    finally:
        server.kill()
        server.conf = before
        conf.unlink()


def _started(figures: report.Report, made: product.Product, server: Server) -> None:
    """Start the file server again and again, in turns with NFS-Ganesha alone, and add the lines."""
    taken: dict[str, list[tuple[float, float, float]]] = {'alone': [], 'died': [], 'reboot': []}
    for _ in range(figures.pick(1, 3, 5)):
        made.end()
        server.kill()
        with alone(server, HandleGuard(server.home).folder, handle_guard.plugin()) as begin:
            taken['alone'].append(server.start(begin))
        taken['died'].append(server.start(lambda: made.start('all_in_one')))
        made.end()
        server.kill()
        for place in (server.home / 'exports').iterdir():
            base.mounts.unmount(place)
        taken['reboot'].append(server.start(lambda: made.start('all_in_one')))
    count, allowed = len(server.names()), figures.add('the time allowed to start', _START, 's')
    middle = {
        what: [statistics.median(column) for column in zip(*times, strict=True)]
        for what, times in taken.items()
    }
    base_line = figures.add(f'NFS-Ganesha alone serves {count:,}', middle['alone'][0], 's')
    alone_core = figures.add('the same, of a core', middle['alone'][1], 's')
    for what, said in (('died', 'after it died'), ('reboot', 'after a reboot')):
        most = 1.0 if count >= _MANY else None
        figures.add(f'all served {said}', middle[what][0], 's', allowed, most=most)
        figures.add(f'all served {said}, beside it', middle[what][0], 's', base_line)
        figures.add(f'all served {said}, of a core', middle[what][1], 's', alone_core)
        figures.note(f'{said}: {", ".join(f"{seconds:.2f}" for seconds, *_ in taken[what])} s')
        figures.add(f'from the start of the service, {said}', middle[what][2], 's', base_line)


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    if lacks := base.missing():
        figures.note(f'Nothing was measured: real storage needs {lacks}')
        return
    with _product() as (made, server):
        service = made.start('all_in_one')
        made.ready()
        fill(figures, made, server, service, figures.pick(0, 300, _MANY))
        ensured(figures, made, server, service)
        restarted(figures, made, server, service)
        _started(figures, made, server)


if __name__ == '__main__':
    os.environ['PATH'] += ':/usr/sbin:/sbin'
    sys.exit(report.main(__doc__, measure))
