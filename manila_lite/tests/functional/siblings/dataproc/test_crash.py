# SPDX-License-Identifier: Apache-2.0
"""The engine and the API are killed at every place of the plan; rows, mounts on nodes and access rules agree afterwards.

All stories are brought to their places in one engine, each with a cluster of its own; then the engine is killed.
"""

import concurrent.futures
import dataclasses
import json
import urllib.error
import urllib.request

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite.siblings.dataproc.converge import PLAN
from manila_lite.siblings.dataproc.db import models
from manila_lite.siblings.dataproc.states import CLUSTER, MOUNT, NODE
from manila_lite.tests import process, waiting
from manila_lite.tests.crash import places
from manila_lite.tests.functional import base as functional_base
from manila_lite.tests.functional.siblings.dataproc.base import LOGIN, Caller, Dataproc, group
from manila_lite.tests.functional.siblings.killed import Victims
from manila_lite.tests.functional.siblings.share_service import ShareServiceTest

#: Eight requests come at once, and each waits for the share service.
THREADS = '\n[dataproc]\nthreads = 32\n'
#: By request: the number of nodes before and after, and the steps that have something to do.
ASKED = {
    'create': (0, 1, 'arrange spawn prepare grant mount'),
    'update': (1, 1, 'unmount release mount'),
    'grow': (1, 2, 'spawn'),
    'shrink': (2, 1, 'unmount retire'),
    'delete': (1, 0, 'arrange unmount release retire'),
}


@dataclasses.dataclass
class Story:
    """One place of the plan, with a cluster and its share; an update replaces the share by another."""

    kind: str
    place: str
    project: str = dataclasses.field(default_factory=uuidutils.generate_uuid)
    cluster: str | None = None
    shares: tuple[str, ...] = ()

    @property
    def wanted(self):
        """By share, the number of nodes that mount it in the end."""
        return {self.shares[-1]: ASKED[self.kind][1]}


def stories():
    """Yield a story for each place."""
    for kind, (_, _, steps) in ASKED.items():
        for name in steps.split():
            for what in (places.BEFORE, places.AFTER):
                yield Story(kind, places.name('engine', PLAN.kind, what, name))
        yield Story(kind, places.name('engine', PLAN.kind, places.ENDED))


class Killed(Victims, ShareServiceTest):
    """A share service in this process, and a data-processing service whose engine is a process of its own."""

    MAIN = 'manila_lite.tests.functional.siblings.dataproc.victim:main'

    def setUp(self):
        super().setUp()
        self.dataproc = self.beside()
        self.engine = self.dataproc.services.db.engine
        file = self.dataproc.file
        self.port = process.free_port()
        file.write_text(
            file.read_text()
            .replace('listen_port = 0', f'listen_port = {self.port}\nfake_nodes = 200')
            .replace(
                '[operations]\n', '[operations]\nmax_attempts = 4\nworkers = 100\nreserved_workers = 0\n'
            )
        )
        self.prepare(self.MAIN, file.parent, file)

    def beside(self):
        """Return the data-processing service."""
        return self.useFixture(Dataproc(LOGIN.format(url=self.url) + THREADS, engine=False))

    def me(self, story):
        """Return the owner of a story."""
        return Caller(self.dataproc.app, story.project)

    def given(self, story):
        """Create the shares of the story, and its cluster as the request needs it."""
        owner = functional_base.Api(self.service.app, 'u', story.project, 'member,reader')
        story.shares = tuple(owner.share()['id'] for _ in range(2 if story.kind == 'update' else 1))
        if ASKED[story.kind][0]:
            story.cluster = self.me(story).ok(*self.creation(story, ASKED[story.kind][0]))['cluster']['id']

    def creation(self, story, count):
        return (
            'POST',
            '/clusters',
            {
                'name': 'one',
                'plugin_name': 'plain',
                'plugin_version': '1.0',
                'shares': [{'id': story.shares[0]}],
                'node_groups': [group(count=count)],
            },
        )

    def request(self, story):
        """Return method, path and body of the request."""
        one, count = f'/clusters/{story.cluster}', ASKED[story.kind][1]
        return {
            'create': self.creation(story, count),
            'delete': ('DELETE', one, None),
            'update': ('PATCH', one, {'shares': [{'id': story.shares[-1]}]}),
        }.get(story.kind, ('PUT', one, {'resize_node_groups': [{'name': 'workers', 'count': count}]}))

    def ask(self, story):
        """Send the request."""
        answer = self.me(story).ok(*self.request(story))
        story.cluster = story.cluster or answer['cluster']['id']

    def under_way(self):
        """Return open operations, and rows in transient statuses."""
        with self.engine.connect() as conn:
            open_rows = [
                tuple(row)
                for row in conn.execute(
                    sa.text(
                        "SELECT kind, resource_id, step, error FROM operations WHERE state NOT IN ('done', 'failed')"
                    )
                )
            ]
            for table, machine in (
                (models.clusters, CLUSTER),
                (models.instances, NODE),
                (models.share_mounts, MOUNT),
            ):
                column = table.c[machine.column]
                open_rows += [
                    tuple(row)
                    for row in conn.execute(
                        sa.select(table.c.id, column).where(column.in_(machine.transient))
                    )
                ]
        return open_rows

    def judge(self, cases):
        """Check that mounts and access rules agree with the rows and with the requests."""
        with self.engine.connect() as conn:
            nodes = {row.id: row for row in conn.execute(sa.select(models.instances))}
            mounts = list(conn.execute(sa.select(models.share_mounts)))
            grants = {row.id for row in conn.execute(sa.select(models.share_grants.c.id))}
            status = dict(conn.execute(sa.select(models.clusters.c.id, models.clusters.c.status)).all())
        problems = []
        on_nodes = {(ref, share) for ref, shares in self.dataproc.mounted().items() for share in shares}
        by_rows = {(nodes[mount.instance_id].infra_ref, mount.share_id) for mount in mounts}
        if on_nodes != by_rows or grants != {mount.grant_id for mount in mounts}:
            problems.append(f'on nodes {on_nodes}, by rows {by_rows}; grants {grants}')
        for story in cases:
            ended = status.get(story.cluster, 'gone')
            if ended != ('Active' if ASKED[story.kind][1] else 'gone'):
                problems.append(f'{story.kind}: {story.place}: {ended}')
            for share in story.shares:
                there = {nodes[mount.instance_id].internal_ip for mount in mounts if mount.share_id == share}
                rules = {rule.to for rule in self.shares.rules(share)}
                if rules != there or len(there) != story.wanted.get(share, 0):
                    problems.append(f'{story.kind}: {story.place}: rules {rules}, mounted {there}')
        self.assertEqual([], problems)


class EngineTest(Killed):
    """One engine, which is started again after its death."""

    def test_every_step_does_something_in_some_case(self):
        self.assertEqual(set(PLAN.names), {name for _, _, steps in ASKED.values() for name in steps.split()})

    def test_killed_at_every_place(self):
        self.killed_at(list(stories()))

    def killed_at(self, cases):
        """Kill one engine at all these places, and check that the requests are completed nevertheless."""
        self.spawn('engine')
        with concurrent.futures.ThreadPoolExecutor(8) as workers:
            list(workers.map(self.given, cases))
            self.until('under way before', self.under_way)
            for story in cases:
                self.orders.give(story.project, hold=story.place)
            list(workers.map(self.ask, cases))
        self.kill([story.project for story in cases])
        self.until('under way', self.under_way)
        self.judge(cases)


class ApiTest(Killed):
    """A request is carried out without a wake-up, or nothing of it was stored."""

    def test_killed_before_and_after_the_commit(self):
        cases = [Story(kind, places.committed('api')) for kind in ASKED]
        lost = Story('delete', places.uncommitted('api'))
        self.spawn('engine')
        self.spawn('api')
        for story in (*cases, lost):
            self.given(story)
            self.orders.give(story.project, hold=story.place)
        self.until('under way before', self.under_way)
        self.killed(cases)
        self.until('under way', self.under_way)
        with self.engine.connect() as conn:
            cases[0].cluster = conn.execute(
                sa.select(models.clusters.c.id).where(models.clusters.c.project_id == cases[0].project)
            ).scalar()
        self.judge(cases)
        self.killed([lost])
        self.assertEqual([], self.under_way())
        self.assertEqual('Active', self.me(lost).ok('GET', f'/clusters/{lost.cluster}')['cluster']['status'])
        self.ask(lost)
        self.until('under way', self.under_way)
        self.judge([*cases, lost])

    def killed(self, cases):
        """Kill the API while it answers these requests."""
        self.until('no API', lambda: not self.answers())
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as workers:
            asked = [workers.submit(self.send, story) for story in cases]
            self.kill([story.project for story in cases])
            self.assertEqual(['lost'] * len(cases), [one.result() for one in asked])

    def send(self, story):
        """Send the request to the process. Return the status, or "lost" without an answer."""
        method, path, body = self.request(story)
        sent = urllib.request.Request(
            f'http://127.0.0.1:{self.port}/v2{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={'X-Auth-Token': f'u:{story.project}:member,reader', 'Content-Type': 'application/json'},
        )
        try:
            with urllib.request.urlopen(sent, timeout=waiting.LIMIT) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()
        except OSError:
            return 'lost'

    def answers(self):
        """Say whether the API answers."""
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/v2', timeout=waiting.LIMIT) as answer:
                return answer.status == 200
        except OSError:
            return False
