# SPDX-License-Identifier: Apache-2.0
"""User messages are kept for 30 days, and then deleted."""

import datetime

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import messages
from manila_lite.tests.functional import base

_MONTH = datetime.timedelta(days=30)


class Life(base.ServiceTest):
    PARTS = ()

    def make(self, resource, text=''):
        with self.service.services.db.writer() as conn:
            messages.create(
                conn,
                self.service.context(),
                'SHARE',
                resource,
                messages.Action.CREATE,
                messages.Detail.UNKNOWN_ERROR,
                text,
            )
        [found] = self.admin.ok('GET', f'/messages?resource_id={resource}')['messages']
        return found

    def test_message_about_an_unexpected_error_has_its_request_id_and_the_next_step(self):
        made = self.make('unexpected')
        self.assertEqual(
            'create: An unexpected error happened. Ask the operator, with the request id '
            f'{made["request_id"]}.',
            made['user_message'],
        )

    def test_error_with_a_text_is_not_called_unexpected(self):
        made = self.make('told', 'The pool is read-only.')
        self.assertEqual(
            f'create: The pool is read-only. Ask the operator, with the request id {made["request_id"]}.',
            made['user_message'],
        )

    def test_a_message_is_kept_for_thirty_days(self):
        before = timeutils.utcnow()
        made = self.make('kept')
        ends = datetime.datetime.fromisoformat(made['expires_at'])
        second = datetime.timedelta(seconds=1)  # a database may round
        self.assertTrue(before + _MONTH - second <= ends <= timeutils.utcnow() + _MONTH + second, made)

    def test_only_expired_messages_are_deleted(self):
        stays, goes = self.make('stays'), self.make('goes')
        with self.service.services.db.writer() as conn:
            for resource_id, ends in ((stays['id'], 3600), (goes['id'], -3600)):
                conn.execute(
                    models.messages.update()
                    .where(models.messages.c.id == resource_id)
                    .values(expires_at=timeutils.utcnow() + datetime.timedelta(seconds=ends))
                )
            messages.delete_expired(conn)
        self.assertEqual(200, self.admin.call('GET', f'/messages/{stays["id"]}')[0])
        self.assertEqual(404, self.admin.call('GET', f'/messages/{goes["id"]}')[0])
