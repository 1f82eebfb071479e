# SPDX-License-Identifier: Apache-2.0
"""Attacks on the HTTP server while a soak loads and kills, and what then must be true of answers and memory."""

import dataclasses
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Self

import psutil

from manila_lite.tests.crash.deployment import Deployment
from manila_lite.tests.security import crowds

#: How many clients of each kind: idle ones are more than all API processes together may have connections.
NUMBERS = {'idle': 2400, 'slow headers': 100, 'slow bodies': 50, 'slow chunks': 50, 'bad requests': 30, 'unread answers': 50}
#: Seconds in which /healthcheck is answered; between questions; and that the API may need to come back when it was killed.
SECOND, _PAUSE, BACK = 1.0, 0.1, 30.0
#: How much more memory a role's processes may have at the end than after a quarter of the time: times, and bytes.
_TIMES, _BYTES = 1.25, 64 << 20


@dataclasses.dataclass(frozen=True)
class Asked:
    """A question for the health: when, its status (0: no answer), and seconds."""

    began: float
    status: int
    seconds: float

    @property
    def ended(self) -> float:
        """When it was over."""
        return self.began + self.seconds


def unexcused(asked: Sequence[Asked], kills: Sequence[tuple[float, float]]) -> list[Asked]:
    """Return the questions that had no answer in time. ``kills``: when an API process was killed, from and to.

    One under way at a kill does not count, and none without an answer between a kill and the next answer, if that comes soon:
    perhaps nobody listens there.
    """
    found, answered = [], 0.0
    for one in asked:
        if one.status == 200 and one.seconds <= SECOND:
            answered = one.ended
            continue
        killed = max((end for start, end in kills if start <= one.ended), default=-BACK)
        under_way = killed >= one.began
        nobody = one.status == 0 and one.seconds <= SECOND and answered <= killed and one.began <= killed + BACK
        if not (under_way or nobody):
            found.append(one)
    return found


class Siege:
    """All attacks, a watch on /healthcheck and on memory; from entering to leaving."""

    def __init__(self, deployment: Deployment):
        self._deployment = deployment
        self._crowds = [crowds.Crowd(deployment.port, kind, number) for kind, number in NUMBERS.items()]
        self._ended = threading.Event()
        self._watches = [threading.Thread(target=watch, daemon=True) for watch in (self._ask, self._weigh)]
        self.asked: list[Asked] = []
        self.memory: dict[str, list[int]] = {role: [] for role in deployment.roles}

    def __enter__(self) -> Self:
        for thread in (*self._watches, *self._crowds):
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        for crowd in self._crowds:
            crowd.stop()
        self._ended.set()
        for watch in self._watches:
            watch.join()

    def _ask(self) -> None:
        while not self._ended.wait(_PAUSE):
            began = time.monotonic()
            self.asked.append(Asked(began, *crowds.ask(self._deployment.port, '/healthcheck')))

    def _weigh(self) -> None:
        while not self._ended.wait(1.0):
            for role, figures in self.memory.items():
                figures.append(sum(map(_resident, self._deployment.children(role))))

    def problems(self, kills: Sequence[tuple[float, float]]) -> Iterator[str]:
        """Yield each, as a line."""
        for one in unexcused(self.asked, kills):
            yield f'/healthcheck: {one.status or "no answer"} after {one.seconds:.2f} s'
        for role, (warm, end) in self._quarters().items():
            if end > warm * _TIMES + _BYTES:
                yield f'memory of {role}: from {warm >> 20} to {end >> 20} MiB'

    def _quarters(self) -> dict[str, tuple[int, int]]:
        """Return the most memory that the processes of each role had in the second quarter, and in the last one."""
        found = {}
        for role, figures in self.memory.items():
            quarter = len(figures) // 4
            if quarter:
                found[role] = max(figures[quarter:2 * quarter]), max(figures[-quarter:])
        return found

    def summary(self) -> str:
        """Return what was done, in a few lines."""
        good = sorted(one.seconds for one in self.asked if one.status == 200) or [0.0]
        memory = ', '.join(f'{role} {warm >> 20} to {end >> 20} MiB' for role, (warm, end) in self._quarters().items())
        crowd = ', '.join(f'{crowd.name} {crowd.made}' for crowd in self._crowds)
        return (f'/healthcheck: asked {len(self.asked)} times, {len(good)} answers, median {good[len(good) // 2]:.3f} s, '
                f'slowest {good[-1]:.3f} s\nmemory in the second and in the last quarter: {memory}\nhostile clients: {crowd}')


def _resident(pid: int) -> int:
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0        # it was just killed
