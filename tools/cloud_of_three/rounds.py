# SPDX-License-Identifier: Apache-2.0
"""Rounds: one thing befalls the cloud, it ends, and when all is quiet the invariants are checked."""

import collections
import json
import statistics
import time

import sqlalchemy as sa

from cloud_of_three import faults, services, storage, users
from manila_lite.tests import waiting
from manila_lite.tests.crash import truth


class Rounds:
    """A run: a cloud that is up, clients and a writer. ``found``: what was wrong, in lines; ``checks``: how many were made."""

    def __init__(self, cloud, seed, clients=2):
        self.cloud, self.seed = cloud, seed
        self._chance = faults.Chances(seed)
        self.found, self.checks = [], 0
        self._kinds, self._pauses = collections.Counter(), []
        self._admin = cloud.api('admin')
        network, *others = cloud.share_networks()
        self._engine = sa.create_engine(cloud.database.url, poolclass=sa.NullPool)
        self._writer = users.Writer(cloud.api('demo'), network)
        self._clients = [
            users.Mover(0, cloud.api('demo'), others, self._admin),
            *(users.Client(number, cloud.api('demo'), network) for number in range(1, clients + 1)),
        ]

    def run(self, count, only=None):
        """Run so many rounds; ``only``: the names of their faults."""
        for client in self._clients:
            client.start()
        for number in range(1, count + 1):
            self._round(number, only or list(faults.FAULTS))
        for client in self._clients:
            client.end()
        self._writer.end()
        granted = sum(client.granted for client in self._clients)
        done = f'{self.checks} checks, {granted} requests granted, {len(self.found)} problems'
        print(', '.join(f'{kind} {times}' for kind, times in sorted(self._kinds.items())))
        print(
            f'longest pause of the writer in a round: median {statistics.median(self._pauses):.1f} s, ',
            end='',
        )
        print(f'longest {max(self._pauses):.1f} s')
        print(f'{count} rounds with seed {self.seed}: {done}')

    def _round(self, number, names):
        begin = time.monotonic()
        for client in self._clients:
            client.go_on()
        # What else befalls the cloud befalls this release.
        kind = 'upgrade' if self.cloud.services.is_earlier() else self._chance.draw('fault', names)
        self._kinds[kind] += 1
        with faults.happens(kind, self.cloud, self._chance) as what:
            print(f'round {number:3}: {what}', flush=True)
            faults.last(self._chance)
        ended = time.monotonic()
        problems = self._settle()
        settled = time.monotonic()
        problems += self._check()
        self._pauses.append(self._pause(problems))
        self.found += problems
        print(
            f'    {ended - begin:.0f} s, quiet after {settled - ended:.0f} s, '
            f'longest pause of the writer {self._pauses[-1]:.1f} s: {"ok" if not problems else "NOT OK"}',
            *(f'    {line}' for line in problems),
            sep='\n',
            flush=True,
        )

    def _pause(self, problems):
        try:
            return self._writer.pause()
        except (waiting.Late, AssertionError) as bad:
            problems.append(f'stuck: the writer: {bad}')
            return 0.0

    def _settle(self):
        """Wait until all is quiet; return lines about what does not get so."""
        found = []
        for what in (self.cloud.up, *(client.pause for client in self._clients), self._quiet):
            try:
                what()
            except (waiting.Late, OSError) as bad:
                found.append(f'stuck: {bad}')
        for client in self._clients:
            found += client.failed
            client.failed.clear()
        return found

    def _quiet(self):
        seen = []

        def quiet():
            seen[:] = [*self.cloud.problems(), *self._down(), *self._unsettled()]
            return not seen

        waiting.until(
            quiet, lambda: '; '.join(seen), pause=0.5, ignoring=(OSError, AssertionError, sa.exc.DBAPIError)
        )

    def _down(self):
        shown = self._admin.ok('GET', '/services')['services']
        return [
            f'{one["binary"]} of {one["host"]} is {one["state"]}' for one in shown if one['state'] != 'up'
        ]

    def _unsettled(self):
        return [line for rows in truth.read(self._engine).values() for line in rows.unsettled()]

    # Invariants -------------------------------------------------------------------------------------

    def _check(self):
        found = []
        for check in (
            self._rows,
            self._addresses,
            self._mounts,
            self._writer.differences,
            *(one.differences for one in self._clients),
        ):
            self.checks += 1
            try:
                found += check()
            except Exception as bad:
                found.append(f'not checked: {check.__name__}: {type(bad).__name__} {bad}')
        return found

    def _rows(self):
        """Yield what is not settled, counted wrong, or failed without a message."""
        for project, rows in truth.read(self._engine).items():
            yield from rows.unsettled()
            yield from truth.untold(rows)
            if rows.shares or rows.networks:
                yield from truth.quota(self._admin, project, rows)

    def _addresses(self):
        """Yield each address that two share servers have, on whatever host."""
        seen = collections.Counter()
        for host in self.cloud.storage:
            for space in host.spaces():
                links = json.loads(host.run('ip', '-n', space, '-json', 'address') or '[]')
                seen.update(
                    one['local']
                    for link in links
                    for one in link['addr_info']
                    if one['local'].startswith(services.RANGE)
                )
        yield from (
            f'twice: address {address}, {count} times' for address, count in seen.items() if count > 1
        )

    def _mounts(self):
        """Yield each pool that two hosts have mounted."""
        for backend in storage.BACKENDS:
            has = [
                host.name
                for host in self.cloud.storage
                if any(f'/{backend}/' in one for one in host.mounted())
            ]
            if len(has) > 1:
                yield f'twice: the pool of {backend} is mounted on {" and ".join(has)}'
