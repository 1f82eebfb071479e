# SPDX-License-Identifier: Apache-2.0
"""For tests of what is refused: rows in whatever status it takes, with nobody there who would work on them."""

import contextlib
import datetime
import re
import threading

from oslo_utils import timeutils, uuidutils
from sqlalchemy import event

from manila_lite.api import versions
from manila_lite.db import models
from manila_lite.db import services as service_rows
from manila_lite.tests.factories import backups
from manila_lite.tests.functional import base

_EXPERIMENTAL = {versions.EXPERIMENTAL_HEADER: 'true'}
_ALIKE = ('share_id', 'share_type_id', 'share_network_id', 'host', 'access_rules_status')
HOST = 'test@alpha#pool1'
NOWHERE = '00000000-0000-4000-8000-000000000000'


class Api(base.Api):
    """Calls experiments, too."""

    def call(self, method, path, body=None, *, headers=None, **more):
        """Send one request."""
        return super().call(method, path, body, headers={**_EXPERIMENTAL, **(headers or {})}, **more)


class Refusing(base.ServiceTest):
    """The API alone: what is asked of it stays as it is, and nothing of a test depends on how fast something is."""

    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = Api(cls.service.app)

    def caller(self, project='p', user='u', roles='member,reader', version=base.LATEST):
        """Return a caller of a project."""
        return Api(self.service.app, user, project, roles, version)

    def setUp(self):
        super().setUp()
        self.user = self.caller('p')

    def put(self, table, ident, **values):
        """The row has these values."""
        with self.service.services.db.writer() as conn:
            self.assertEqual(1, conn.execute(table.update().where(table.c.id == ident).values(**values)).rowcount)

    def share_is(self, ident, **values):
        """The share's instance has these values."""
        table = models.share_instances
        with self.service.services.db.writer() as conn:
            conn.execute(table.update().where(table.c.share_id == ident).values(**values))

    def share(self, owner=None, status='available', host=HOST, **wanted):
        """Return the id of a share that stands at a backend."""
        made = (owner or self.user).ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', **wanted}})['share']
        self.share_is(made['id'], status=status, host=host)
        return made['id']

    def snapshot(self, share, status='available', **wanted):
        """Return the id of a snapshot of it."""
        made = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share, **wanted}})['snapshot']['id']
        self.put(models.snapshots, made, status=status)
        return made

    def backup(self, share):
        """Return the id of a backup of it."""
        with self.service.services.db.writer() as conn:
            return backups.of(conn, [share])[0]

    def rule(self, share, state='active', to='10.0.0.1', **wanted):
        """Return the id of an access rule of it."""
        status, said, _ = self.user.action(share, 'allow_access', {'access_type': 'ip', 'access_to': to, **wanted})
        self.assertEqual(200, status, said)
        self.put(models.access_rules, said['access']['id'], state=state)
        return said['access']['id']

    def type(self, name, **specs):
        """Return the id of a share type."""
        specs = {'driver_handles_share_servers': 'False', 'snapshot_support': 'True', **specs}
        return self.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': specs}})['share_type']['id']

    def insert(self, table, **values):
        """Return the id of a new row."""
        values = {'id': uuidutils.generate_uuid(), **values}
        with self.service.services.db.writer() as conn:
            conn.execute(table.insert(), [values])
        return values['id']

    def aside(self, share, **values):
        """Return the id of a second instance of the share: a replica, or what a migration made or left."""
        table = models.share_instances
        with self.service.services.db.reader() as conn:
            row = conn.execute(table.select().where(table.c.share_id == share)).mappings().one()
        return self.insert(table, **{**{name: row[name] for name in _ALIKE}, 'status': 'available', **values},
                           is_aside=True)

    def moving(self, share):
        """The share is on its way to another backend."""
        self.insert(models.operations, kind='share.migrate', resource_type='share', resource_id=share, topic='scheduler',
                    lane='work', state='open', data={}, next_run_at=timeutils.utcnow())

    def all_done(self):
        """Everything that was asked for is made, and nothing is under way."""
        with self.service.services.db.writer() as conn:
            conn.execute(models.operations.delete())

    def long_ago(self):
        """Return a time before anything was made."""
        return timeutils.utcnow() - datetime.timedelta(days=1)

    def now(self):
        """Return the time."""
        return timeutils.utcnow()

    def option(self, name, value, group=None):
        """The option has this value until the test ends."""
        self.service.conf.set_override(name, value, group)
        self.addCleanup(self.service.conf.clear_override, name, group)

    @contextlib.contextmanager
    def meanwhile(self, when, change, *, every=False):
        """Somebody else's ``change`` comes just before the first statement (``every``: each) that looks like ``when``.

        It comes in the request's own transaction, and is taken back with it.
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
        """The request (with a body a POST, else a DELETE) is refused with this status, this code and these words."""
        found, document, _ = (caller or self.user).call(method or ('POST' if body else 'DELETE'), path, body)
        fault = next(iter(document.values())) if found >= 400 and document else {}
        self.assertEqual((status, code), (found, fault.get('reason')), document)
        self.assertIn(words, fault['message'])

    def wrong(self, caller, calls, ids, statuses, put):
        """Return what is not refused as it must be, when each call is made in each status that it does not start from.

        ``calls``: by name the path and body of a POST (no body: DELETE), the statuses that it starts from, the answer's status
        and code, and words; {names} in all of these are of ``ids``, {status} is the present one. ``put`` sets that.
        """
        found = []
        for name, (path, body, right, *expected, words) in calls.items():
            for now in sorted(statuses - set(right.split())):
                put(now)
                method, sent = ('POST', _filled(body, ids)) if body else ('DELETE', None)
                status, document, _ = caller.call(method, path.format(**ids), sent)
                fault = next(iter(document.values())) if document and status >= 400 else {}
                if [status, fault.get('reason')] != expected or words.format(**ids, status=now) not in fault['message']:
                    found.append(f'{name} of what is {now}: {status} {fault.get("reason")} {fault.get("message")}')
        return found


class WithBackends(Refusing):
    """Rows of backends and pools, with no process behind them, that count as up for as long as a test takes."""

    EXTRA = 'service_down_time = 86400\n'
    #: Backends, by host, and whether each is up.
    UP = {}
    #: By pool its size in GiB and its capabilities.
    POOLS = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        now = timeutils.utcnow()
        with cls.service.services.db.writer() as conn:
            zone = service_rows.zone_id(conn, 'here', create=True)
            conn.execute(models.services.insert(), [
                {'host': host, 'binary': 'manila-share', 'topic': 'share', 'availability_zone_id': zone,
                 'heartbeat_at': now if is_up else now.replace(year=2001)} for host, is_up in cls.UP.items()])
            conn.execute(models.pools.insert(), [
                {'host': host, 'backend_host': host.partition('#')[0], 'total_gb': size, 'free_gb': size, 'reported_at': now,
                 'capabilities': capabilities} for host, (size, capabilities) in cls.POOLS.items()])


def _filled(body, ids):
    """Return the body with ids in the place of their names."""
    if isinstance(body, dict):
        return {key: _filled(value, ids) for key, value in body.items()}
    return body.format(**ids) if isinstance(body, str) else body
