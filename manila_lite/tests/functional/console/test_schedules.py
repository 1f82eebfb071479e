# SPDX-License-Identifier: Apache-2.0
"""Schedules in the console: made with a look at the times, paused, and deleted."""

from manila_lite.tests.functional.console import base

#: The number of lines of an element's text, whatever box it has.
_LINES = """const text = document.createRange();
text.selectNodeContents(arguments[0]);
return text.getClientRects().length"""


class SchedulesTest(base.ConsoleTest):
    """The page of schedules."""

    def made(self):
        return self.lite.ok('GET', '/schedules')['schedules']

    def test_schedule_is_made_with_a_preview_paused_and_deleted(self):
        self.open('schedules', 'Schedules')
        self.see("//*[normalize-space()='There are no schedules.']")
        self.press('Create a schedule')
        self.write('Name', 'nightly', '//dialog')
        self.write('Time zone', 'UTC', '//dialog')
        self.until(lambda: len(self.all('//dialog//ol[not(ancestor::details)]/li')) == 5, lambda: self.text)
        self.see("//dialog//summary[contains(., 'copies of each share')]")
        self.assert_accessible('a new schedule')
        self.choose('When', 'At other times', '//dialog')
        self.write('Times, as cron has them', '61 * * * *', '//dialog')
        self.see("//dialog//*[@role='alert'][contains(., 'cron')]")
        self.write('Times, as cron has them', '30 2 * * *', '//dialog')
        self.see_gone("//dialog//*[@role='alert']")
        self.press('Create', '//dialog')
        row = "//tr[.//bdi[.='nightly']]"
        self.see(f"{row}[.//code='30 2 * * *']//span[normalize-space()='active']")
        [made] = self.made()
        self.assertEqual(
            ('30 2 * * *', 'UTC', 'snapshot', {'day': 7, 'week': 4}, None),
            tuple(made[name] for name in ('cron', 'time_zone', 'action', 'keep', 'share_ids')),
        )
        self.assert_accessible('schedules')
        self.press('Pause: nightly')
        self.see(f"{row}//span[normalize-space()='disabled']")
        self.press('Resume: nightly')
        self.see(f"{row}//span[normalize-space()='active']")
        self.narrow()
        self.assert_fits('schedules')
        self.press('Delete: nightly')
        self.press('Delete', '//dialog')
        self.see("//*[normalize-space()='There are no schedules.']")
        self.assertEqual([], self.made())
        self.assert_quiet()

    def test_schedule_of_one_share_and_of_metadata(self):
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'docs'}}
        share_id = self.lite.ok('POST', '/shares', body)['share']['id']
        for name, which, label, act in (
            ('one', 'Some shares', 'Shares', lambda: self.choose('Shares', 'docs', '//dialog')),
            ('tagged', 'Shares with metadata', 'Metadata, a key = value in each line', None),
        ):
            self.open('schedules', 'Schedules')
            self.press('Create a schedule')
            self.write('Name', name, '//dialog')
            self.choose('Of', which, '//dialog')
            act() if act else self.write(label, 'team=blue', '//dialog')
            self.press('Create', '//dialog')
            self.see(f"//tr[.//bdi[.='{name}']]")
        found = {one['name']: (one['share_ids'], one['share_metadata']) for one in self.made()}
        self.assertEqual({'one': ([share_id], None), 'tagged': (None, {'team': 'blue'})}, found)
        self.see("//tr[.//bdi[.='one']]//a[.='docs']")
        self.assert_quiet()

    def test_schedule_is_edited_with_the_keyboard_and_only_what_changed_is_sent(self):
        from selenium.webdriver.common.keys import Keys

        made = {
            'name': 'tidy', 'cron': '30 2 * * 1-5', 'time_zone': 'UTC', 'keep': {'day': 3}, 'jitter': 60, 'missed': 'skip',
            'name_prefix': 'old', 'share_metadata': {'team': 'blue', 'tier': 'gold'},
            'share_type_id': self.lite.ok('GET', '/types')['share_types'][0]['id'],
        }  # fmt: skip
        before = self.lite.ok('POST', '/schedules', {'schedule': made})['schedule']
        self.open('schedules', 'Schedules')
        self.see("//tr[.//bdi[.='tidy']]")
        self.reach('Edit: tidy')
        self.keys(Keys.ENTER)
        self.see("//dialog//h2[contains(., 'tidy')]")
        for label, value in (
            ('Times, as cron has them', '30 2 * * 1-5'),
            ('Time zone', 'UTC'),
            ('Days', '3'),
            ('Weeks', ''),
            ('Jitter in seconds', '60'),
            ('Names begin with', 'old'),
        ):
            self.assertEqual(value, self.field(label, '//dialog').get_attribute('value'), label)
        self.until(lambda: len(self.all('//dialog//ol[not(ancestor::details)]/li')) == 5, lambda: self.text)
        self.write('Time zone', 'Europe/Berlin', '//dialog')
        self.write('Weeks', '2', '//dialog')
        self.choose('A run that was missed', 'is done once, late', '//dialog')
        self.field('Paused', '//dialog').send_keys(Keys.SPACE)
        self.until(self.shows_kept, lambda: self.text, ignoring=(ValueError,))
        self.assert_accessible('a schedule that is edited')
        self.narrow()
        self.assert_fits('a schedule that is edited')
        self.field('Names begin with', '//dialog').send_keys(Keys.ENTER)
        self.see("//tr[.//bdi[.='tidy']]//span[normalize-space()='disabled']")
        [after] = self.made()
        changed = {name for name in after if after[name] != before[name]}
        self.assertEqual({'time_zone', 'keep', 'missed', 'paused', 'next_run_at', 'updated_at'}, changed)
        self.assertEqual(
            ('Europe/Berlin', {'day': 3, 'week': 2}, 'once', True),
            tuple(after[name] for name in ('time_zone', 'keep', 'missed', 'paused')),
        )
        self.press('Edit: tidy')
        self.choose('Of', 'All shares of the project', '//dialog')
        self.choose('When', 'Each hour', '//dialog')
        self.press('Save', '//dialog')
        self.see("//tr[.//bdi[.='tidy']][.//code='0 * * * *']")
        [after] = self.made()
        self.assertEqual(
            [None] * 3, [after[name] for name in ('share_ids', 'share_type_id', 'share_metadata')]
        )
        self.assert_quiet()

    def shows_kept(self):
        """Open the times that would be kept, which a later preview closes again, and say whether they are there."""
        [part] = self.all('//dialog//details')
        if part.get_attribute('open') is None:
            part.find_element('xpath', "summary[contains(., 'copies of each share')]").click()
        return len(self.all('//dialog//details//li')) >= 3  # a fourth one depends on the day of the week

    def test_short_names_are_not_broken_on_a_laptop(self):
        for name, tier in (('nightly', 'gold'), ('each week', 'bronze'), ('x' * 40, 'tin')):
            body = {'cron': '0 3 * * *', 'name': name, 'keep': {'day': 7, 'week': 4, 'month': 12}}
            made = {'schedule': body | {'share_metadata': {'tier': tier}, 'time_zone': 'Europe/Berlin'}}
            self.lite.ok('POST', '/schedules', made)
        self.narrow(1280, 800)
        self.open('schedules', 'Schedules')
        for text, whole in (
            *(('nightly', True), ('each week', True), ('tier=gold', True), ('tier=bronze', True)),
            ('x' * 40, False),
        ):
            shown = self.see(f"//main//table//bdi[.='{text}']")
            lines = self.driver.execute_script(_LINES, shown)
            self.assertEqual(whole, lines == 1, (text, lines))
        table = 'const {scrollWidth: all, clientWidth: seen} = document.querySelector(".table"); return all - seen'
        self.assertEqual(0, self.driver.execute_script(table))

    def test_readers_are_offered_no_change(self):
        self.lite.ok('POST', '/schedules', {'schedule': {'cron': '0 3 * * *', 'name': 'kept'}})
        self.act_as('rita', self.project, 'reader')
        self.open('schedules', 'Schedules')
        self.see("//tr[.//bdi[.='kept']]")
        self.assertEqual([], self.all('//main//button'))
        self.assert_quiet()
