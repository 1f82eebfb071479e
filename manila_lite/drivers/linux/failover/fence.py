# SPDX-License-Identifier: Apache-2.0
"""The fence: before this host mounts a shared pool, the host that had it must have let go, or be known not to write.

A host that waits looks at the mark all the time. So when the lease of a host that died is over, it is known already that its
mark stands still.
"""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from oslo_log import log

from manila_lite import errors
from manila_lite.drivers.linux.failover import mark
from manila_lite.drivers.linux.failover.mark import Mark
from manila_lite.host.commands import CommandFailed, run

LOG = log.getLogger(__name__)

#: The word in a fence command that stands for the name of the host to fence.
HOST = '{host}'
#: Seconds between looks at the mark.
_LOOK = 0.1
#: Seconds for which the mark of a host that no longer writes stands still: several beats. After a fence command fewer do.
_STILL, _STILL_AFTER_COMMAND = 4.0, 1.0
#: Longest pause between two looks, in seconds: after a longer one, the mark may have been another one meanwhile.
_GAP = 2.5
#: Seconds that a host which still beats gets to let go, without a fence command and before one.
_LETS_GO, _BEFORE_COMMAND = 30.0, 4.0


@dataclasses.dataclass(frozen=True)
class _Sight:
    """A mark, and the monotonic times of the first and the last look that found it."""

    mark: Mark | None
    since: float
    last: float

    @property
    def seconds(self) -> float:
        return self.last - self.since


class Fence:
    """The fence of one backend. ``command`` has the words of the fence command; without any, guards alone fence."""

    def __init__(self, command: Sequence[str], seconds: float):
        self._command = tuple(command)
        self._seconds = seconds
        self._sight: _Sight | None = None

    def observe(self, device: Path) -> _Sight:
        """Read the mark, and remember for how long it has stood still.

        :raises CommandFailed: it cannot be read.
        """
        before, before_that = time.monotonic(), self._sight
        found = mark.read(device)
        if before_that and found == before_that.mark and before - before_that.last <= _GAP:
            sight = _Sight(found, before_that.since, before)
        else:
            sight = _Sight(found, now := time.monotonic(), now)
        self._sight = sight
        return sight

    def settle(self, device: Path, token: str, state: str, name: str) -> Mark | None:
        """Wait until no other host has the pool on the device. Return the mark of the host that had it last.

        ``token``, ``state``, ``name``: those of the mark of this host.

        :raises errors.Final: the hosts mount the pool in different folders.
        :raises CommandFailed: another host still has the pool, or the fence command failed.
        """
        last = self.observe(device).mark
        if last is None or last.token == token:
            return last
        if last.state != state and last.name != name:
            raise errors.Final(
                f'state_path has to be the same on all hosts of a shared pool: this host mounts it below '
                f'{state}, {last.name} below {last.state}'
            )
        if last.free:
            return last
        fences = bool(self._command) and last.name != name  # this host does not turn itself off
        if self._command and not fences and not mark.are_of_one_host(last.token, token):
            raise CommandFailed(
                f'{device} was marked by another host that is named {name}, too, or by this one before it was '
                'installed anew. Give each host a name of its own, or have another host take the pool over'
            )
        LOG.warning(
            'The pool on %s was not let go of by %s; looking whether that host still writes',
            device,
            last.name,
        )
        watched, still = self._watch(
            device, _BEFORE_COMMAND if fences else _LETS_GO, _STILL_AFTER_COMMAND if fences else _STILL
        )
        if watched is None or watched.free:
            return watched
        if fences:
            return self._fenced(device, watched)
        if not still:
            raise CommandFailed(
                f'{watched.name} still has the pool on {device}, and did not let go within {_LETS_GO:g} '
                'seconds; see guard/guard.log in the state directory there'
            )
        LOG.warning('%s writes no more; the pool on %s is taken over', watched.name, device)
        return watched

    def _watch(self, device: Path, patience: float, still: float) -> tuple[Mark | None, bool]:
        """Watch the mark until it is free, or has stood still, or for ``patience`` seconds. Return it, and whether it stood
        still.
        """
        end = time.monotonic() + max(patience, still)
        while (sight := self.observe(device)).mark is not None and not sight.mark.free:
            if sight.seconds >= still:
                return sight.mark, True
            if time.monotonic() >= end:
                break
            time.sleep(_LOOK)
        return sight.mark, False

    def _fenced(self, device: Path, last: Mark) -> Mark | None:
        """Run the fence command against the host of the mark, and check that it writes no more."""
        words = [word.replace(HOST, last.name) for word in self._command]
        LOG.warning('Fencing %s: %s', last.name, ' '.join(words))
        try:
            run(*words, seconds=self._seconds)
        except CommandFailed as bad:
            raise CommandFailed(
                f'{last.name} could not be fenced, so its pool on {device} is not taken over. '
                f'linux_fence_command: {bad}'
            ) from bad
        self._sight = None  # what it wrote before does not count
        seen, still = self._watch(device, _STILL_AFTER_COMMAND + 1, _STILL_AFTER_COMMAND)
        if seen is not None and not seen.free and not still:
            raise CommandFailed(
                f'linux_fence_command ended with success, but {seen.name} still writes to {device}, so the '
                'pool is not taken over; check that the command turns that host off'
            )
        return seen
