# SPDX-License-Identifier: Apache-2.0
"""Schedules as a resource: what may be asked for, by whom, and what is refused."""

import datetime

from manila_lite.tests.functional.schedules.scheduling import NEVER, SchedulesTest, now

_NOBODY = '5d2f6a0e-0000-4000-8000-000000000000'


class Calls(SchedulesTest):
    def test_a_schedule_is_made_changed_paused_and_deleted(self):
        made = self.schedule(name='nightly', cron='0  3 * * *', time_zone='Europe/Berlin', keep={'day': 7})
        self.assertEqual(
            ('nightly', 'snapshot', '0 3 * * *', 'Europe/Berlin', {'day': 7}, False, self.project, 'u'),
            tuple(
                made[name]
                for name in ('name', 'action', 'cron', 'time_zone', 'keep', 'paused', 'project_id', 'user_id')
            ),
        )
        first = datetime.datetime.fromisoformat(made['next_run_at'])
        self.assertTrue(now() < first <= now() + datetime.timedelta(days=1, hours=1), first)
        paused = self.change(made, paused=True, name=None)
        self.assertEqual((None, None, True), (paused['next_run_at'], paused['name'], paused['paused']))
        self.assertEqual(made['next_run_at'], self.change(made, paused=False)['next_run_at'])
        self.assertNotEqual(made['next_run_at'], self.change(made, cron='30 3 * * *')['next_run_at'])
        self.assertEqual({}, self.change(made, keep=None)['keep'])
        self.assertEqual(204, self.user.call('DELETE', f'/schedules/{made["id"]}')[0])
        self.refused(404, made['id'], 'GET', f'/schedules/{made["id"]}')

    def test_the_next_time_has_the_jitter(self):
        made = self.schedule(cron='0 * * * *', jitter=3600)
        moved = datetime.datetime.fromisoformat(made['next_run_at'])
        times = self.user.ok('GET', f'/schedules/{made["id"]}/preview')['preview']['times']
        self.assertEqual(made['next_run_at'], times[0])
        plain = self.change(made, jitter=0)['next_run_at']
        self.assertTrue(plain.endswith(':00:00.000000'), plain)
        self.assertTrue(0 < (moved - now()).total_seconds() <= 7200, moved)

    def test_lists_have_pages_and_filters(self):
        made = [self.schedule(name=f'number {number}') for number in range(3)]
        first = self.user.ok('GET', '/schedules?limit=2&sort_key=name&sort_dir=asc')
        self.assertEqual(['number 0', 'number 1'], [one['name'] for one in first['schedules']])
        self.assertIn('offset=2', first['schedules_links'][0]['href'])
        rest = self.user.ok('GET', f'/schedules?sort_key=name&sort_dir=asc&marker={made[1]["id"]}')
        self.assertEqual(['number 2'], [one['name'] for one in rest['schedules']])
        self.assertEqual(1, len(self.user.ok('GET', '/schedules?name=number 1')['schedules']))

    def test_whole_numbers_may_have_a_point(self):
        values = {'cron': '0 3 * * *', 'keep': {'day': 7.0}}
        self.assertEqual(
            self.user.ok('POST', '/schedules/preview', {'schedule': {**values, 'keep': {'day': 7}}}),
            self.user.ok('POST', '/schedules/preview', {'schedule': values}),
        )
        refused = self.user.call('POST', '/schedules/preview', {'schedule': {**values, 'keep': {'day': 7.5}}})
        self.assertEqual(400, refused[0])

    def test_previews(self):
        values = {'cron': '0 0 * * *', 'time_zone': 'Asia/Tokyo', 'keep': {'day': 3, 'month': 2}}
        found = self.user.ok('POST', '/schedules/preview', {'schedule': values})['preview']
        self.assertEqual(5, len(found['times']))
        self.assertEqual(
            {'15:00:00.000000'}, {one.partition('T')[2] for one in (*found['times'], *found['kept'])}
        )
        self.assertIn(
            len(found['kept']), (3, 4, 5)
        )  # the last days of both months may be among the three days
        made = self.schedule(**values)
        self.assertEqual(found, self.user.ok('GET', f'/schedules/{made["id"]}/preview')['preview'])

    def test_wrong_values_are_refused_with_the_field_and_the_reason(self):
        share = self.user.share()
        other = self.caller('other').share()
        for values, words in (
            ({}, 'must have the field cron'),
            ({'cron': '61 * * * *'}, 'cron: has a wrong minute.'),
            ({'cron': '* * * *'}, 'cron: must have five fields'),
            ({'cron': '0 0 31 2 *'}, 'cron: '),
            ({'cron': NEVER, 'time_zone': 'Berlin'}, 'time_zone: must be the name of a time zone'),
            ({'cron': NEVER, 'keep': {'hour': 367}}, 'schedule.keep.hour: must be'),
            ({'cron': NEVER, 'keep': {'hour': 0}}, 'schedule.keep.hour: must be'),
            ({'cron': NEVER, 'keep': {'minute': 1}}, 'schedule.keep'),
            ({'cron': NEVER, 'jitter': 3601}, 'schedule.jitter'),
            ({'cron': NEVER, 'missed': 'twice'}, 'schedule.missed'),
            ({'cron': NEVER, 'action': 'delete'}, 'schedule.action'),
            ({'cron': NEVER, 'colour': 'blue'}, 'colour'),
            ({'cron': NEVER, 'share_ids': [_NOBODY]}, f'share_ids: Share {_NOBODY} could not be found'),
            ({'cron': NEVER, 'share_ids': [other['id']]}, 'share_ids: '),
            ({'cron': NEVER, 'share_type_id': _NOBODY}, 'share_type_id: '),
            ({'cron': NEVER, 'backup_type': 'nightly'}, 'backup_type: only of a schedule with the action'),
            ({'cron': NEVER, 'action': 'share_backup', 'backup_type': 'no'}, 'backup_type: there is no type'),
        ):
            self.refused(400, words, 'POST', '/schedules', values)
        made = self.schedule(share_ids=[share['id']])
        for values, words in (
            ({'cron': 'x'}, 'cron: '),
            ({'share_ids': [other['id']]}, 'share_ids: '),
            ({'backup_type': 'nightly'}, 'backup_type: '),
        ):
            self.refused(400, words, 'PUT', f'/schedules/{made["id"]}', values)
        self.assertEqual(made, self.show(made))

    def test_a_project_has_so_many_and_no_more(self):
        self.service.conf.set_override('schedules', 1, 'limits')
        self.addCleanup(self.service.conf.clear_override, 'schedules', 'limits')
        self.schedule()
        self.refused(413, 'Limit schedules exceeded', 'POST', '/schedules', {'cron': NEVER})


class Callers(SchedulesTest):
    def test_another_project_sees_nothing_and_changes_nothing(self):
        made, other = self.schedule(), self.caller('other')
        path = f'/schedules/{made["id"]}'
        for method, where, values in (
            ('GET', path, None),
            ('GET', f'{path}/preview', None),
            ('PUT', path, {'paused': True}),
            ('DELETE', path, None),
        ):
            self.refused(404, made['id'], method, where, values, other)
        for query in ('', '?all_tenants=1', f'?all_tenants=1&project_id={self.project}', f'?id={made["id"]}'):
            self.assertEqual([], other.ok('GET', f'/schedules{query}')['schedules'], query)
        self.assertEqual(made, self.show(made))
        self.assertIn(made, self.admin.ok('GET', '/schedules?all_tenants=1')['schedules'])

    def test_a_reader_looks_only(self):
        made, reader = self.schedule(), self.caller(self.project, roles='reader')
        self.assertEqual(made, self.show(made, reader))
        self.refused(403, '', 'POST', '/schedules', {'cron': NEVER}, reader)
        self.refused(403, '', 'PUT', f'/schedules/{made["id"]}', {'paused': True}, reader)
        self.refused(403, '', 'DELETE', f'/schedules/{made["id"]}', None, reader)

    def test_only_an_administrator_makes_one_for_all_projects_and_sees_it(self):
        self.refused(403, 'all_projects', 'POST', '/schedules', {'cron': NEVER, 'all_projects': True})
        theirs = self.caller(self.project, 'root', 'admin,member,reader')
        made = self.schedule(theirs, all_projects=True)
        self.assertEqual(self.project, made['project_id'])
        self.assertEqual([], self.user.ok('GET', '/schedules')['schedules'])
        path = f'/schedules/{made["id"]}'
        self.refused(404, made['id'], 'GET', path)
        self.refused(404, made['id'], 'PUT', path, {'keep': {'last': 1}})
        self.refused(404, made['id'], 'DELETE', path)

    def test_an_administrator_changes_one_of_another_project_for_its_shares_only(self):
        share, made = self.user.share(), self.schedule()
        path, mine = f'/schedules/{made["id"]}', self.admin.share()
        self.admin.ok('PUT', path, {'schedule': {'share_ids': [share['id']]}})
        self.refused(400, mine['id'], 'PUT', path, {'share_ids': [mine['id']]}, self.admin)
