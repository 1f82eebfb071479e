# SPDX-License-Identifier: Apache-2.0
"""The ways out of a cephfs driver: commands to the cluster, objects in its pool, and calls to NFS-Ganesha.

A test walks through them with a ``Walk``, which counts what changes something, and at one place lets something happen: the
process dies there, or the manager of the cluster does. Commands reach the real cluster. A death at a command that only reads is
the same as one after the change before it, so those are not counted.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from manila_lite.drivers.cephfs.cluster.answers import Answer

#: Commands that change nothing.
READS = frozenset(
    {
        'client ls',
        'config get',
        'df',
        'fs clone status',
        'fs dump',
        'fs ls',
        'fs subvolume authorized_list',
        'fs subvolume info',
        'fs subvolume ls',
        'fs subvolume metadata ls',
        'fs subvolume snapshot info',
        'fs subvolume snapshot ls',
        'fs subvolume snapshot metadata ls',
        'fs volume ls',
        'mgr dump',
        'mon dump',
    }
)

_here = threading.local()


class Died(BaseException):
    """The process of the driver ended here. No code of the driver catches it."""


class Walk:
    """The way of one call through the doors. At the change ``place``, from 1, ``before`` or ``after`` it is called."""

    def __init__(
        self,
        place: int = 0,
        *,
        before: Callable[['Walk'], None] | None = None,
        after: Callable[['Walk'], None] | None = None,
    ):
        self.changes: list[str] = []
        self._place, self._before, self._after = place, before, after
        self._dead = False

    def die(self) -> None:
        """End the process: nothing more leaves it."""
        self._dead = True
        raise Died

    def go(self, what: str, act: Callable[[], Any]) -> Any:
        """Do it, unless the process is dead."""
        if self._dead:
            raise Died
        if what in READS:
            return act()
        self.changes.append(what)
        here = len(self.changes) == self._place
        if here and self._before:
            self._before(self)
        answer = act()
        if here and self._after:
            self._after(self)
        return answer

    @contextlib.contextmanager
    def begun(self) -> Iterator[None]:
        """Have all that this thread does be part of the walk."""
        _here.walk = self
        try:
            yield
        finally:
            del _here.walk


def _go(what: str, act: Callable[[], Any]) -> Any:
    walk = getattr(_here, 'walk', None)
    return walk.go(what, act) if walk else act()


class Way:
    """A way to the cluster with a door in it."""

    def __init__(self, way: Any):
        self._way = way

    def manager(self, command: Mapping[str, Any], seconds: float, content: bytes = b'') -> Answer:
        """Send a command to the active manager."""
        return _go(command['prefix'], lambda: self._way.manager(command, seconds, content))

    def monitor(self, command: Mapping[str, Any], seconds: float) -> Answer:
        """Send a command to a monitor."""
        return _go(command['prefix'], lambda: self._way.monitor(command, seconds))

    def metadata_server(self, rank: str, command: Mapping[str, Any], seconds: float) -> Answer:
        """Send a command to a metadata server."""
        return _go(command['prefix'], lambda: self._way.metadata_server(rank, command, seconds))

    def directory_size(self, filesystem: str, path: str, seconds: float) -> int | None:
        """Return the bytes in a directory."""
        return self._way.directory_size(filesystem, path, seconds)

    def usage_of(
        self, filesystem: str, paths: Sequence[str], seconds: float
    ) -> Mapping[str, tuple[int, int]]:
        """Return the bytes and the files in directories."""
        return self._way.usage_of(filesystem, paths, seconds)

    def close(self) -> None:
        """Close connections."""
        self._way.close()


class _Calls:
    """An object of which some methods have a door, under a name that is made from their first argument."""

    def __init__(self, behind: Any, **doors: str):
        self._behind, self._doors = behind, doors

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._behind, method)
        if method not in self._doors:
            return call
        return lambda first, *more, **named: _go(
            self._doors[method].format(first), lambda: call(first, *more, **named)
        )


def install(driver: Any) -> None:
    """Put doors into all ways out of a driver that was not set up yet."""
    cluster = driver.parts.cluster
    make = cluster._make
    cluster._make = lambda: Way(make())
    gateway = getattr(driver.parts.protocol, 'gateway', None)
    if gateway is not None:
        exports = gateway.server.exports
        exports._manager = _Calls(exports._manager, call='{}', apply='{}')
        exports._mirror._objects = _Calls(gateway._objects, put='put {}')
