# SPDX-License-Identifier: Apache-2.0
"""``manila-manage`` and ``manila-status`` as processes beside a running service."""

import json
from pathlib import Path

import fixtures
import testtools

from manila_lite.db import models
from manila_lite.tests import forks
from manila_lite.tests.factories import dirty
from manila_lite.tests.functional import base
from manila_lite.tests.services import places


def run(config, module, *words):
    """Run a command; returns its exit status, what it printed, and what it complained of."""
    done = forks.run(f'manila_lite.cmd.{module}:main', f'--config-file={config}', *words)
    if 'Traceback' in done.stderr:
        raise AssertionError(done.stderr)
    return done.returncode, done.stdout, done.stderr


class AloneTest(testtools.TestCase):
    """Commands on a database of their own, without a service. A subclass writes what is at ``config``: ``configure``."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.url = self.useFixture(places.EmptyDatabase(self.state)).url
        self.config = self.state / 'c.conf'
        self.configure()


class ManageTest(base.ServiceTest):
    """Commands on the database of a running service."""

    def setUp(self):
        super().setUp()
        for file in self.service.state.glob('*.sqlite*'):
            file.chmod(0o600)       # as a service makes it; of others a command would tell

    def manage(self, *words, status=0):
        """Run a command that ends with this status; returns what it printed and what it complained of."""
        got, out, err = run(self.service.state / 'manila_lite.conf', 'manage', *words)
        self.assertEqual(status, got, out + err)
        return out, err

    def listed(self, *words, status=0):
        """As ``manage``, with JSON; returns the rows."""
        return json.loads(self.manage(*words, '--format', 'json', status=status)[0])

    def write(self, table, ident, **values):
        """A row is as no writer of the product would leave it."""
        with dirty.unguarded(self.service.services.db.engine) as conn:
            conn.execute(table.update().where(table.c.id == ident).values(**values))

    def add(self, table, **values):
        """A row is there that the product would not have made."""
        with dirty.unguarded(self.service.services.db.engine) as conn:
            conn.execute(table.insert().values(**values))

    def drop(self, table, *where):
        """Rows are gone, and nothing that belongs to them."""
        with dirty.unguarded(self.service.services.db.engine) as conn:
            conn.execute(table.delete().where(*where))

    def instance(self, share_id):
        """Return the id of a share's instance."""
        table = models.share_instances
        with self.service.services.db.reader() as conn:
            return conn.execute(table.select().where(table.c.share_id == share_id)).one().id

    def put(self, share, status, **values):
        """A share is in a status as if something had begun there."""
        self.write(models.share_instances, self.instance(share['id']), status=status,
                   **{key: values.pop(key) for key in ('launched_at', 'host') if key in values})
        if values:
            self.write(models.shares, share['id'], **values)
