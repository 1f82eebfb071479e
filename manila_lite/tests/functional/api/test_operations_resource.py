# SPDX-License-Identifier: Apache-2.0
"""Operations as projects and administrators see them. Lists, filters and pages: ``gabbits/operations.yaml``."""

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.db.queries import operation_views
from manila_lite.tests.factories import dirty
from manila_lite.tests.functional import base


class Seen(base.ServiceTest):
    PARTS = ('scheduler', 'share')

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.knob, 'alpha', '')
        self.user = self.caller()

    def seen(self, caller, resource_id):
        return caller.ok(
            'GET', f'/operations?resource_id={resource_id}&all_projects={int(caller is self.admin)}'
        )['operations']

    def test_error_of_a_backend_is_shown_to_administrators_only(self):
        self.service.knob('alpha', 'extend_share:fail')
        share = self.user.share()
        self.user.action(share['id'], 'extend', {'new_size': 2})
        self.user.wait(f'/shares/{share["id"]}', 'share', 'extending_error')
        [mine, _], [all_of_it, _] = self.seen(self.user, share['id']), self.seen(self.admin, share['id'])
        self.assertIn('lost touch', all_of_it['error'])
        self.assertEqual('It failed; an administrator can see the cause.', mine['error'])
        self.assertNotIn('host', mine)

    def test_error_meant_for_users_is_shown_to_the_project(self):
        self.service.knob('alpha', 'create_share:fail_final')
        share = self.user.share(wait='error')
        [mine] = self.seen(self.user, share['id'])
        self.assertIn('cannot be done', mine['error'])
        self.assertEqual('failed', mine['state'])

    def test_retried_operation_is_open_and_shows_that_it_failed_so_far(self):
        self.service.conf.set_override('retry_delay', 3600.0, 'operations')
        self.addCleanup(self.service.conf.clear_override, 'retry_delay', 'operations')
        self.service.knob('alpha', 'create_share:fail@once')
        share = self.user.share(wait=None)
        base.eventually(lambda: self.seen(self.user, share['id'])[0]['error'], 'no error is shown')
        [mine] = self.seen(self.user, share['id'])
        self.assertEqual(('open', 'It has failed so far and is tried again.'), (mine['state'], mine['error']))
        self.assertGreater(mine['next_run_at'], mine['created_at'])

    def add(self, **values):
        """Insert an operation that no worker runs; return its id."""
        resource_id = uuidutils.generate_uuid()
        with dirty.unguarded(self.service.services.db.engine) as conn:
            conn.execute(
                models.operations.insert().values(
                    {
                        'id': resource_id,
                        'kind': 'thing.do',
                        'resource_type': 'share',
                        'resource_id': resource_id,
                        'project_id': 'p',
                        'topic': 'none',
                        'lane': 'work',
                        'state': 'open',
                        'data': {},
                        'next_run_at': timeutils.utcnow(),
                        **values,
                    }
                )
            )
        return resource_id

    def test_progress_is_shown_as_the_operation_reports_it(self):
        for data, shown in (
            ({'done': 1, 'total': 4}, (25, 1, 4, None)),
            ({'percent': 7.9, 'bytes_done': 3}, (7, None, None, 3)),
            ({}, (None,) * 4),
            ('much', (None,) * 4),
            ({'total': 0, 'done': 0}, (None, 0, 0, None)),
        ):
            found = self.user.ok('GET', f'/operations/{self.add(data={"progress": data})}')['operation'][
                'progress'
            ]
            self.assertEqual(shown, tuple(found[name] for name in ('percent', 'done', 'total', 'bytes_done')))

    def test_operation_with_unreadable_data_is_still_listed(self):
        operation_id = self.add(state='parked', error='a path of the backend')
        with self.service.services.db.engine.begin() as conn:
            conn.exec_driver_sql(f"UPDATE operations SET data = 'no JSON' WHERE id = '{operation_id}'")
        self.assertEqual(
            'It was stopped for an administrator to examine.', self.seen(self.user, operation_id)[0]['error']
        )

    def test_project_sees_the_operations_of_all_resources_that_it_may_own(self):
        stranger = self.caller(project='q')
        for kind in operation_views.OWN_TYPES:
            operation_id = self.add(resource_type=kind)
            self.assertEqual([operation_id], [op['id'] for op in self.seen(self.user, operation_id)], kind)
            self.assertEqual(404, stranger.call('GET', f'/operations/{operation_id}')[0])
            self.assertEqual([], self.seen(stranger, operation_id))

    def test_operations_on_services_and_servers_are_hidden_from_projects(self):
        for kind in ('share_server', 'service'):
            operation_id = self.add(resource_type=kind)
            self.assertEqual(404, self.user.call('GET', f'/operations/{operation_id}')[0])
            self.assertEqual([], self.seen(self.user, operation_id))
            self.assertEqual(200, self.admin.call('GET', f'/operations/{operation_id}')[0])
