# SPDX-License-Identifier: Apache-2.0
"""Letting go of a shared pool: its share servers are killed, their addresses removed, and all its mounts undone.

That is done at once, and again once all changes of share servers have ended (``changes.py``): one may have brought an address
back meanwhile.
"""

import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import psutil

from manila_lite.drivers.linux.failover.changes import End
from manila_lite.drivers.linux.failover.task import FailoverTask, Files
from manila_lite.host import ip, mounts
from manila_lite.host.commands import CommandFailed, run
from manila_lite.host.daemon import Daemon
from manila_lite.host.descriptors import opened

#: Records of the daemons of a share server, in its folder.
_RECORDS = ('*/ganesha.json', '*/bus.json', '*/cifs/smbd.json')
#: Seconds between tries, and after which programs that use the pool are killed.
_PAUSE, _PATIENCE = 0.1, 1.0


def let_go(task: FailoverTask, *, alone: bool = True) -> None:
    """Stop all share servers and unmount the pool, however long that takes. Clients see their server vanish.

    The files of the guard say by now that this host lets go. Programs that use the pool, or change its share servers, are
    killed after a moment. Without ``alone`` another host has the device.
    """
    began, said, known = time.monotonic(), '', _left(task.files)
    with End(task.files) as end:
        while True:
            try:
                busy = _try(task, end, known)
            except Exception as bad:  # a guard that ended here would leave the pool mounted, and unguarded
                busy = [str(bad)]
            if not busy and (not alone or is_free(Path(task.device))):
                break
            if time.monotonic() - began > _PATIENCE:
                _kill_users(task)
                if (now := ', '.join(busy) or f'{task.device} is in use') != said:
                    said = now
                    say(f'the pool is not free yet: {said}')
            time.sleep(_PAUSE)
        with contextlib.suppress(OSError):
            task.files.left.unlink(missing_ok=True)


def _kill_users(task: FailoverTask) -> None:
    with contextlib.suppress(OSError):
        users = _users((str(task.root), str(task.servers), str(task.files.changes)))
        for process in itertools.chain(users, () if _mounts(task) else _elsewhere(Path(task.device))):
            with contextlib.suppress(psutil.Error):
                say(f'process {process.pid} uses the pool and is killed: {" ".join(process.cmdline())[:200]}')
                process.kill()


def _try(task: FailoverTask, end: End, known: set[str]) -> list[str]:
    """Remove all that can be. Return the remains, in words. ``known``: share servers whose networks were here."""
    troubles = []
    for step in (end.require, partial(_kill_daemons, task), partial(_remove_networks, task, known)):
        try:
            step()
        except (CommandFailed, OSError, ValueError) as bad:  # the pool is unmounted all the same
            troubles.append(str(bad))
    return [*troubles, *_unmount(task)]


def has_remains(task: FailoverTask) -> bool:
    """Say whether anything of the pool is still on this host, or may come back."""
    return (
        bool(_mounts(task))
        or task.files.left.exists()
        or (task.files.changes.exists() and _changes(task.files))
    )


def _changes(files: Files) -> bool:
    with End(files) as end:
        return not end.has_come


def _left(files: Files) -> set[str]:
    """Return the share servers that a guard which died while it let go knew."""
    try:
        return set(json.loads(files.left.read_text()))
    except (OSError, ValueError):
        return set()


def say(words: str) -> None:
    """Write a line to the log of the guard, if its disk takes it: a full one must not end the guard."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f'{time.strftime("%Y-%m-%d %H:%M:%S")} {words}\n')
        sys.stderr.flush()


def _kill_daemons(task: FailoverTask) -> None:
    for pattern in _RECORDS:
        for record in task.servers.glob(pattern):
            if process := Daemon(record).process():
                with contextlib.suppress(psutil.NoSuchProcess):
                    clients = process.children(recursive=True)  # smbd has one for each
                    process.kill()
                    for client in clients:
                        with contextlib.suppress(psutil.NoSuchProcess):
                            client.kill()


def _remove_networks(task: FailoverTask, known: set[str]) -> None:
    """Remove the namespaces of all share servers with their addresses.

    The lock of the fabric is not taken: a share manager that hangs may hold it.
    """
    _keep(task, known)
    if not known:
        return
    for link in ip.links(task.fabric) if ip.is_there(task.fabric) else ():
        if link.get('ifalias') in known:
            ip.ip(task.fabric, 'link', 'delete', link['ifname'])
    for server_id in sorted(known):
        ip.delete(f'manila-{server_id}')


def _keep(task: FailoverTask, known: set[str]) -> None:
    """Add the share servers in the pool to those that are known, also for another guard: once it is unmounted, nothing else
    tells whose networks are here.
    """
    if new := {folder.name for folder in task.servers.glob('*')} - known:
        known |= new
        with contextlib.suppress(OSError):  # a full disk of the host
            task.files.left.write_text(json.dumps(sorted(known)))


def _mounts(task: FailoverTask) -> list[str]:
    """Return the mount points of the pool, its share servers and their shares, those on top of others first."""
    below = tuple(f'{path}/' for path in (task.root, task.servers))
    return [path for path, _ in reversed(mounts.mounted()) if f'{path}/'.startswith(below)]


def _unmount(task: FailoverTask) -> list[str]:
    """Unmount all that can be. Return the mount points that are in use.

    None is unmounted lazily: the pool would be in use all the same, and nobody could see it.
    """
    for path in _mounts(task):
        with contextlib.suppress(CommandFailed):
            run('umount', path, seconds=3600)
    return _mounts(task)


def is_free(device: Path) -> bool:
    """Say whether no file system of this machine has the device, in any mount namespace."""
    try:
        with opened(device, os.O_RDONLY | os.O_EXCL):
            return True
    except OSError:
        return False


def _users(paths: Sequence[str]) -> Iterator[psutil.Process]:
    """Yield the processes that have a file or directory below one of the places open."""
    for process in psutil.process_iter():
        if process.pid != os.getpid() and any(
            path == folder or path.startswith(f'{folder}/')
            for path in _open_paths(process.pid)
            for folder in paths
        ):
            yield process


def _elsewhere(device: Path) -> Iterator[psutil.Process]:
    """Yield the processes that have the device mounted in a mount namespace of their own, as sandboxes of copies do.

    Other namespaces follow an unmount here, so it has to be done before.
    """
    here = os.readlink('/proc/self/ns/mnt')
    for process in psutil.process_iter():
        folder = Path('/proc', str(process.pid))
        with contextlib.suppress(OSError):  # the process may end at any time
            if os.readlink(folder / 'ns' / 'mnt') != here and _has_mounted(folder / 'mountinfo', device):
                yield process


def _has_mounted(table: Path, device: Path) -> bool:
    sources = {source for _, source in mounts.mounted(table)}
    return any(
        os.path.exists(source) and os.path.samefile(source, device)
        for source in sources
        if source.startswith('/dev/')
    )


def _open_paths(pid: int) -> Iterator[str]:
    folder = Path('/proc', str(pid))
    with contextlib.suppress(OSError):  # the process may end at any time
        for link in (folder / 'cwd', folder / 'root', *(folder / 'fd').iterdir()):
            with contextlib.suppress(OSError):
                yield os.readlink(link)
