# SPDX-License-Identifier: Apache-2.0
"""Native mounts of CephFS by this host, with the program ``ceph-fuse``.

The key is in a file only until the mount is made. The program keeps no written data back: after a crash a file would have its
size and its time, and not its content. It ends when the rest, such as sizes, is at the cluster, too.
"""

import contextlib
import json
import os
from pathlib import Path

import psutil

from manila_lite.host import mounts, programs
from manila_lite.host.commands import CommandFailed, run
from manila_lite.host_copy import private_files

#: Seconds for one mount, and for one question to the monitors.
_MOUNT_SECONDS, _ASK_SECONDS = 120, 60
_PROGRAM = 'ceph-fuse'
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


def mount(location: str, folder: Path, level: str, auth_id: str, key: str) -> None:
    """Mount a path of a file system, which an export location names, with the options ``mounts.SAFE``.

    :raises CommandFailed: no file system of the cluster has it, or it cannot be mounted.
    """
    monitors, _, path = location.rpartition(':/')
    folder.mkdir(parents=True, exist_ok=True)
    conf_text = _CONF.format(
        monitors=monitors,
        keyring=private_files.beside(folder, 'keyring'),
        keeps_back=str(level == 'ro').lower(),
    )
    with private_files.written(
        folder, conf=conf_text, keyring=f'[client.{auth_id}]\n\tkey = {key}\n'
    ) as conf:
        words = ('--conf', str(conf), '--id', auth_id)
        listing = ('ceph', *words, '--connect-timeout', '30', '--format', 'json', 'fs', 'ls')
        names = [about['name'] for about in json.loads(run(*listing, seconds=_ASK_SECONDS))]
        for name in names:
            try:
                run(
                    _PROGRAM,
                    *words,
                    '--client_fs',
                    name,
                    '-r',
                    f'/{path}',
                    str(folder),
                    '-o',
                    f'{mounts.SAFE},{level}',
                    seconds=_MOUNT_SECONDS,
                )
            except CommandFailed:
                if name == names[-1]:  # an export location does not say which of them it is
                    raise
            else:
                return
    raise CommandFailed(f'{_PROGRAM} {folder}: the cluster has no file system')


def snapshot(path: Path, name: str) -> Path:
    """Return the directory with the content of a snapshot of the subvolume that is mounted there. Only the cluster can make
    snapshots, so no client can put another directory in its place.

    :raises CommandFailed: there is none of this name.
    """
    # The snapshot is one of a directory above, whose number is the last part of the name here.
    start = f'_{name}_'
    found = [
        one
        for one in os.listdir(path / '.snap')
        if one.startswith(start) and one.removeprefix(start).isdecimal()
    ]
    if len(found) != 1:
        raise CommandFailed(f'{path}: there is no snapshot {name}')
    return path / '.snap' / found[0]


def unmount(path: Path, seconds: float) -> None:
    """Unmount, and wait until everything is at the cluster.

    :raises CommandFailed: it is not in time; the program was killed.
    """
    clients = list(programs.running(_PROGRAM, lambda words: str(path) in words))
    mounts.unmount(path)
    late = psutil.wait_procs(clients, seconds)[1]
    for program in late:
        with contextlib.suppress(psutil.Error):
            program.kill()
    if late:
        raise CommandFailed(f'{_PROGRAM} {path}: it did not end within {seconds:.0f} s')
