# SPDX-License-Identifier: Apache-2.0
"""The snapshots and backups of a share on a line of time, and the ways back from there."""

import contextlib
import datetime
import sqlite3

from manila_lite.tests import waiting
from manila_lite.tests.functional.console import base

_LINE = "//ol[@aria-label='Snapshots and backups, the newest first']"


class LineTest(base.ConsoleTest):
    """A share with points by hand, by a schedule, and a backup."""

    CONFIG = f'{base.Page.CONSOLE}[DEFAULT]\nenabled_backup_types = nightly\n[nightly]\nbackup_continue_update_interval = 0.2\n'

    def make(self, path, what, **fields):
        """Create something; return its id when it is available."""
        made = self.lite.ok('POST', path, {what: fields})[what]['id']
        self.lite.wait(f'{path}/{made}', what, 'available')
        return made

    def run_now(self, schedule):
        """Have the schedule run now, and return the name of what it made."""
        with (
            contextlib.closing(sqlite3.connect(self.lite.state / 'manila_lite.sqlite', timeout=waiting.LIMIT)) as rows,
            rows,
        ):  # fmt: skip
            now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(' ', 'microseconds')
            rows.execute('UPDATE schedules SET next_run_at = ? WHERE id = ?', (now, schedule['id']))
        path = f'/snapshots/detail?share_id={schedule["share_ids"][0]}&name~=scheduled&status=available'
        return waiting.until(lambda: self.lite.ok('GET', path)['snapshots'], 'a snapshot by schedule')[0][
            'name'
        ]

    def point(self, name):
        return f"{_LINE}/li[.//bdi[.='{name}']]"

    def test_who_made_a_point_is_not_what_its_description_says(self):
        share_id = self.make('/shares', 'share', name='labelled', size=1, share_proto='NFS')
        body = {'name': 'hourly', 'cron': '0 * * * *', 'share_ids': [share_id], 'keep': {'hour': 2}}
        schedule = self.lite.ok('POST', '/schedules', {'schedule': body})['schedule']
        made = self.run_now(schedule)
        [copy] = self.lite.ok('GET', f'/snapshots?share_id={share_id}')['snapshots']
        self.assertEqual(made, copy['name'])
        own = {'name': 'of the audit', 'description': 'Taken by me.'}
        self.lite.ok('PUT', f'/snapshots/{copy["id"]}', {'snapshot': own})
        text = f'Made by schedule {schedule["id"]}.'
        self.make(
            '/snapshots', 'snapshot', share_id=share_id, name='scheduled-2026-01-01-0000', description=text
        )
        self.open(f'share/{share_id}', 'labelled')
        self.assertIn('No schedule deletes it: kept', self.see(self.point('scheduled-2026-01-01-0000')).text)
        self.assertIn('By the schedule hourly (keeps 2 hourly)', self.see(self.point('of the audit')).text)
        self.assertEqual(1, len(self.all(f"{_LINE}/li[contains(@class, 'scheduled')]")))
        self.assert_quiet()

    def test_points_say_who_made_them_and_lead_back(self):
        from selenium.webdriver.common.keys import Keys

        share_id = self.make('/shares', 'share', name='dated', size=1, share_proto='NFS')
        self.make(
            '/share-backups', 'share_backup', share_id=share_id, name='vault'
        )  # not while there are snapshots
        self.make('/snapshots', 'snapshot', share_id=share_id, name='monday')
        body = {'name': 'nightly', 'cron': '0 3 * * *', 'share_ids': [share_id], 'keep': {'day': 7}}
        schedule = self.lite.ok('POST', '/schedules', {'schedule': body})['schedule']
        made = self.run_now(schedule)
        self.open(f'share/{share_id}', 'dated')
        self.see(self.point('vault'))
        shown = [
            next(name for name in ('Now', made, 'monday', 'vault') if name in one.text)
            for one in self.all(f'{_LINE}/li')
        ]
        self.assertEqual(['Now', made, 'monday', 'vault'], shown)
        self.assertIn('By the schedule nightly (keeps 7 daily)', self.see(self.point(made)).text)
        for name in ('monday', 'vault'):
            self.assertIn('No schedule deletes it: kept', self.see(self.point(name)).text)
        self.assertIn('Revert: only to the latest', self.see(self.point('monday')).text)
        self.see(f"{self.point('vault')}//button[.='Restore']")
        self.assertEqual([], self.all("//button[@aria-label='Revert: monday']"))
        self.assert_accessible('a line of time')
        self.narrow()
        self.assert_fits('a line of time')
        self.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
        self.lite.ok('DELETE', f'/schedules/{schedule["id"]}')
        self.lite.ok('POST', f'/shares/{share_id}/action', {'extend': {'new_size': 2}})
        self.see("//dd[normalize-space()='2 GiB']")
        self.until(
            lambda: 'No schedule deletes it: kept' in self.see(self.point(made)).text, lambda: self.text
        )
        self.reach(f'Revert: {made}')
        self.keys(Keys.ENTER)
        self.press('Revert', '//dialog')
        self.see("//dd[normalize-space()='1 GiB']")
        self.press('New share from it: monday')
        self.see_title('Create a share')
        self.see("//main//bdi[.='monday']")
        self.assert_quiet()

    def test_what_cannot_work_now_is_not_offered_and_many_points_are_shown_when_asked_for(self):
        share_id = self.make('/shares', 'share', name='busy', size=1, share_proto='NFS')
        for number in range(42):
            self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share_id, 'name': f's{number}'}})
        self.open(f'share/{share_id}', 'busy')
        self.press('Show all 42')
        self.until(lambda: len(self.all(f'{_LINE}/li')) == 43, lambda: self.text)
        self.assert_quiet()
