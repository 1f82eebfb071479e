# SPDX-License-Identifier: Apache-2.0
"""Base of tests of refused requests: rows in any status, and no worker that would change them."""

import contextlib
import datetime
import re
import threading

from oslo_utils import timeutils, uuidutils
from sqlalchemy import event

from manila_lite.api import versions
from manila_lite.db import models
from manila_lite.db.queries import services as service_rows
from manila_lite.tests.factories import backups
from manila_lite.tests.functional import base
from manila_lite.tests.unit.operation_data import stored

_EXPERIMENTAL = {versions.EXPERIMENTAL_HEADER: 'true'}
_ALIKE = ('share_id', 'share_type_id', 'share_network_id', 'host', 'access_rules_status')
HOST = 'test@alpha#pool1'
NOWHERE = '00000000-0000-4000-8000-000000000000'


class Api(base.Api):
    """Calls the API with the header for experimental features."""

    def call(self, method, path, body=None, *, headers=None, **more):
        """Send one request."""
        return super().call(method, path, body, headers={**_EXPERIMENTAL, **(headers or {})}, **more)


class Refusing(base.ServiceTest):
    """The API alone: resources keep their status, and no test depends on timing."""

    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = Api(cls.service.app)

    def caller(self, project='p', user='u', roles='member,reader', version=base.LATEST):
        """Return a caller in a project."""
        return Api(self.service.app, user, project, roles, version)

    def setUp(self):
        super().setUp()
        self.user = self.caller('p')

    def put(self, table, resource_id, **values):
        """Set columns of a row."""
        with self.service.services.db.writer() as conn:
            self.assertEqual(
                1, conn.execute(table.update().where(table.c.id == resource_id).values(**values)).rowcount
            )

    def share_is(self, share_id, **values):
        """Set columns of the share's instances."""
        table = models.share_instances
        with self.service.services.db.writer() as conn:
            conn.execute(table.update().where(table.c.share_id == share_id).values(**values))

    def share(self, owner=None, status='available', host=HOST, **wanted):
        """Return the id of a share on a backend."""
        made = (owner or self.user).ok(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', **wanted}}
        )['share']
        self.share_is(made['id'], status=status, host=host)
        return made['id']

    def in_network(self, network):
        """Put the subnet of a share network that names none into one; return the id of the share network."""
        table = models.share_network_subnets
        with self.service.services.db.writer() as conn:
            conn.execute(
                table.update()
                .where(table.c.share_network_id == network)
                .values(neutron_net_id='blue', neutron_subnet_id='blue-v4')
            )
        return network

    def snapshot(self, share, status='available', **wanted):
        """Return the id of a snapshot of the share."""
        made = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share, **wanted}})['snapshot'][
            'id'
        ]
        self.put(models.snapshots, made, status=status)
        return made

    def backup(self, share):
        """Return the id of a backup of the share."""
        with self.service.services.db.writer() as conn:
            return backups.of(conn, [share])[0]

    def rule(self, share, state='active', to='10.0.0.1', **wanted):
        """Return the id of an access rule of the share."""
        status, said, _ = self.user.action(
            share, 'allow_access', {'access_type': 'ip', 'access_to': to, **wanted}
        )
        self.assertEqual(200, status, said)
        self.put(models.access_rules, said['access']['id'], state=state)
        return said['access']['id']

    def type(self, name, **specs):
        """Return the id of a share type."""
        specs = {'driver_handles_share_servers': 'False', 'snapshot_support': 'True', **specs}
        return self.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': specs}})[
            'share_type'
        ]['id']

    def insert(self, table, **values):
        """Insert a row; return its id."""
        values = {'id': uuidutils.generate_uuid(), **values}
        with self.service.services.db.writer() as conn:
            conn.execute(table.insert(), [values])
        return values['id']

    def aside(self, share, **values):
        """Return the id of a second instance of the share: a replica, or one that a migration made or left."""
        table = models.share_instances
        with self.service.services.db.reader() as conn:
            row = conn.execute(table.select().where(table.c.share_id == share)).mappings().one()
        return self.insert(
            table,
            **{**{name: row[name] for name in _ALIKE}, 'status': 'available', **values},
            is_secondary=True,
        )

    def moving(self, share):
        """Insert an open migration of the share to another backend."""
        self.insert(
            models.operations,
            kind='share.migrate',
            resource_type='share',
            resource_id=share,
            topic='scheduler',
            lane='work',
            state='open',
            data=stored.MOVE,
            next_run_at=timeutils.utcnow(),
        )

    def all_done(self):
        """Delete all operations, as if the work were done."""
        with self.service.services.db.writer() as conn:
            conn.execute(models.operations.delete())

    def long_ago(self):
        """Return a time before any row of the test was made, and long past every limit that a test sets."""
        return timeutils.utcnow() - datetime.timedelta(days=30)

    def now(self):
        """Return the present time."""
        return timeutils.utcnow()

    def option(self, name, value, group=None):
        """Set an option until the test ends."""
        self.service.conf.set_override(name, value, group)
        self.addCleanup(self.service.conf.clear_override, name, group)

    @contextlib.contextmanager
    def meanwhile(self, when, change, *, every=False):
        """Run ``change``, as if by another request, just before the first statement (``every``: each) that matches ``when``.

        The change is made in the request's own transaction and rolled back with it.
        """
        came = []

        def before(conn, cursor, text, *more):
            mine = threading.current_thread() is threading.main_thread() and re.search(when, text, re.DOTALL)
            if mine and (every or not came):
                came.append(text)
                conn.execute(change)

        engine = self.service.services.db.engine
        event.listen(engine, 'before_cursor_execute', before)
        try:
            yield
        finally:
            event.remove(engine, 'before_cursor_execute', before)
        self.assertNotEqual([], came, 'it never came')

    def no(self, status, code, words, path, body=None, caller=None, method=None):
        """Check that a request (a POST with a body, else a DELETE) is refused with this status, code and message."""
        found, document, _ = (caller or self.user).call(method or ('POST' if body else 'DELETE'), path, body)
        fault = next(iter(document.values())) if found >= 400 and document else {}
        self.assertEqual((status, code), (found, fault.get('reason')), document)
        self.assertIn(words, fault['message'])

    def wrong(self, caller, calls, ids, statuses, put):
        """Make each call in each status that it may not start from; return the calls without the expected refusal.

        ``calls``: by name the path and body of a POST (no body: DELETE), the statuses that the call may start from,
        the expected HTTP status and code, and words of the message. {names} are replaced from ``ids``, {status} by
        the present status. ``put`` sets the status.
        """
        found = []
        for name, (path, body, right, *expected, words) in calls.items():
            for now in sorted(statuses - set(right.split())):
                put(now)
                method, sent = ('POST', _filled(body, ids)) if body else ('DELETE', None)
                status, document, _ = caller.call(method, path.format(**ids), sent)
                fault = next(iter(document.values())) if document and status >= 400 else {}
                if [status, fault.get('reason')] != expected or words.format(**ids, status=now) not in fault[
                    'message'
                ]:
                    found.append(
                        f'{name} of what is {now}: {status} {fault.get("reason")} {fault.get("message")}'
                    )
        return found


class WithBackends(Refusing):
    """Rows of backends and pools without a process. They count as up for the length of a test."""

    EXTRA = 'service_down_time = 86400\n'
    #: By backend host: whether the backend is up.
    UP = {}
    #: By pool: its size in GiB and its capabilities.
    POOLS = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        now = timeutils.utcnow()
        with cls.service.services.db.writer() as conn:
            zone = service_rows.zone_id(conn, 'here', create=True)
            conn.execute(
                models.services.insert(),
                [
                    {
                        'host': host,
                        'binary': 'manila-share',
                        'topic': 'share',
                        'availability_zone_id': zone,
                        'heartbeat_at': now if is_up else now.replace(year=2001),
                    }
                    for host, is_up in cls.UP.items()
                ],
            )
            conn.execute(
                models.pools.insert(),
                [
                    {
                        'host': host,
                        'backend_host': host.partition('#')[0],
                        'total_gb': size,
                        'free_gb': size,
                        'reported_at': now,
                        'capabilities': capabilities,
                    }
                    for host, (size, capabilities) in cls.POOLS.items()
                ],
            )


def _filled(body, ids):
    """Return the body with the names replaced by ids."""
    if isinstance(body, dict):
        return {key: _filled(value, ids) for key, value in body.items()}
    return body.format(**ids) if isinstance(body, str) else body
