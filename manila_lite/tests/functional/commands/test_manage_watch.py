# SPDX-License-Identifier: Apache-2.0
"""``manila-manage watch``."""

import json
import signal

from oslo_utils import uuidutils

from manila_lite.tests import forks, waiting
from manila_lite.tests.functional import base, manage


class Watch(manage.ManageTest):
    """Changes as lines."""

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()
        self.owner = self.caller(self.project)

    def watch(self, *words):
        """Start the command; return the process, and the file of its output."""
        out = self.service.state / 'watched'
        with out.open('wb') as file:
            process = forks.start(
                'manila_lite.cmd.manage:main',
                f'--config-file={self.service.state / "manila_lite.conf"}',
                'watch',
                '--every',
                '0.2',
                *words,
                stdout=file,
                stderr=file,
                new_session=True,
            )
        self.addCleanup(process.kill)
        return process, out

    def until(self, out, *words):
        """Make shares until a line about one has all of these words, since the command does not say when it listens.

        Return the share's id.
        """
        made = []

        def found():
            made.append(self.owner.share()['id'])
            return next(
                (
                    share
                    for line in out.read_text().splitlines()
                    for share in made
                    if share in line and all(word in line for word in words)
                ),
                None,
            )

        return base.waiting.until(found, out.read_text, pause=2)  # a project may have 50 shares

    def test_lines_for_people(self):
        process, out = self.watch()
        self.until(out, 'operation', 'share.create', 'done')
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(waiting.LIMIT))
        self.assertNotIn('Traceback', out.read_text())

    def test_json_of_one_project(self):
        process, out = self.watch('--json', '--project', self.project)
        share = self.until(out, 'status', 'available')
        other = self.caller('other').share()['id']
        self.until(out, 'status', 'available')
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(waiting.LIMIT))
        events = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertIn(share, [one['data'].get('resource_id') for one in events])
        self.assertNotIn(other, out.read_text())
        self.assertEqual({self.project}, {one['data']['project_id'] for one in events})
