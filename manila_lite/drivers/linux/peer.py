# SPDX-License-Identifier: Apache-2.0
"""``manila-linux-peer``: serve another backend that takes shares or share servers over from this one.

It reads requests, a JSON object on each line of standard input, and answers each with a line of standard output.
``send`` is the last request, and its answer is the stream. The command works on the pool and the namespaces of the
backend; the share manager need not run. For ssh, make it a forced command: then the key allows only these requests.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from oslo_config import cfg

from manila_lite import errors, release
from manila_lite.conf import backend as backend_conf
from manila_lite.conf import register_module
from manila_lite.drivers.interface import Backend
from manila_lite.drivers.linux.options import OPTIONS, is_shared
from manila_lite.drivers.linux.parts import Parts
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import transfer_folder
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.host import configured_files
from manila_lite.host.commands import ENV, CommandFailed
from manila_lite.host.ids import SAFE_ID

_BACKEND = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}')


class Peer:
    """The requests of another backend to this one. Each public method is a request; its arguments are those of the
    request.
    """

    def __init__(self, pool: Pool, servers: ShareServers):
        if not isinstance(pool, BtrfsPool):
            raise errors.Final('The pool of the source is a plain directory.')
        pool.open()
        self._pool = pool
        self._servers = servers

    def describe(self, migration: str, shares: list[str], snapshots: list[str]) -> dict[str, Any]:
        """Return the bytes to copy, the snapshots, oldest first, and the rounds that were taken."""
        btrfs.sync(self._pool.root)
        existing = [
            snapshot_id
            for snapshot_id in map(_vetted, snapshots)
            if self._pool.snapshot(snapshot_id).exists()
        ]
        existing.sort(key=lambda snapshot_id: btrfs.subvolume_id(self._pool.snapshot(snapshot_id)))
        self._vet(set(shares) | set(snapshots), shares, existing)
        paths = {share_id: self._pool.share(share_id) for share_id in shares} | {
            snapshot_id: self._pool.snapshot(snapshot_id) for snapshot_id in existing
        }
        sizes = {
            resource_id: [btrfs.used(self._pool.root, path), btrfs.exclusive(self._pool.root, path)]
            for resource_id, path in paths.items()
        }
        return {'snapshots': existing, 'sizes': sizes, 'taken': sorted(self._folder(migration).names())}

    def _vet(self, wanted: set[str], shares: list[str], snapshots: list[str]) -> None:
        existing = {
            share_id for share_id in map(_vetted, shares) if self._pool.share(share_id).exists()
        } | set(snapshots)
        if lost := sorted(wanted - existing):
            raise errors.Final(f'The source does not have {", ".join(lost)}.')

    def _folder(self, migration: str) -> transfer_folder.Folder:
        return transfer_folder.Folder(self._pool.root, _vetted(migration))

    def take(self, migration: str, shares: Mapping[str, int]) -> dict[str, Any]:
        """Take a read-only snapshot of each share, under the number of a round."""
        folder = self._folder(migration)
        folder.make()
        for share, number in shares.items():
            path = folder.path / transfer_folder.taken(_vetted(share), int(number))
            if not path.exists():
                btrfs.snapshot(self._pool.share(share), path, read_only=True)
        return {}

    def freeze(self, share: str) -> dict[str, Any]:
        """Make the share read-only until it is ensured."""
        if not self._pool.share(_vetted(share)).exists():
            raise errors.Final(f'The source does not have {share}.')
        self._pool.freeze(share)
        return {}

    def drop(self, migration: str, names: list[str]) -> dict[str, Any]:
        """Delete the rounds of these names, except those that are still being sent."""
        folder = self._folder(migration)
        kept = []
        for name in sorted(folder.names() & set(names)):
            try:
                folder.drop((name,))
            except OSError:
                kept.append(name)
        return {'kept': kept}

    def clear(self, migration: str) -> dict[str, Any]:
        """Delete everything that was taken for the migration."""
        self._folder(migration).clear()
        return {}

    def halt(self, migration: str, server: str) -> dict[str, Any]:
        """Disconnect and halt the server for good. Returns whether it was halted before."""
        return {'before': self._servers.fence(_vetted(server), _vetted(migration))}

    def resume(self, server: str) -> dict[str, Any]:
        """Let the share manager run the server again: it does so when it starts, or when servers are ensured."""
        self._servers.unfence(_vetted(server))
        return {}

    def send(self, migration: str, parts: list[tuple[str | None, str]]) -> None:
        """Write the stream of all parts to standard output, in sequence.

        :raises CommandFailed: a part cannot be sent; the parts after it were not begun.
        """
        for parent, name in parts:
            before = ('-p', str(self._source(migration, parent))) if parent else ()
            done = subprocess.run(
                ('btrfs', '--quiet', 'send', *before, str(self._source(migration, name))),
                env=ENV,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            if done.returncode:
                raise CommandFailed(f'btrfs send {name}: exit status {done.returncode}')

    def _source(self, migration: str, name: str) -> Path:
        if name in (folder := self._folder(migration)).names():
            return folder.path / name
        return self._pool.snapshot(_vetted(name))


#: Methods by request. The other end may be of another release, so requests keep their names.
_VERBS = {
    'look': 'describe',
    **{name: name for name in ('take', 'freeze', 'drop', 'clear', 'halt', 'resume')},
}


def _vetted(resource_id: str) -> str:
    if not isinstance(resource_id, str) or not SAFE_ID.fullmatch(resource_id):
        raise errors.Final(f'{resource_id!r} is not an id.')
    return resource_id


def serve(peer: Peer, requests: Iterable[str], answer: Callable[[dict[str, Any]], None]) -> int:
    """Answer every request. Returns the exit status."""
    for line in requests:
        try:
            about = json.loads(line)
            verb = about.pop('verb')
            if verb == 'send':
                return _send(peer, about)
            if verb not in _VERBS:
                raise errors.Final(f'{verb!r} is not a request.')
            answer(getattr(peer, _VERBS[verb])(**about))
        except errors.Final as bad:
            answer({'refused': str(bad)})
        except (CommandFailed, OSError) as bad:
            answer({'failed': str(bad)})
        except (ValueError, TypeError, KeyError, AttributeError) as bad:
            answer({'refused': f'That is not a request: {bad}'})
    return 0


def _send(peer: Peer, about: dict[str, Any]) -> int:
    """Send the stream, and return the exit status. The other end reads nothing but the stream, so that an error can only
    end it.
    """
    try:
        peer.send(**about)
    except (errors.Final, CommandFailed, OSError, ValueError, TypeError, AttributeError) as bad:
        sys.stderr.write(f'{bad}\n')
        return 1
    return 0


def make(arguments: argparse.Namespace) -> Peer:
    """Return the peer of a backend, with the share manager's configuration; the pool is mounted.

    :raises errors.ManilaLiteError: there is no such backend.
    """
    name = arguments.backend or os.environ.get('SSH_ORIGINAL_COMMAND', '')
    if not _BACKEND.fullmatch(name):
        raise errors.BadConfig('no backend is named')
    conf = cfg.ConfigOpts()
    conf(
        [],
        project='manila_lite',
        prog='manila-share',
        default_config_files=arguments.config_file,
        default_config_dirs=arguments.config_dir,
    )
    register_module(conf, backend_conf)
    if name not in conf.enabled_share_backends:
        raise errors.BadConfig(f'{name} is not in enabled_share_backends')
    backend_conf.register_backend(conf, name)
    conf.register_opts(OPTIONS, group=name)
    section = conf[name]
    if section.driver != 'linux':
        raise errors.BadConfig(f'{name} is not a backend of the linux driver')
    if is_shared(section):
        raise errors.BadConfig(
            f'{name} has several hosts (linux_pool_fence): its share servers and shares do not migrate'
        )
    configured_files.check(conf)
    parts = Parts(Backend(name, f'{conf.host}@{name}', section, Path(conf.state_path) / name))
    return Peer(parts.pool, parts.share_servers)


def main() -> None:
    """Answer requests until the input ends. Exits at once, without Python's clean-up: in a cut-over clients wait."""
    status = _main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _main() -> int:
    os.umask(0o077)  # the same as in every process of the service, see cmd/umask.py
    parser = argparse.ArgumentParser(prog='manila-linux-peer', description=__doc__)
    parser.add_argument('--version', action='version', version=release.FULL)
    parser.add_argument('--config-file', action='append', help='configuration file of the share manager')
    parser.add_argument('--config-dir', action='append', help='directory with more configuration files')
    parser.add_argument(
        'backend', nargs='?', help='section of the backend; default: the one in the command of ssh'
    )
    arguments = parser.parse_args()
    try:
        peer = make(arguments)
    except (errors.ManilaLiteError, OSError, cfg.Error) as bad:
        sys.stderr.write(f'{bad}\n')
        return 2
    return serve(peer, sys.stdin, _answer)


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(f'{json.dumps(answer)}\n')
    sys.stdout.flush()


if __name__ == '__main__':
    main()
