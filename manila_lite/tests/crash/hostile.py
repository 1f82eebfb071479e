# SPDX-License-Identifier: Apache-2.0
"""Attacks during a soak with load and kills, and requirements for answers and memory."""

import base64
import dataclasses
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import bcrypt
import fixtures
import psutil

from manila_lite.tests import hush, waiting
from manila_lite.tests.crash import names
from manila_lite.tests.crash.deployment import Deployment, Servers
from manila_lite.tests.security import crowds

#: Number of clients of each kind: together more than the connections of both API processes.
NUMBERS = {
    'idle': 2000,
    'slow headers': 100,
    'slow bodies': 50,
    'slow chunks': 50,
    'bad requests': 30,
    'blanks': 20,
    'cookies': 20,
    'allowed cookies': 20,
    'lines of chunks': 20,
    'unread answers': 50,
    'guesses': 40,
}
#: The cost of bcrypt for the password that is guessed, and for others.
_DEAR, _CHEAP = 10, 4
_LOGIN = """auth_strategy = http_basic
[api]
http_basic_auth_user_file = {file}
http_basic_accounts = {accounts}
"""
#: Seconds for an answer of /healthcheck; between requests; and for the API to come back after a kill.
SECOND, _PAUSE, BACK = 1.0, 0.1, 30.0
#: Limit of a role's memory at the end, compared with the second quarter of the time: factor, and bytes more.
_TIMES, _BYTES = 1.25, 64 << 20


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request for the health: its time, status (0: no answer), and seconds."""

    began: float
    status: int
    seconds: float

    @property
    def ended(self) -> float:
        """Return the time of its end."""
        return self.began + self.seconds


def unexcused(asked: Sequence[Asked], kills: Sequence[tuple[float, float]]) -> list[Asked]:
    """Return the requests without an answer in time. ``kills``: begin and end of each kill of an API process.

    A request in progress at a kill does not count. Nor does one without an answer between a kill and the next answer,
    if that comes soon: perhaps no process listens then.
    """
    bad, answered = [], 0.0
    for one in asked:
        if one.status == 200 and one.seconds <= SECOND:
            answered = one.ended
            continue
        killed = max((end for start, end in kills if start <= one.ended), default=-BACK)
        under_way = killed >= one.began
        nobody = (
            one.status == 0 and one.seconds <= SECOND and answered <= killed and one.began <= killed + BACK
        )
        if not (under_way or nobody):
            bad.append(one)
    return bad


def _besiege(port: int, end: Any) -> None:
    """Run all crowds until told to stop, in a process of its own; then send the numbers of their connections."""
    mine = [crowds.Crowd(port, kind, number, pause=1.0) for kind, number in NUMBERS.items()]
    for crowd in mine:
        crowd.start()
    end.recv()
    for crowd in mine:
        crowd.stop()
    end.send({crowd.name: crowd.made for crowd in mine})


def _watch(port: int, end: Any) -> None:
    """Ask for the health until told to stop, in a process of its own; then send the answers."""
    asked = []
    while not end.poll(_PAUSE):
        began = time.monotonic()
        asked.append(Asked(began, *crowds.ask(port, '/healthcheck')))
    end.send(asked)


class Guarded(Deployment):
    """A deployment whose users, named like their projects, have passwords. Somebody guesses that of one of them."""

    def __init__(self, servers: Servers, projects: Sequence[str], **more: Any):
        super().__init__(servers, **more)
        self._passwords = {user: hush.secret(user) for user in ('admin', *projects)}

    def _setUp(self) -> None:
        file = Path(self.useFixture(fixtures.TempDir()).path, 'users')
        file.write_text(
            ''.join(f'{user}:{_hashed(user, password)}\n' for user, password in self._passwords.items())
        )
        self._more = _LOGIN.format(
            file=file, accounts=','.join(f'{user}:{user}:admin+member+reader' for user in self._passwords)
        )
        super()._setUp()

    def login(self, project: str) -> dict[str, str]:
        """See ``Deployment.login``."""
        return {
            'Authorization': f'Basic {base64.b64encode(f"{project}:{self._passwords[project]}".encode()).decode()}'
        }


def _hashed(user: str, password: str) -> str:
    return bcrypt.hashpw(
        password.encode(), bcrypt.gensalt(_DEAR if user == crowds.GUESSED else _CHEAP)
    ).decode()


class _Apart:
    """``work(what, end of a pipe)`` in a process of its own, so that it waits for nothing else here."""

    def __init__(self, work: Callable[[Any, Any], None], what: Any):
        context = multiprocessing.get_context('spawn')
        self._end, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(what, theirs), name=work.__name__, daemon=True)
        self._process.start()

    def stop(self) -> Any:
        """End the work; return its result."""
        self._end.send('enough')
        if not self._end.poll(waiting.LIMIT):
            self._process.kill()
            raise TimeoutError(f'{self._process.name}: it does not end')
        said = self._end.recv()
        self._process.join()
        return said


class Siege:
    """All attacks, with a watch on /healthcheck, on memory and on a copy, for the time of the context."""

    def __init__(self, deployment: Deployment):
        self._deployment = deployment
        self._ended = threading.Event()
        self._weighing = threading.Thread(target=self._weigh, daemon=True)
        self.asked: list[Asked] = []
        self.made: dict[str, int] = {}
        self.copied = names.Copied()
        self.memory: dict[str, list[int]] = {role: [] for role in deployment.roles}

    def __enter__(self) -> Self:
        self._watcher, self._besiegers = (_Apart(work, self._deployment.port) for work in (_watch, _besiege))
        self._copy_client = _Apart(names.copy, str(self._deployment.state / 'names'))
        self._weighing.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self.made, self.asked, self.copied = (
            self._besiegers.stop(),
            self._watcher.stop(),
            self._copy_client.stop(),
        )
        self._weighing.join()

    def _weigh(self) -> None:
        while not self._ended.wait(1.0):
            for role, figures in self.memory.items():
                figures.append(sum(map(_resident, self._deployment.children(role))))

    def problems(self, kills: Sequence[tuple[float, float]]) -> Iterator[str]:
        """Yield each problem, as a line."""
        for one in unexcused(self.asked, kills):
            yield f'/healthcheck: {one.status or "no answer"} after {one.seconds:.2f} s'
        for role, (warm, end) in self._quarters().items():
            if end > warm * _TIMES + _BYTES:
                yield f'memory of {role}: from {warm >> 20} to {end >> 20} MiB'
        if self.copied.longest > SECOND:
            yield f'copies of hostile names: another thread waited {self.copied.longest:.2f} s'
        yield from (f'copies of hostile names: {wrong}' for wrong in self.copied.wrong)

    def _quarters(self) -> dict[str, tuple[int, int]]:
        """Return the most memory of each role's processes in the second quarter, and in the last one."""
        growth = {}
        for role, figures in self.memory.items():
            quarter = len(figures) // 4
            if quarter:
                growth[role] = max(figures[quarter : 2 * quarter]), max(figures[-quarter:])
        return growth

    def summary(self) -> str:
        """Return a summary in a few lines."""
        good = sorted(one.seconds for one in self.asked if one.status == 200) or [0.0]
        memory = ', '.join(
            f'{role} {warm >> 20} to {end >> 20} MiB' for role, (warm, end) in self._quarters().items()
        )
        crowd = ', '.join(f'{kind} {made}' for kind, made in self.made.items())
        return (
            f'/healthcheck: asked {len(self.asked)} times, {len(good)} answers, median {good[len(good) // 2]:.3f} s, '
            f'slowest {good[-1]:.3f} s\nmemory in the second and in the last quarter: {memory}\nhostile clients: {crowd}\n'
            f'copies of hostile names: {self.copied.number}; another thread waited {self.copied.longest:.3f} s at most'
        )


def _resident(pid: int) -> int:
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0  # it was just killed
