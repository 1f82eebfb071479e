# SPDX-License-Identifier: Apache-2.0
"""Upgrades from the release before, and back, again and again under load: ``tools/soak --upgrade``."""

import itertools
import time
from collections.abc import Iterator

from manila_lite.tests.crash.deployment import Servers
from manila_lite.tests.progress import Progress
from manila_lite.tests.upgrade import steps
from manila_lite.tests.upgrade.cluster import Cluster
from manila_lite.tests.upgrade.load import Load

_USERS = 6


class Soak:
    """One soak. It ends with the way that is under way after ``seconds``."""

    def __init__(self, cluster: Cluster, seconds: float):
        self.cluster = cluster
        self.seconds = seconds
        self.load = Load(cluster, _USERS)
        #: Ways gone, there or back.
        self.ways = 0

    def run(self) -> dict[str, list[str]]:
        """Upgrade and take back under load until the time is over; return problems as lines, by where they showed."""
        progress, end = Progress(self.seconds), time.monotonic() + self.seconds
        self.load.start()
        try:
            for way in itertools.cycle((steps.upgrade, steps.back)):
                for step in way(self.cluster):
                    self.load.go_on(_USERS)
                    progress.show(f'{self._asked()} requests, {len(self.load.problems)} problems, {step}')
                self.ways += 1
                if time.monotonic() > end:
                    break
        except BaseException:
            self.load.abandon()
            raise
        self.load.stop()
        return {
            'failures of clients': self.load.problems,
            'errors at the end': list(self.cluster.problems()),
            'errors in logs': self.cluster.complaints(),
        }

    def _asked(self) -> int:
        return sum(requests.count for requests in list(self.load.record.requests.values()))

    def table(self) -> Iterator[str]:
        """Yield the lines of a table of all requests, by kind."""
        yield f'{"":60} {"requests":>8} {"refused":>8} {"no answer":>9} {"slowest":>8}'
        found = self.load.record.requests
        for kind in sorted(found):
            one = found[kind]
            yield f'{kind:60} {one.count:8} {one.refused:8} {one.unanswered:9} {one.slowest:6.2f} s'
        every = found.values()
        yield (
            f'{"all":60} {sum(one.count for one in every):8} {sum(one.refused for one in every):8} '
            f'{sum(one.unanswered for one in every):9} {max(one.slowest for one in every):6.2f} s'
        )


def run(servers: Servers, seconds: float) -> int:
    """Run a soak on these servers; print what became of it. Return 0 without any problem."""
    with servers, Cluster(servers.server, servers.bus) as cluster:
        cluster.begin()
        soak = Soak(cluster, seconds)
        problems = soak.run()
        print()
        for line in soak.table():
            print(line)
        rounds = soak.load.record.rounds
        print(
            f'from {cluster.before.release.version}: {soak.ways} ways, there or back; {rounds["User"]} rounds of users, '
            f'{rounds["Mover"]} migrations'
        )
        print(', '.join(f'{where}: {len(found)}' for where, found in problems.items()))
        for found in problems.values():
            for problem in found:
                print(problem)
        bad = any(problems.values())
        print('problems' if bad else 'clean')
        return 1 if bad else 0
