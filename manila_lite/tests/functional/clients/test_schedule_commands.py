# SPDX-License-Identifier: Apache-2.0
"""The commands for schedules (``client/``), against a real API, as a member."""

import json
import re
import shlex
from pathlib import Path

import fixtures

from manila_lite.tests.functional import base, commandline


class Commands(commandline.OverHttp, base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.auth = {
            'OS_AUTH_TYPE': 'admin_token',
            'OS_ENDPOINT': f'{self.url}/v2',
            'OS_TOKEN': 'u:p:member,reader',
        }

    def run_it(self, *words, **more):
        env = self.env(**self.auth)
        return (self.run_cli if more.get('fails') or words[0] in ('set', 'unset', 'delete') else self.cli)(
            'share', 'schedule', *words, env=env, **more
        )

    def test_a_schedule_is_made_listed_changed_previewed_and_deleted(self):
        share = self.caller().share(name='docs')
        words = ('--cron', '0 3 * * *', '--time-zone', 'Europe/Berlin', '--keep', 'day=7', '--keep', 'week=4')
        made = self.run_it('create', 'nightly', *words, '--share', 'docs', '--jitter', '60')
        self.assertEqual(
            ('nightly', {'day': 7, 'week': 4}, [share['id']], False, 60),
            tuple(made[name] for name in ('name', 'keep', 'share_ids', 'is_paused', 'jitter')),
        )
        [row] = self.run_it('list', '--long')
        self.assertEqual(('nightly', '0 3 * * *', None), (row['Name'], row['Cron'], row['Problem']))
        self.run_it('set', 'nightly', '--pause', '--keep', 'last=2', '--name', 'paused')
        shown = self.run_it('show', 'paused')
        self.assertEqual((True, {'last': 2}, None), (shown['is_paused'], shown['keep'], shown['next_run_at']))
        self.run_it('unset', 'paused', '--share', '--keep')
        self.run_it('set', 'paused', '--resume')
        shown = self.run_it('show', made['id'])
        self.assertEqual((False, {}, []), (shown['is_paused'], shown['keep'], shown['share_ids']))
        preview = self.run_it('preview', 'paused')
        self.assertEqual((5, 0), (len(preview['times']), len(preview['kept'])))
        self.run_it('delete', 'paused')
        self.assertEqual([], self.run_it('list'))

    def test_a_snapshot_is_held_by_the_commands_of_the_page(self):
        share, path = self.caller().share(), '/snapshots'
        body = {'snapshot': {'share_id': share['id'], 'name': 'scheduled-2026-11-30-0300'}}
        made = self.caller().ok('POST', path, body)['snapshot']['id']
        self.caller().wait(f'{path}/{made}', 'snapshot', 'available')
        page = (Path(__file__).parents[4] / 'doc/source/user/schedules.rst').read_text()
        held = []
        for words in re.findall(r'^    openstack (share snapshot .*)$', page, re.MULTILINE):
            self.run_cli(*shlex.split(words), env=self.env(**self.auth))
            held.append(self.caller().ok('GET', f'{path}/{made}/metadata')['metadata'])
        self.assertEqual([{'schedule:hold': 'for the auditor'}, {}], held)

    def test_refusals_name_the_field(self):
        for words, said in (
            (('create', 'x', '--cron', '61 * * * *'), 'has a wrong minute'),
            (('create', 'x', '--cron', '0 3 * * *', '--keep', 'day=many'), 'schedule.keep.day'),
            (('create', 'x', '--cron', '0 3 * * *', '--time-zone', 'Berlin'), 'name of a time zone'),
            (('show', 'none'), 'No Schedule found for none'),
        ):
            self.assertIn(said, self.run_it(*words, fails=True))

    def test_a_microversion_in_clouds_yaml_is_no_hindrance(self):
        file = Path(self.useFixture(fixtures.TempDir()).path, 'clouds.yaml')
        file.write_text(json.dumps({'clouds': {'here': {'shared_file_system_default_microversion': '2.82'}}}))
        self.auth |= {'OS_CLIENT_CONFIG_FILE': str(file), 'OS_CLOUD': 'here'}
        self.assertEqual([], self.run_it('list'))
