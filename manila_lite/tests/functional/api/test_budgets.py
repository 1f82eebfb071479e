# SPDX-License-Identifier: Apache-2.0
"""Number of SQL statements per request, whatever the number of rows."""

import contextlib
import threading

import sqlalchemy as sa
from oslo_context import context as oslo_context

from manila_lite.api import versions
from manila_lite.db import models
from manila_lite.db.queries import share_types
from manila_lite.tests.factories import backups, groups, networks, replicas, small
from manila_lite.tests.factories import shares as factory
from manila_lite.tests.functional import base

API_STATEMENTS, API_TRANSACTIONS = 8, 1
#: Includes a look at changed pools, which is much rarer than decisions under load.
WORKER_STATEMENTS = 22
LIST_STATEMENTS = 6
#: Statements of a request, and of scheduler and share manager for it, without looks for work, at most, for one alone. For
#: requests in a burst see test_bursts.
OF_ONE_REQUEST = {
    'allow_access': (9, 22),
    'deny_access': (8, 22),
    'extend': (9, 18),
    'create_snapshot': (9, 12),
    'delete_snapshot': (6, 11),
    'delete': (11, 14),
}

#: Every list of the API that can grow, as (path, key of the answer).
LISTS = [
    ('/shares', 'shares'),
    ('/shares/detail', 'shares'),
    ('/shares/detail?with_count=true', 'shares'),
    ('/shares/detail?all_tenants=1', 'shares'),
    ('/shares/detail?name~=s', 'shares'),
    ('/shares/detail?metadata={"a":"v"}', 'shares'),
    ('/snapshots', 'snapshots'),
    ('/snapshots/detail', 'snapshots'),
    ('/snapshots/detail?with_count=true', 'snapshots'),
    ('/share_instances', 'share_instances'),
    ('/messages', 'messages'),
    ('/types', 'share_types'),
    ('/services', 'services'),
    ('/scheduler-stats/pools', 'pools'),
    ('/scheduler-stats/pools/detail', 'pools'),
    ('/availability-zones', 'availability_zones'),
    ('/share-networks', 'share_networks'),
    ('/share-networks/detail', 'share_networks'),
    ('/share-networks/detail?cidr=10.10.0.0/24', 'share_networks'),
    ('/share-networks/detail?all_tenants=1', 'share_networks'),
    ('/security-services', 'security_services'),
    ('/security-services/detail', 'security_services'),
    ('/operations', 'operations'),
    ('/operations?state=done', 'operations'),
    ('/operations?all_projects=1', 'operations'),
    ('/share-groups', 'share_groups'),
    ('/share-groups/detail', 'share_groups'),
    ('/share-group-snapshots', 'share_group_snapshots'),
    ('/share-group-snapshots/detail', 'share_group_snapshots'),
    ('/share-group-types', 'share_group_types'),
    ('/share-replicas', 'share_replicas'),
    ('/share-replicas/detail', 'share_replicas'),
    ('/share-backups/detail?with_count=1', 'share_backups'),
    ('/share-servers', 'share_servers'),
    ('/share-servers?project_id=lists', 'share_servers'),
    ('/qos-types', 'qos_types'),
    ('/qos-types?name~=-&sort_key=name', 'qos_types'),
    ('/snapshot-instances', 'snapshot_instances'),
    ('/snapshot-instances/detail', 'snapshot_instances'),
]
#: As above, for lists that grow within one share or snapshot; its id is filled in.
OF_ONE = [
    ('/share-access-rules?share_id={share}', 'access_list'),
    ('/snapshots/{snapshot}/access-list', 'snapshot_access_list'),
    ('/snapshots/{snapshot}/export-locations', 'share_snapshot_export_locations'),
    ('/snapshot-instances/{snapshot}/export-locations', 'share_snapshot_export_locations'),
]
#: The oldest version, one in the middle, and the newest, with the most fields.
VERSIONS = ['2.0', '2.40', '2.99']


#: How a look for work begins. Their number depends on time.
_A_LOOK = 'WITH RECURSIVE waiting'


class Counter:
    """Counter of statements; BEGIN, COMMIT and savepoints are counted apart.

    Tests count those of their own requests, by thread or by the id of the request: work in the background does not matter.
    """

    def __init__(self):
        self.statements = []
        self.transactions = []
        self._seen = []  # the same with the id of the request for which the thread works
        self._me = threading.current_thread().name

    def saw(self, conn, cursor, statement, *args):
        """Count one statement, with the name of its thread."""
        thread, current = threading.current_thread().name, oslo_context.get_current()
        if statement.startswith('BEGIN'):
            self.transactions.append(thread)
        else:
            self.statements.append((thread, statement))
            self._seen.append((thread, statement, current.request_id if current else None))

    def asked(self):
        """Return the statements of the thread that counts, as of requests that it sends."""
        return [text for thread, text in self.statements if thread == self._me]

    def worked(self, *requests, claims=True):
        """Return the statements of other threads for these requests, and for those whose ids are given. ``claims``: also those
        that claim operations.

        Not those of other requests, of timers, of leases, and of looks for work, which are there at any time.
        """
        mine = {*requests, *(request for thread, _, request in self._seen if thread == self._me)} - {None}
        return [
            text
            for thread, text, request in self._seen
            if thread != self._me
            and (
                request in mine
                or (claims and request is None and thread.endswith('-poll') and not text.startswith(_A_LOOK))
            )
        ]


@contextlib.contextmanager
def counting(engine):
    """Count the engine's statements inside the block."""
    counter = Counter()
    sa.event.listen(engine, 'before_cursor_execute', counter.saw)
    try:
        yield counter
    finally:
        sa.event.remove(engine, 'before_cursor_execute', counter.saw)


class Budgets(base.ServiceTest):
    """The project's budgets of statements."""

    def counting(self):
        return counting(self.service.services.db.engine)

    def test_share_creation_stays_within_its_statement_budget(self):
        caller = self.caller('budget')
        caller.share(name='warm')  # the first share of a project creates its quota lock
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'x', 'metadata': {'a': 'b'}}}
        with self.counting() as counter:
            share = caller.ok('POST', '/shares', body)['share']
            mine = counter.asked()
            caller_path = f'/shares/{share["id"]}'
            begun = counter.transactions.count(threading.current_thread().name)
            caller.wait(caller_path, 'share', 'available')  # statements of this wait are not counted
        workers = counter.worked()
        self.assertLessEqual(len(mine), API_STATEMENTS, mine)
        self.assertLessEqual(begun, API_TRANSACTIONS)
        self.assertLessEqual(len(workers), WORKER_STATEMENTS, workers)
        self.assertGreater(len(workers), WORKER_STATEMENTS / 2, workers)

    def test_frequent_requests_stay_within_their_statement_budgets(self):
        caller = self.caller('budget')
        caller.share(name='warm')
        share = caller.share(name='x')['id']
        path, found = f'/shares/{share}', {}

        def ask(name, method, where, body=None):
            with self.counting() as counter:
                answer = caller.ok(method, where, body, wait=False)  # whose requests would count, too
                mine = len(counter.asked())
                base.eventually(lambda: not self.open_operations(), f'{name} does not end')
            found[name] = mine, len(counter.worked())
            return answer

        def act(name, body):
            return ask(name, 'POST', f'{path}/action', {name: body})

        rule = act('allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1'})['access']['id']
        act('deny_access', {'access_id': rule})
        act('extend', {'new_size': 2})
        snapshot = ask('create_snapshot', 'POST', '/snapshots', {'snapshot': {'share_id': share}})[
            'snapshot'
        ]['id']
        ask('delete_snapshot', 'DELETE', f'/snapshots/{snapshot}')
        ask('delete', 'DELETE', path)
        over = {
            name: figures
            for name, figures in found.items()
            if any(one > most for one, most in zip(figures, OF_ONE_REQUEST[name], strict=True))
        }
        self.assertEqual({}, over)
        self.assertEqual(set(OF_ONE_REQUEST), set(found))

    def open_operations(self):
        with self.service.services.db.reader() as conn:
            return conn.execute(
                sa.select(models.operations.c.id).where(models.operations.c.state == 'open')
            ).all()

    def test_lists_cost_the_same_at_any_length(self):
        with self.service.services.db.reader() as conn:
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
        costs, grown = {}, {}
        for add in (10, 90, 900):
            with self.service.services.db.writer() as conn:
                made = factory.make(conn, add, type_id=kind, project='lists')
                networks.make(conn, add, project='lists')
                groups.make(conn, [share for share, _ in made], type_id=kind, project='lists')
                replicas.replicable(conn, [share for share, _ in made])
                backups.of(conn, [share for share, _ in made])
                small.qos_types(conn, add)
                grown = grown or self._first_snapshot(conn, made[0][0])
                small.readers(conn, **grown, count=add, first=add)
            for place, key in [*LISTS, *OF_ONE]:
                path = place.format(**grown) if (place, key) in OF_ONE else place
                for version in VERSIONS:
                    self._count(costs, place, path, key, version)
        for place, found in costs.items():
            self.assertEqual(1, len(set(found)), f'{place}: {found} statements at 10, 100 and 1000 rows')
            self.assertLessEqual(found[0], LIST_STATEMENTS, place)
        for place, _ in [*LISTS, *OF_ONE]:
            self.assertIn((place, '2.99'), costs)

    @staticmethod
    def _first_snapshot(conn, share):
        snapshots = models.snapshots
        return {
            'share': share,
            'snapshot': conn.execute(sa.select(snapshots.c.id).where(snapshots.c.share_id == share)).scalar(),
        }

    def _count(self, costs, place, path, key, version):
        caller = self.caller('lists', roles='admin,member,reader', version=version)
        with self.counting() as counter:
            status, document, _ = caller.call('GET', path, headers={versions.EXPERIMENTAL_HEADER: 'true'})
        if status == 404:
            return  # not in this version
        self.assertEqual(200, status, document)
        self.assertTrue(document[key], path)
        mine = counter.asked()
        costs.setdefault((place, version), []).append(len(mine))
