# SPDX-License-Identifier: Apache-2.0
"""The agent and the API are killed at every place of every plan; rows, guests, mounts and access rules agree afterwards.

All stories are brought to their places in one agent, each with a server of its own; then the agent is killed.
"""

import concurrent.futures
import dataclasses
import json
import urllib.error
import urllib.request

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite.siblings.compute.agent import PLANS
from manila_lite.siblings.compute.db import models
from manila_lite.siblings.compute.states import ATTACHMENT, SERVER
from manila_lite.tests import process, waiting
from manila_lite.tests.crash import places
from manila_lite.tests.functional import base as functional_base
from manila_lite.tests.functional.siblings import killed
from manila_lite.tests.functional.siblings.compute.base import Caller, Compute
from manila_lite.tests.functional.siblings.share_service import ShareServiceTest

_SPEC = {
    'memory': 64,
    'vcpus': 1,
    'image': 'disk',
    'kernel': None,
    'initrd': None,
    'cmdline': '',
    'disk': 0,
    'shared_memory': True,
    'metadata': {},
    'user_data': None,
}

#: By kind of operation: the server's status before, whether a share is attached, the request, and the final status.
ASKED = {
    'server.create': ('', False, None, 'active'),
    'server.start': ('stopped', True, {'os-start': None}, 'active'),
    'server.stop': ('active', True, {'os-stop': None}, 'stopped'),
    'server.reboot': ('active', False, {'reboot': {'type': 'SOFT'}}, 'active'),
    'server.hard_reboot': ('active', True, {'reboot': {'type': 'HARD'}}, 'active'),
    'server.suspend': ('active', False, {'suspend': None}, 'suspended'),
    'server.resume': ('suspended', False, {'resume': None}, 'active'),
    'server.rebuild': ('stopped', False, {'rebuild': {}}, 'stopped'),
    'server.rebuild_on': ('active', False, {'rebuild': {}}, 'active'),
    'server.resize': ('stopped', False, {'resize': {'memory': 128}}, 'stopped'),
    'server.resize_on': ('active', False, {'resize': {'memory': 128}}, 'active'),
    'server.image': ('stopped', False, {'createImage': {'name': 'image'}}, 'stopped'),
    'server.image_on': ('active', False, {'createImage': {'name': 'image'}}, 'active'),
    'server.console': ('stopped', False, {'os-getConsoleOutput': {}}, 'stopped'),
    'server.delete': ('active', True, 'DELETE', 'gone'),
    'image.delete': ('stopped', False, 'FORGET', 'gone'),
    'attachment.attach': ('stopped', False, 'ATTACH', 'inactive'),
    'attachment.detach': ('stopped', True, 'DETACH', 'gone'),
}
#: Plans that are undone when their last step is refused, and the final status then.
UNDONE = {
    'server.create': 'error',
    'server.start': 'error',
    'server.hard_reboot': 'error',
    'attachment.attach': 'error',
}


@dataclasses.dataclass
class Story:
    """One place of a plan, with the server of the test."""

    kind: str
    place: str
    end: str
    refused: str | None = None
    project: str = dataclasses.field(default_factory=uuidutils.generate_uuid)
    server: str = dataclasses.field(default_factory=uuidutils.generate_uuid)
    share: str | None = None

    @property
    def orders(self):
        more = (
            {}
            if self.refused is None
            else {'fail': places.name('agent', self.kind, places.FAILS, self.refused)}
        )
        return {'hold': self.place, **more}


def stories():
    """Yield a story for each place."""
    for plan in PLANS:
        end = ASKED[plan.kind][3]
        last = plan.names[-1]
        for step in plan.names:
            for what in (places.BEFORE, places.AFTER):
                yield Story(plan.kind, places.name('agent', plan.kind, what, step), end)
        yield Story(plan.kind, places.name('agent', plan.kind, places.ENDED), end)
        if plan.kind in UNDONE:
            yield Story(
                plan.kind, places.name('agent', plan.kind, places.RAISED, last), UNDONE[plan.kind], last
            )
        for step in (step.name for step in plan.steps if step.undo):
            for what in (places.UNDO, places.UNDONE):
                yield Story(plan.kind, places.name('agent', plan.kind, what, step), UNDONE[plan.kind], last)


class Killed(killed.Victims, ShareServiceTest):
    """A share service in this process, and a compute service whose agent is a process of its own."""

    def setUp(self):
        super().setUp()
        # All requests come at once, and those with shares wait for the share service.
        self.compute = self.useFixture(Compute(self.url, 'threads = 500\n', agent=False))
        self.engine = self.compute.services.db.engine
        text = self.compute.file.read_text().replace(
            'max_attempts = 2', 'max_attempts = 4\nworkers = 200\nfast_workers = 20\nreserved_workers = 0'
        )
        self.port = process.free_port()
        self.compute.file.write_text(text.replace('listen_port = 0', f'listen_port = {self.port}'))
        self.prepare(
            'manila_lite.tests.functional.siblings.compute.victim:main', self.compute.state, self.compute.file
        )

    def caller(self, project='p', **more):
        """Return a caller of the share service."""
        return functional_base.Api(self.service.app, 'u', project, 'member,reader', **more)

    def me(self, story):
        """Return the owner of a story."""
        return Caller(self.compute.app, story.project)

    # Before the kill

    def given(self, story):
        """Bring the server of the story into the state that the request needs."""
        status, shared, _, _ = ASKED[story.kind]
        if shared or story.kind.startswith('attachment.'):
            story.share = self.caller(story.project).share()['id']
        if shared:
            self.me(story).attach(story.server, story.share)
        if shared and status == 'active':
            self.me(story).act(story.server, 'os-start')
            self.me(story).wait(story.server, 'ACTIVE')

    def guests(self, cases):
        """Create the servers of these stories in the database and on the host. Servers with shares are off."""
        power = {'active': 'running', 'stopped': 'off', 'suspended': 'saved'}
        first = {story.server: 'stopped' if ASKED[story.kind][1] else ASKED[story.kind][0] for story in cases}
        with self.engine.begin() as conn:
            conn.execute(
                models.servers.insert(),
                [
                    {
                        'id': story.server,
                        'project_id': story.project,
                        'user_id': 'u',
                        'name': 's',
                        'host': 'here',
                        'status': first[story.server],
                        'spec': _SPEC,
                        'created_at': timeutils.utcnow(),
                    }
                    for story in cases
                    if first[story.server]
                ],
            )
            for story in cases:
                if story.kind == 'image.delete':
                    conn.execute(
                        models.server_images.insert(),
                        {
                            'id': uuidutils.generate_uuid(),
                            'project_id': story.project,
                            'name': 'old',
                            'host': 'here',
                            'server_id': story.server,
                            'ready': True,
                            'created_at': timeutils.utcnow(),
                        },
                    )
        guests = {
            server_id: {'power': power[status], 'shares': {}, 'console': ''}
            for server_id, status in first.items()
            if status
        }
        self.compute.folder.mkdir(parents=True, exist_ok=True)
        (self.compute.folder / 'records.json').write_text(
            json.dumps({'servers': guests, 'mounts': {}, 'images': []})
        )

    def ask(self, story):
        """Send the request."""
        me, request = self.me(story), ASKED[story.kind][2]
        if story.kind == 'server.create':
            story.server = me.ok('POST', '/servers', {'server': {'name': 's', 'imageRef': 'disk'}})['server'][
                'id'
            ]
        elif request == 'DELETE':
            me.ok('DELETE', f'/servers/{story.server}')
        elif request == 'FORGET':
            me.ok('DELETE', '/images/old')
        elif request == 'ATTACH':
            me.attach(story.server, story.share, until=None)
        elif request == 'DETACH':
            me.ok('DELETE', f'/servers/{story.server}/shares/{story.share}')
        else:
            me.call(
                'POST', f'/servers/{story.server}/action', request
            )  # a console request may be refused at first

    # After the kill

    def open(self):
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
            for table, machine in ((models.servers, SERVER), (models.share_attachments, ATTACHMENT)):
                query = sa.select(table.c.id, table.c.status).where(table.c.status.in_(machine.transient))
                open_rows += [tuple(row) for row in conn.execute(query)]
        return open_rows

    def hosts(self):
        with self.engine.connect() as conn:
            return conn.execute(sa.select(models.hosts.c.host)).all()

    def judge(self, cases):
        """Check that the host agrees with the database, and that each story ended as it should."""
        with self.engine.connect() as conn:
            servers = {row.id: row for row in conn.execute(sa.select(models.servers))}
            attached = list(conn.execute(sa.select(models.share_attachments)))
            grants = list(conn.execute(sa.select(models.share_grants)))
        records = self.compute.records()
        problems = []
        for server_id, row in servers.items():
            guest = records['servers'].get(server_id, {'power': 'off', 'shares': {}})
            mine = [one for one in attached if one.server_id == server_id]
            want = {'active': 'running', 'suspended': 'saved'}.get(row.status, 'off')
            tags = {one.tag for one in mine if one.status == 'active'}
            if (
                guest['power'] != want
                or set(guest['shares']) != tags
                or bool(tags) != (row.status == 'active' and bool(mine))
            ):
                problems.append(f'{server_id} is {row.status} with {tags}, and its guest {guest}')
        needed = {one.export_location for one in attached if one.status == 'active'}
        if set(records['mounts'].values()) != needed or set(records['servers']) - set(servers):
            problems.append(
                f'mounted: {records["mounts"]}, needed: {needed}; guests: {set(records["servers"]) - set(servers)}'
            )
        if {row.id for row in grants} != {row.grant_id for row in attached if row.grant_id}:
            problems.append(f'grants: {grants}')
        wanted = {row.share_id for row in attached if row.grant_id}
        for story in cases:
            # A failed attachment may have made a rule; the rule is removed when the share is detached.
            if story.share is not None and story.end != 'error':
                rules = self.shares.rules(story.share)
                if bool(rules) != (story.share in wanted):
                    problems.append(f'{story.place}: rules {rules}, wanted: {story.share in wanted}')
            ended = self.ended(story, servers, attached)
            if ended != story.end:
                problems.append(f'{story.place}: {ended}, not {story.end}')
        self.assertEqual([], problems)

    def ended(self, story, servers, attached):
        if story.kind.startswith('attachment.'):
            return next((one.status for one in attached if one.server_id == story.server), 'gone')
        if story.kind.startswith('image.'):
            return self.me(story).call('GET', '/images/old')[0] == 404 and 'gone'
        return servers[story.server].status if story.server in servers else 'gone'


class AgentTest(Killed):
    def test_every_plan_is_asked_for(self):
        self.assertEqual(set(ASKED), {plan.kind for plan in PLANS})

    def test_killed_at_every_place(self):
        cases = list(stories())
        self.guests(cases)
        self.spawn('agent')
        self.until('no host', lambda: not self.hosts())
        with concurrent.futures.ThreadPoolExecutor(16) as workers:
            list(workers.map(self.given, cases))
            for story in cases:
                self.orders.give(story.project, **story.orders)
        workers = concurrent.futures.ThreadPoolExecutor(len(cases))
        asked = [workers.submit(self.ask, story) for story in cases]
        self.kill([story.project for story in cases])
        workers.shutdown()
        for one in asked:
            one.result()
        self.until('under way', self.open)
        self.judge(cases)


class ApiTest(Killed):
    """A request is carried out without a wake-up, or nothing of it was stored."""

    KINDS = (
        'server.create',
        'server.start',
        'server.stop',
        'server.delete',
        'attachment.attach',
        'attachment.detach',
    )

    def test_killed_before_and_after_the_commit(self):
        cases = [Story(kind, places.committed('api'), ASKED[kind][3]) for kind in self.KINDS]
        lost = Story('attachment.attach', places.uncommitted('api'), 'gone')
        self.guests([*cases, lost])
        for role in ('agent', 'api'):
            self.spawn(role)
        self.until('no API', lambda: not self.answers())
        self.until('no host', lambda: not self.hosts())
        for story in (*cases, lost):
            self.given(story)
            self.orders.give(story.project, **story.orders)
        self.killed(cases)
        self.until('under way', self.open)
        self.until('no API', lambda: not self.answers())
        self.killed([lost])
        self.until('no API', lambda: not self.answers())
        with self.engine.connect() as conn:
            made = conn.execute(
                sa.select(models.servers.c.id).where(models.servers.c.project_id == cases[0].project)
            ).scalar()
        cases[0].server = made
        self.judge([*cases, lost])
        self.me(lost).attach(lost.server, lost.share)

    def killed(self, cases):
        """Kill the API while it answers these requests."""
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as workers:
            asked = [workers.submit(self.send, story) for story in cases]
            self.kill([story.project for story in cases])
            self.assertEqual(['lost'] * len(cases), [one.result() for one in asked])

    def send(self, story):
        request = ASKED[story.kind][2]
        server = f'/servers/{story.server}'
        method, path, body = {
            'server.create': ('POST', '/servers', {'server': {'name': 's', 'imageRef': 'disk'}}),
            'server.delete': ('DELETE', server, None),
            'attachment.attach': ('POST', f'{server}/shares', {'share': {'share_id': story.share}}),
            'attachment.detach': ('DELETE', f'{server}/shares/{story.share}', None),
        }.get(story.kind, ('POST', f'{server}/action', request))
        sent = urllib.request.Request(
            f'http://127.0.0.1:{self.port}/v2.1{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                'X-Auth-Token': f'u:{story.project}:member,reader',
                'OpenStack-API-Version': 'compute 2.97',
                'Content-Type': 'application/json',
            },
        )
        try:
            with urllib.request.urlopen(sent, timeout=waiting.LIMIT) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()
        except OSError:
            return 'lost'

    def answers(self):
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/', timeout=waiting.LIMIT) as answer:
                return answer.status == 200
        except OSError:
            return False
