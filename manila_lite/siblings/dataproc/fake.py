# SPDX-License-Identifier: Apache-2.0
"""Nodes that are directories, with files as mounts: for tests, and to try the service without any machine.

A node's directory holds ``mounts/<share id>``, and files of a test: ``away`` (the node does not answer), ``late`` (it
is not ready yet), ``stay`` (the node cannot be released), ``busy/<share id>`` (the share cannot be unmounted),
``refuse/<share id>`` (the share cannot be mounted; the file says why), ``dead/<share id>`` (the mount does not answer).
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from manila_lite import errors
from manila_lite.siblings.dataproc.interface import (
    Busy,
    Infra,
    Mount,
    Node,
    NodeAway,
    Remote,
    Result,
    ShareHandler,
    Wanted,
)


def _root(conf: Any) -> Path:
    return Path(conf.dataproc.fake_directory or Path(conf.state_path) / 'dataproc-fake')


class FakeRemote(Remote):
    """A session on a node that is a directory."""

    def __init__(self, directory: Path):
        self.directory = directory

    def run(self, argv: Sequence[str], data: bytes = b'', timeout: float | None = None) -> Result:
        """Return the status of a missing command: nothing can be run."""
        return Result(127, err=b'not found')


class FakeInfra(Infra):
    """An infrastructure with ``[dataproc] fake_nodes`` nodes."""

    def offer(self, wanted: Wanted, taken: frozenset[str]) -> str:
        """Return the first free node."""
        for number in range(1, self.conf.dataproc.fake_nodes + 1):
            if (ref := f'fake-{number}') not in taken:
                return ref
        raise errors.Final('There is no free node.')

    def ready(self, ref: str, wanted: Wanted) -> Node:
        """Make the directory of the node."""
        directory = _root(self.conf) / ref
        (directory / 'mounts').mkdir(parents=True, exist_ok=True)
        if (directory / 'late').exists():
            raise errors.Again(self.conf.dataproc.retry_delay, f'{ref} is not ready.')
        number = int(ref.rpartition('-')[2])
        return Node(
            ref, wanted.name, f'10.77.{number // 250}.{number % 250 + 1}', host_key='ssh-ed25519 none'
        )

    def release(self, ref: str) -> None:
        """Release the node. Its directory stays as it is for the next user."""
        if (_root(self.conf) / ref / 'stay').exists():
            raise errors.Final(f'{ref} cannot be given back.')

    @contextlib.contextmanager
    def connect(self, node: Node) -> Iterator[Remote]:
        """Yield a session."""
        directory = _root(self.conf) / node.ref
        if (directory / 'away').exists():
            raise NodeAway(f'{node.name} does not answer.')
        yield FakeRemote(directory)


class FakeHandler(ShareHandler):
    """A handler that records mounts in files."""

    protocol = 'NFS'

    def setup(self, remote: Any) -> None:
        """Do nothing: no software is needed."""

    def mount(self, remote: Any, mount: Mount) -> None:
        """Write the file of the mount."""
        refused = remote.directory / 'refuse' / mount.share_id
        if refused.exists():
            raise errors.Final(refused.read_text().strip() or 'It was refused.')
        if (remote.directory / 'dead' / mount.share_id).exists():
            raise errors.Again(self.conf.dataproc.retry_delay, f'The server of {mount.path} does not answer.')
        path = remote.directory / 'mounts' / mount.share_id
        path.with_suffix('.new').write_text(_written(mount))
        path.with_suffix('.new').replace(path)

    def unmount(self, remote: Any, mount: Mount, force: bool = False) -> str:
        """Delete the file of the mount."""
        busy = (remote.directory / 'busy' / mount.share_id).exists()
        if busy and not force:
            raise Busy(f'{mount.path} is in use.')
        (remote.directory / 'mounts' / mount.share_id).unlink(missing_ok=True)
        return 'It was in use, so it was unmounted lazily.' if busy else ''

    def is_mounted(self, remote: Any, mount: Mount) -> bool:
        """Say whether there is a file with exactly this mount, and none that says it is dead."""
        path = remote.directory / 'mounts' / mount.share_id
        dead = (remote.directory / 'dead' / mount.share_id).exists()
        return not dead and path.exists() and path.read_text() == _written(mount)

    def clean(self, remote: Any) -> None:
        """Delete the files of all mounts."""
        for path in (remote.directory / 'mounts').iterdir():
            path.unlink()


def _written(mount: Mount) -> str:
    return json.dumps([mount.export, mount.path, mount.level])
