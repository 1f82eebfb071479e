# SPDX-License-Identifier: Apache-2.0
"""Native mounts of CephFS by this host, with the program ``ceph-fuse``.

The key is in a file only until the mount is made. The program keeps no written data back: after a crash a file would have its
size and its time, and not its content. It ends when the rest, such as sizes, is at the cluster, too.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import psutil

from manila_lite.host import mounts
from manila_lite.host.commands import CommandFailed, run

#: Seconds for one mount, and for one question to the monitors.
_MOUNT_SECONDS, _ASK_SECONDS = 120, 60
_PROGRAM = 'ceph-fuse'
#: Ends of the names of files beside the mount point: the configuration, and the key.
_FILE, _KEYRING = 'conf', 'keyring'
#: ACLs are kept with the files, and only the cluster checks who may do what.
_CONF = """[global]
mon host = {monitors}
keyring = {keyring}
client mount timeout = 30
client acl type = posix_acl
fuse default permissions = false
client oc = {keeps_back}
log file =
admin socket =
"""


def mount(location: str, place: Path, level: str, auth_id: str, key: str) -> None:
    """Mount a path of a file system, which an export location names, with the options ``mounts.SAFE``.

    :raises CommandFailed: no file system of the cluster has it, or it cannot be mounted.
    """
    monitors, _, path = location.rpartition(':/')
    place.mkdir(parents=True, exist_ok=True)
    with _conf(place, auth_id, key, _CONF.format(
            monitors=monitors, keyring=_beside(place, _KEYRING), keeps_back=str(level == 'ro').lower())) as conf:
        words = ('--conf', str(conf), '--id', auth_id)
        names = _filesystems(*words)
        for name in names:
            try:
                run(_PROGRAM, *words, '--client_fs', name, '-r', f'/{path}', str(place), '-o', f'{mounts.SAFE},{level}',
                    seconds=_MOUNT_SECONDS)
            except CommandFailed:
                if name == names[-1]:       # an export location does not say which of them it is
                    raise
            else:
                return
    raise CommandFailed(f'{_PROGRAM} {place}: the cluster has no file system')


def _filesystems(*words: str) -> list[str]:
    return [about['name'] for about in json.loads(run('ceph', *words, '--connect-timeout', '30', '--format', 'json', 'fs', 'ls',
                                                      seconds=_ASK_SECONDS))]


@contextlib.contextmanager
def _conf(place: Path, auth_id: str, key: str, text: str) -> Iterator[Path]:
    """Keep a configuration file and the key, which only root can read, inside the block."""
    try:
        for kind, content in ((_FILE, text), (_KEYRING, f'[client.{auth_id}]\n\tkey = {key}\n')):
            file = _beside(place, kind)
            file.unlink(missing_ok=True)
            file.touch(0o600)
            file.write_text(content)
        yield _beside(place, _FILE)
    finally:
        forget(place)


def forget(place: Path) -> None:
    """Delete the files with the key, which a process that was killed may have left."""
    for kind in (_FILE, _KEYRING):
        _beside(place, kind).unlink(missing_ok=True)


def _beside(place: Path, kind: str) -> Path:
    return place.with_name(f'{place.name}.{kind}')


def unmount(place: Path, seconds: float) -> None:
    """Unmount, and wait until everything is at the cluster.

    :raises CommandFailed: it is not in time; the program was killed.
    """
    programs = list(_programs(place))
    mounts.unmount(place)
    late = psutil.wait_procs(programs, seconds)[1]
    for program in late:
        with contextlib.suppress(psutil.Error):
            program.kill()
    if late:
        raise CommandFailed(f'{_PROGRAM} {place}: it did not end within {seconds:.0f} s')


def _programs(place: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.name() == _PROGRAM and str(place) in process.cmdline():
                yield process
