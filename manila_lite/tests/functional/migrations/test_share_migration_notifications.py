# SPDX-License-Identifier: Apache-2.0
"""Notifications of the migration of a single share: events, publishers and phases."""

import time

from manila_lite import context
from manila_lite.actions import share_migration
from manila_lite.tests.functional.migrations import test_share_migration
from manila_lite.tests.services import hearing

_BACKENDS = test_share_migration.Migration.BACKENDS
_COPY = [('migrate.start', 'api.test', 1), ('migrate.end', 'share.test@beta', 1)]
_CUT = ('migration_complete.start', 'api.test', 2)


class Heard(test_share_migration.MigrationTest):
    """From ``alpha`` to ``beta``, with a listener on the bus."""

    BACKENDS = {name: _BACKENDS[name] for name in ('alpha', 'beta')}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = cls.make_type('plain')

    def setUp(self):
        super().setUp()
        self.heard = self.useFixture(hearing.Heard(self.service.conf))

    def told(self, share, until):
        """Return event, publisher and phase of all notifications of the share's migration, up to this event."""
        self.heard.wait(f'share.{until}', share_id=share['id'])
        return [
            (event['event'].removeprefix('share.'), event['publisher'], event['payload']['phase'])
            for event in self.heard.of(share_id=share['id'])
            if 'migrat' in event['event']
        ]

    def copied(self):
        """Make a share and copy it, up to the end of the first phase and its notification; return the share."""
        share = self.make()
        self.assertEqual((202, None), self.start(share))
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual(_COPY, self.told(share, 'migrate.end'))
        return share

    def test_completed_migration_sends_all_notifications(self):
        before = time.time()
        share = self.copied()
        self.act(share, 'migration_complete')
        self.assertEqual(
            [*_COPY, _CUT, ('migration_complete.end', 'share.test@beta', 2)],
            self.told(share, 'migration_complete.end'),
        )
        took = [
            event['payload']['seconds']
            for event in self.heard.of(share_id=share['id'])
            if 'migrat' in event['event']
        ]
        self.assertTrue(0 <= took[0] < took[-1] <= time.time() - before + 0.001, took)
        last = self.heard.wait('share.migration_complete.end', share_id=share['id'])['payload']
        self.assertEqual(
            ('test@alpha', 'test@beta', self.plain, None, 2),
            tuple(last[name] for name in ('from', 'to', 'type_id', 'network_id', 'size')),
        )
        self.at_rest()

    def test_automatic_completion_is_published_by_the_share_manager(self):
        share = self.make()
        ctx = context.RequestContext(
            user_id='a',
            project_id='admins',
            roles=['admin'],
            is_admin=True,
            services=self.service.services,
            overwrite=False,
        )
        # As an evacuation begins it.
        share_migration.start(
            ctx, share['id'], {**test_share_migration.WANTED, 'host': 'test@beta', 'by_itself': True}
        )
        end = ('migration_complete.end', 'share.test@beta', 2)
        self.assertEqual(
            [*_COPY, ('migration_complete.start', 'share.test@beta', 2), end],
            self.told(share, 'migration_complete.end'),
        )
        self.at_rest()

    def test_cancelled_migration_sends_cancel_notifications(self):
        share = self.copied()
        self.act(share, 'migration_cancel')
        self.assertEqual(
            [
                *_COPY,
                ('migration_cancel.start', 'api.test', 1),
                ('migration_cancel.end', 'share.test@beta', 1),
            ],
            self.told(share, 'migration_cancel.end'),
        )
        self.at_rest()

    def test_failed_cancel_sends_an_error_notification(self):
        share = self.copied()
        self.service.knob('beta', 'share_migration_cancel:fail_final')
        self.act(share, 'migration_cancel')
        self.assertEqual(
            ('migration_cancel.error', 'share.test@beta', 1), self.told(share, 'migration_cancel.error')[-1]
        )
        self.said_why(share, 'migration_cancel.error', 'The copied data could not be deleted at the backend')
        self.at_rest()

    def test_failed_copy_sends_an_error_notification(self):
        self.service.knob('beta', 'share_migration_continue:fail_final')
        share = self.make()
        self.start(share)
        self.assertEqual(
            [_COPY[0], ('migrate.error', 'share.test@beta', 1)], self.told(share, 'migrate.error')
        )
        self.said_why(share, 'migrate.error', 'share_migration_continue')
        self.at_rest()

    def test_failed_cut_over_sends_an_error_notification(self):
        self.service.knob('beta', 'share_migration_complete:fail_final')
        share = self.copied()
        self.act(share, 'migration_complete')
        self.assertEqual(
            [*_COPY, _CUT, ('migration_complete.error', 'share.test@beta', 2)],
            self.told(share, 'migration_complete.error'),
        )
        self.said_why(share, 'migration_complete.error', 'share_migration_complete')
        self.at_rest()

    def said_why(self, share, event, words):
        said = self.heard.wait(f'share.{event}', share_id=share['id'])
        self.assertEqual('ERROR', said['priority'])
        self.assertIn(words, said['payload']['error'])
