#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an NFS gateway of the driver cephfs takes for each export, and how fast it is beside ceph-fuse alone.

A private cluster of one OSD in memory, one NFS-Ganesha, a raw client over the loopback. Exports are added one after another,
as the driver adds them; then NFS-Ganesha is killed and started with all of them, alone and by the driver. Then the service
makes as many exports on another gateway, ensures them, and is restarted while a client writes. Needs root and the packages
of Ceph.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import exports
import product
import psutil
import report
from oslo_config import cfg

from manila_lite import values
from manila_lite.drivers import load
from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.tests.functional.linux import base
from manila_lite.tests.process import free_port
from manila_lite.tests.security import nfs4
from manila_lite.tests.services.ceph import Ceph, FuseMount

_MIB = 1 << 20
_BACKEND = """driver = cephfs
cephfs_conf_path = {cluster.conf}
cephfs_protocol_helper_type = NFS
cephfs_ganesha_server_ip = 127.0.0.1
cephfs_nfs_port = {port}
cephfs_nfs_graceless = true
cephfs_nfs_max_exports = 5000
cephfs_volume_mode = 777
max_over_subscription_ratio = 100000
"""
_RULE = values.AccessRule('r', 'ip', '127.0.0.1', 'rw')


def _share(number: int) -> values.Share:
    return values.Share(f'bench-{number}', f'bench-{number}', 'p', 10, 'NFS', 'a.data')


@contextlib.contextmanager
def _driver(cluster: Ceph, port: int) -> Iterator[load.ShareDriver]:
    with tempfile.TemporaryDirectory(prefix='ml-gateway-') as folder:
        file = Path(folder, 'conf')
        file.write_text('[ceph]\n' + _BACKEND.format(cluster=cluster, port=port))
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[str(file)])
        driver = load.make('cephfs', 'ceph', 'bench@ceph', conf, Path(folder, 'state'))
        driver.setup()
        try:
            yield driver
        finally:
            driver.parts.protocol.gateway.stop()
            driver.shutdown()


def _exports(figures: report.Report, driver: load.ShareDriver, port: int, count: int) -> None:
    """Add exports; measure each, and what they take in NFS-Ganesha together."""
    server, subvolumes = driver.parts.protocol.gateway.server, driver.parts.subvolumes
    before = _size(server.process)
    shares = [_share(number) for number in range(count)]
    made = []
    for share in shares:
        subvolumes.ask('create', share.id, size=share.size << 30, mode='755', namespace_isolated=True)
        made.append(
            report.seconds(partial(driver.parts.protocol.apply, share, subvolumes.require(share), [_RULE]))
        )
    figures.add(f'an export added, of {count}', statistics.median(made) * 1e3, 'ms')
    figures.add('an export added, p99', report.percentile(made, 0.99) * 1e3, 'ms')
    figures.add('the last tenth of them', statistics.median(made[-max(1, count // 10) :]) * 1e3, 'ms')
    changed = [report.seconds(partial(driver.update_access, share, [])) for share in shares[:20]]
    figures.add('all rules of a share removed', statistics.median(changed) * 1e3, 'ms')
    for share in shares[:20]:
        driver.update_access(share, [_RULE])
    after = _size(server.process)
    for what, unit, scale in (('memory', 'MiB', _MIB), ('threads', '', 1), ('open files', '', 1)):
        figures.add(f'{what} of NFS-Ganesha with all', after[what] / scale, unit)
        figures.add(f'{what} for each export', (after[what] - before[what]) / count / scale, unit)
    beside = exports.Server(server.fsal.plugins.parent, port)
    beside.kill()
    with exports.alone(beside, server.fsal.plugins, fsal.plugin(), server.fsal.wrap) as begin:
        taken, core, _ = beside.start(begin)
    alone = figures.add(f'NFS-Ganesha alone serves {count}', taken, 's')
    alone_core = figures.add('the same, of a core', core, 's')
    taken, core, called = beside.start(driver.parts.protocol.gateway.start)
    figures.add('all served after it died', taken, 's', alone)
    figures.add('the same after it died, of a core', core, 's', alone_core)
    figures.add('from the call of the driver', called, 's', alone)


def _size(process: psutil.Process) -> dict[str, float]:
    return {
        'memory': process.memory_info().rss,
        'threads': process.num_threads(),
        'open files': process.num_fds(),
    }


def _bandwidth(
    figures: report.Report, cluster: Ceph, driver: load.ShareDriver, port: int, mebibytes: int, rounds: int
) -> None:
    """Write and read one file through the gateway, and by ceph-fuse, in turns."""
    share = _share(0)
    driver.update_access(share, [_RULE])
    client = nfs4.Client('127.0.0.1', port)
    root = client.walk('shares', share.id)
    path = driver.parts.subvolumes.require(share).path
    answer = driver.parts.subvolumes.ask(
        'authorize', share.id, auth_id='bench', access_level='rw', tenant_id='bench'
    )
    mount = FuseMount(cluster, 'a', 'bench', str(answer), path)
    with mount:
        mount.mount()
        (mount.root / 'by-gateway').touch()
        (mount.root / 'by-gateway').chmod(0o666)
        file = client.lookup(root, 'by-gateway')
        own = mount.root / 'own'
        random, count = 'if=/dev/urandom', f'count={mebibytes}'
        ways = {
            'the gateway': (lambda: _write(client, file, mebibytes), lambda: _read(client, file, mebibytes)),
            'ceph-fuse': (
                lambda: _dd(random, f'of={own}', count, 'conv=fsync', 'oflag=nocache'),
                lambda: _dd(f'if={own}', 'of=/dev/null', 'iflag=nocache'),
            ),
        }
        taken: dict[str, list[float]] = {f'{what} by {way}': [] for what in ('write', 'read') for way in ways}
        for _ in range(rounds):
            for way, (write, read) in ways.items():
                taken[f'write by {way}'].append(report.seconds(write))
                taken[f'read by {way}'].append(report.seconds(read))
        rates = {what: mebibytes / statistics.median(times) for what, times in taken.items()}
        for what in ('write', 'read'):
            base = figures.add(f'{what} by ceph-fuse', rates[f'{what} by ceph-fuse'], 'MiB/s')
            figures.add(f'{what} by the gateway', rates[f'{what} by the gateway'], 'MiB/s', base)
    client.close()


def _write(client: nfs4.Client, file: bytes, mebibytes: int) -> None:
    piece = os.urandom(_MIB)
    for number in range(mebibytes):
        client.write(file, piece, number * _MIB, stable=False)
    client.commit(file)


def _read(client: nfs4.Client, file: bytes, mebibytes: int) -> None:
    for number in range(mebibytes):
        client.read(file, _MIB, number * _MIB)


def _dd(*words: str) -> None:
    subprocess.run(['dd', 'bs=1M', *words], check=True, capture_output=True)


class Gateway(exports.Server):
    """The gateway of a backend of the service."""

    def writing(self, client: nfs4.Client, name: str) -> Callable[[], object]:
        """Return a function that makes a directory in an export and removes it."""
        root = client.walk('shares', name)

        def write() -> None:
            client.make(root, 'one')
            client.remove(root, 'one')

        return write


def _service(figures: report.Report, cluster: Ceph, count: int) -> None:
    """Have the service make exports, ensure them, and start again."""
    port = free_port()
    with contextlib.ExitStack() as last:
        made = last.enter_context(product.Product())
        last.callback(base.power_off, made.state, ())
        last.callback(made.end)
        made.edit(product.BACKEND, _BACKEND.format(cluster=cluster, port=port))
        server = Gateway(made.state / 'alpha', port)
        service = made.start('all_in_one')
        made.ready()
        exports.fill(figures, made, server, service, count)
        exports.ensured(figures, made, server, service)
        exports.restarted(figures, made, server, service)


def measure(figures: report.Report) -> None:
    """Measure one gateway."""
    count, mebibytes, rounds = figures.pick((5, 8, 1), (60, 64, 3), (300, 256, 5))
    port = free_port()
    count = figures.args.exports or count
    with Ceph() as cluster:
        with _driver(cluster, port) as driver:
            _exports(figures, driver, port, count)
            _bandwidth(figures, cluster, driver, port, mebibytes, rounds)
        _service(figures, cluster, count)


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure, {'--exports': {'type': int, 'help': 'number of exports'}}))
