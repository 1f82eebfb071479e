# SPDX-License-Identifier: Apache-2.0
"""A mixed load while every few seconds something at random is killed with -9; at the end all must be at its end and true."""

import argparse
import collections
import contextlib
import functools
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from manila_lite.tests import waiting
from manila_lite.tests.crash import truth
from manila_lite.tests.crash.deployment import DATABASES, Deployment, Servers
from manila_lite.tests.crash.hostile import Guarded, Siege
from manila_lite.tests.crash.load import Client
from manila_lite.tests.progress import Progress
from manila_lite.tests.upgrade import soak as upgrade_soak

ROLES = ('api', 'scheduler', 'share1', 'share2')
PROJECTS = tuple(f'p{number}' for number in range(8))
#: Seconds between kills, random in this range; until all must be quiet at the end.
_KILL_EVERY = (1.5, 4.0)


class Killer:
    """Random kills, with a new start of all that does not restart by itself. To be used from one thread that lives on:
    servers of the tests end with the thread that started them.
    """

    def __init__(self, deployment: Deployment, seed: int):
        self.deployment = deployment
        self.counts: collections.Counter[str] = collections.Counter()
        #: Begin and end of each kill of an API process.
        self.api_kills: list[tuple[float, float]] = []
        self._random = random.Random(seed)
        self._deaths: list[tuple[str, Callable[[], None]]] = [
            *((f'{role} worker', lambda role=role: self._worker(role)) for role in ROLES for _ in range(3)),
            *((f'{role} command', lambda role=role: self._command(role)) for role in ROLES),
        ]
        if deployment.servers.broker:
            self._deaths += [('broker', self._broker), ('database connections', self._cut)] * 2

    def pause(self) -> float:
        """Return the seconds until the next kill."""
        return self._random.uniform(*_KILL_EVERY)

    def kill(self) -> str:
        """Kill a random part of the deployment; return its name."""
        name, death = self._random.choice(self._deaths)
        began = time.monotonic()
        death()
        if name.startswith('api'):
            self.api_kills.append((began, time.monotonic()))
        self.counts[name] += 1
        return name

    def _worker(self, role: str) -> None:
        children = self.deployment.children(role)
        if children:
            self.deployment.kill(self._random.choice(children))

    def _command(self, role: str) -> None:
        self.deployment.kill_all_of(role)
        self.deployment.start(role)

    def _broker(self) -> None:
        self.deployment.servers.broker.abort()
        self.deployment.servers.broker.start()

    def _cut(self) -> None:
        self.deployment.cut()


class Soak:
    """One soak."""

    def __init__(self, deployment: Deployment, seconds: float, seed: int, *, hostile: bool = False):
        """``hostile``: hostile clients attack the API all the time."""
        self.deployment = deployment
        self.siege = Siege(deployment) if hostile else None
        self.seconds = seconds
        self._ended = threading.Event()
        self.clients = [
            Client(deployment, project, seed * 100 + number, self._ended)
            for number, project in enumerate(PROJECTS)
        ]
        self.killer = Killer(deployment, seed)

    def run(self) -> list[str]:
        """Load and kill, wait for quiet; return every problem as a line."""
        progress = Progress(self.seconds)
        for client in self.clients:
            client.start()
        end = time.monotonic() + self.seconds
        with self.siege or contextlib.nullcontext():
            try:
                while (left := end - time.monotonic()) > 0:
                    self._ended.wait(min(self.killer.pause(), left))
                    killed = self.killer.kill()
                    asked = sum(sum(client.counts.values()) for client in self.clients)
                    progress.show(f'{asked} requests, {self.killer.counts.total()} kills, last: {killed}')
            finally:
                self._ended.set()
                for client in self.clients:
                    client.join()
        besieged = self.siege.problems(self.killer.api_kills) if self.siege else ()
        return [*self._unsettled(), *self.check(), *besieged]

    def _unsettled(self) -> Iterator[str]:
        """Wait until all is quiet; yield resources that are not settled."""
        left: list[str] = []

        def quiet() -> bool:
            left[:] = [
                what for rows in truth.read(self.deployment.engine).values() for what in rows.unsettled()
            ]
            return not left

        with contextlib.suppress(waiting.Late):
            waiting.until(quiet, 'quiet', pause=0.3)
        yield from (f'stuck: {what}' for what in left)

    def check(self) -> Iterator[str]:
        """Yield all violations of the required state when all is quiet."""
        deployment = self.deployment
        deployment.eventually(lambda: deployment.call('GET', '/healthcheck', prefix='')[0] == 200, 'the API')
        projects = truth.read(deployment.engine)
        backends = truth.Backends(deployment.state, deployment.BACKENDS)
        yield from (what for _, what in backends.orphans(projects))
        for client in self.clients:
            rows = projects[client.project]
            yield from backends.differences(rows)
            yield from truth.quota(deployment, client.project, rows)
            yield from truth.untold(rows)
            for resource_type, promised in client.promised.items():
                lost = promised - client.deleted - set(rows.of(resource_type))
                yield from (f'lost: {resource_type} {resource_id} was promised' for resource_id in lost)
            yield from (f'wrong: {what}' for what in client.refused)
            if not client.counts['200']:
                yield f'kept out: {client.project} got no answer that it asked for'

    def summary(self) -> str:
        """Return a summary in a few lines."""
        answers: collections.Counter[str] = collections.Counter()
        for client in self.clients:
            answers.update(client.counts)
        projects = truth.read(self.deployment.engine)
        states = collections.Counter(
            f'{resource_type} {state}'
            for rows in projects.values()
            for resource_type in ('share', 'snapshot', 'rule')
            for state in rows.of(resource_type).values()
        )
        ended = collections.Counter(
            f'{op.kind} {op.state}' for rows in projects.values() for op in rows.operations
        )
        lines = [
            f'{name}: ' + ', '.join(f'{key} {count}' for key, count in sorted(counts.items()))
            for name, counts in (
                ('answers', answers),
                ('kills', self.killer.counts),
                ('operations', ended),
                ('at the end', states),
            )
        ]
        return '\n'.join([*lines, *([self.siege.summary()] if self.siege else [])])


def deployment_of(servers: Servers, *, hostile: bool = False) -> Deployment:
    """Return the deployment of a soak: two API workers, a scheduler, and two managers for the same two backends.

    ``hostile``: users have passwords, which are guessed.
    """
    make = functools.partial(Guarded, projects=PROJECTS) if hostile else Deployment
    return make(servers, roles=ROLES, victims=False, api_workers=2, workers=16, lease=6, knobs='*:delay=0.1')


def main(words: Sequence[str]) -> int:
    """Run the command; 0 without any problem."""
    parser = argparse.ArgumentParser(prog='tools/soak', description=__doc__)
    parser.add_argument('--minutes', type=float, default=10.0)
    parser.add_argument(
        '--seed', type=int, default=random.randrange(10000), help='of what is asked for and what is killed'
    )
    parser.add_argument('--database', choices=DATABASES, default='postgresql')
    parser.add_argument('--hostile', action='store_true', help='strangers try to stop the API meanwhile')
    parser.add_argument(
        '--upgrade', action='store_true', help='upgrade from the release before, and back, and kill nothing'
    )
    chosen = parser.parse_args(words)
    if chosen.upgrade:
        return upgrade_soak.run(Servers(chosen.database), chosen.minutes * 60)
    print(f'seed {chosen.seed}', flush=True)
    with Servers(chosen.database) as servers, deployment_of(servers, hostile=chosen.hostile) as deployment:
        soak = Soak(deployment, chosen.minutes * 60, chosen.seed, hostile=chosen.hostile)
        problems = soak.run()
        print(f'\n{soak.summary()}')
        for problem in problems:
            print(problem)
        print('clean' if not problems else f'{len(problems)} problems')
        return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
