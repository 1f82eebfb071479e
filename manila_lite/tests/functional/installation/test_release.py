# SPDX-License-Identifier: Apache-2.0
"""The release is shown where somebody may look for it. First lines of logs: test_logging; ``upgrade check``: test_manage_*."""

import datetime

import testscenarios
import testtools
from oslo_utils import timeutils

from manila_lite import release
from manila_lite.db import models
from manila_lite.db.queries import services
from manila_lite.tests import forks
from manila_lite.tests.contract.test_packaging import entry_points
from manila_lite.tests.functional import base


class Commands(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (name, {'command': target}) for group, name, target in entry_points() if group == 'console_scripts'
    ]

    def test_command_tells_its_release(self):
        done = forks.run(self.command, '--version')
        self.assertEqual((0, release.FULL), (done.returncode, done.stdout.strip()), done.stderr)


class Services(base.ServiceTest):
    """Releases of services, as an administrator sees them."""

    def told(self):
        """Return the release of the service that the API shows."""
        return self.admin.ok('GET', '/services?host=elsewhere')['services'][0]['release']

    def beat(self):
        """Write a heartbeat as a process of this release."""
        with self.service.services.db.writer() as conn:
            services.heartbeat(conn, 'elsewhere', 'manila-scheduler', 'nova')

    def beat_as_before(self):
        """Write a heartbeat as a process of a release that does not tell it."""
        rows = models.services
        with self.service.services.db.writer() as conn:
            conn.execute(
                rows.update()
                .where(rows.c.host == 'elsewhere')
                .values(heartbeat_at=timeutils.utcnow() + datetime.timedelta(seconds=1))
            )

    def test_release_is_that_of_the_process_that_beat_last(self):
        self.beat()
        self.assertEqual(release.VERSION, self.told())
        self.beat_as_before()
        self.assertIsNone(self.told())
        self.beat()
        self.assertEqual(release.VERSION, self.told())
