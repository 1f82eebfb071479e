# SPDX-License-Identifier: Apache-2.0
"""``manila-manage`` and ``manila-status`` as processes beside a running service."""

import contextlib
import json
from pathlib import Path

import fixtures
import testtools

from manila_lite.db import models
from manila_lite.db.models import quota_triggers
from manila_lite.tests import forks, waiting
from manila_lite.tests.factories import dirty
from manila_lite.tests.functional import base
from manila_lite.tests.services import places


def run(config, module, *words):
    """Run a command; return its exit status, its output and its error output."""
    done = forks.run(f'manila_lite.cmd.{module}:main', f'--config-file={config}', *words)
    if 'Traceback' in done.stderr:
        raise AssertionError(done.stderr)
    return done.returncode, done.stdout, done.stderr


class AloneTest(testtools.TestCase):
    """Commands on a database of their own, without a service. A subclass writes the file ``config`` in ``configure``."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.url = self.useFixture(places.EmptyDatabase(self.state)).url
        self.config = self.state / 'c.conf'
        self.configure()


class ManageTest(base.ServiceTest):
    """Base class of tests of commands on the database of a running service."""

    #: A service whose row a test writes is up while commands run one after the other.
    EXTRA = f'service_down_time = {waiting.LIMIT:.0f}\n'

    def setUp(self):
        super().setUp()
        for file in self.service.state.glob('*.sqlite*'):
            file.chmod(0o600)  # the mode that a service gives it; the commands warn about another

    def manage(self, *words, status=0):
        """Run a command that must end with this exit status; return its output and its error output."""
        got, out, err = run(self.service.state / 'manila_lite.conf', 'manage', *words)
        self.assertEqual(status, got, out + err)
        return out, err

    def listed(self, *words, status=0):
        """Run a command with ``--format json``; return the rows."""
        return json.loads(self.manage(*words, '--format', 'json', status=status)[0])

    @contextlib.contextmanager
    def unguarded(self):
        """Yield a connection without checks of foreign keys."""
        with dirty.unguarded(self.service.services.db.engine) as conn:
            yield conn
            if conn.dialect.name == 'postgresql':
                quota_triggers.fill(conn)  # PostgreSQL has no checks only if it runs no triggers, either

    def write(self, table, resource_id, **values):
        """Change a row to values that the product itself would not write."""
        with self.unguarded() as conn:
            conn.execute(table.update().where(table.c.id == resource_id).values(**values))

    def add(self, table, **values):
        """Insert a row that the product itself would not create."""
        with self.unguarded() as conn:
            conn.execute(table.insert().values(**values))

    def drop(self, table, *where):
        """Delete rows, and nothing that belongs to them."""
        with self.unguarded() as conn:
            conn.execute(table.delete().where(*where))

    def instance(self, share_id):
        """Return the id of a share's instance."""
        table = models.share_instances
        with self.service.services.db.reader() as conn:
            return conn.execute(table.select().where(table.c.share_id == share_id)).one().id

    def put(self, share, status, **values):
        """Set the status of a share, and other values, as if an operation had begun."""
        self.write(
            models.share_instances,
            self.instance(share['id']),
            status=status,
            **{key: values.pop(key) for key in ('launched_at', 'host') if key in values},
        )
        if values:
            self.write(models.shares, share['id'], **values)
