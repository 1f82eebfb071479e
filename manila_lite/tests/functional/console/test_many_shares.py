# SPDX-License-Identifier: Apache-2.0
"""Several shares at once, filters, one search, and what is not offered since it would fail."""

from manila_lite.tests import waiting
from manila_lite.tests.functional.console import base

_EVIL = '<b>"\'><script>document.title=1</script>'


class ManySharesTest(base.ConsoleTest):
    """The list of shares, and the search."""

    def make(self, name, **more):
        """Create a share, and wait until it is available; return its id."""
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': name, **more}}
        share_id = self.lite.ok('POST', '/shares', body)['share']['id']
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        return share_id

    def snapshot(self, share_id, name):
        """Take a snapshot, and wait until it is available."""
        taken = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share_id, 'name': name}})[
            'snapshot'
        ]
        self.lite.wait(f'/snapshots/{taken["id"]}', 'snapshot', 'available')

    def names(self):
        return [bdi.text for bdi in self.all('//tbody//th//bdi')]

    def sizes(self):
        shares = self.lite.ok('GET', '/shares/detail')['shares']
        return {share['name']: share['size'] for share in shares}

    def select(self, *names):
        for name in names:
            self.click(f'//input[@aria-label={base.literal(f"Select: {name}")}]')

    def test_several_are_extended_get_a_rule_and_are_deleted_with_their_snapshots(self):
        ids = {name: self.make(name) for name in ('one', 'two', 'three')}
        self.snapshot(ids['one'], 'monday')
        self.open('shares', 'Shares')
        self.select('one', 'two')
        self.see("//*[@role='status'][.='2 shares selected']")
        self.assert_accessible('selected shares')
        self.press('Extend')
        self.write('New size in GiB', '3', '//dialog')
        self.press('Extend', '//dialog')
        self.until(lambda: self.sizes() == {'one': 3, 'two': 3, 'three': 1}, self.sizes)
        self.see_gone('//dialog')
        for name in ('one', 'two'):
            self.lite.wait(f'/shares/{ids[name]}', 'share', 'available')
        self.press('Add a rule')
        self.write('Address or network', '192.0.2.7', '//dialog')
        self.press('Add', '//dialog')
        self.see_gone('//dialog')
        for name in ('one', 'two'):
            rules = self.lite.ok('GET', f'/share-access-rules?share_id={ids[name]}')['access_list']
            self.assertEqual(['192.0.2.7'], [rule['access_to'] for rule in rules])
        self.press('Delete', "//*[@aria-label='Selected shares']")
        self.see("//dialog//li[contains(., 'snapshot')]/bdi[.='monday']")
        self.press('Delete', '//dialog')  # not before the user agreed to delete the snapshot
        self.see('//dialog//input[@type="checkbox"]')
        self.assert_accessible('a question about several')
        self.field('Delete it, too', '//dialog').click()
        self.press('Delete', '//dialog')
        self.until(lambda: list(self.sizes()) == ['three'], self.sizes)
        self.until(lambda: self.names() == ['three'], self.names)
        self.assert_quiet()

    def test_keyboard_alone_searches_selects_and_deletes_with_what_is_in_the_way(self):
        from selenium.webdriver.common.keys import Keys

        self.snapshot(self.make('typed'), 'monday')
        self.open('overview', 'Overview')
        self.reach('Search all resources')
        self.keys('typ', Keys.ENTER)
        self.see_title('Found for typ')
        self.see("//tbody//a[.='typed']")
        self.open('shares', 'Shares')
        self.see("//tbody//a[.='typed']")
        self.reach('Select: typed')
        self.keys(Keys.SPACE)
        self.see("//*[@role='status'][.='1 share selected']")
        self.reach('Delete', backwards=True)
        self.keys(Keys.ENTER)
        self.see('//dialog')
        self.reach('Delete it, too')
        self.keys(Keys.SPACE)
        self.reach('Delete')
        self.keys(Keys.ENTER)
        self.see("//*[normalize-space()='There are no shares.']")
        self.assert_quiet()

    def test_one_that_is_refused_keeps_no_other_back(self):
        first, second = self.make('first'), self.make('second')
        self.lite.ok(
            'POST',
            f'/shares/{first}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '192.0.2.9'}},
        )
        self.open('shares', 'Shares')
        self.select('first', 'second')
        self.press('Add a rule')
        self.write('Address or network', '192.0.2.9', '//dialog')
        self.press('Add', '//dialog')
        alert = self.see("//dialog//*[@role='alert']")
        self.assertIn('1 of 2 could not be done', alert.text)
        self.assertIn('first: ', alert.text)
        rules = self.lite.ok('GET', f'/share-access-rules?share_id={second}')['access_list']
        self.assertEqual(1, len(rules))

    def test_rows_have_their_actions(self):
        share_id = self.make('row')
        self.open('shares', 'Shares')
        self.press('Resize: row')
        self.write('New size in GiB', '2', '//dialog')
        self.press('Resize', '//dialog')
        self.until(lambda: self.sizes() == {'row': 2}, self.sizes)
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        self.press('Delete: row')
        self.press('Delete', '//dialog')
        self.see("//*[normalize-space()='There are no shares.']")
        self.assert_quiet()

    def test_filters_by_metadata_host_and_project(self):
        self.make('tagged', metadata={'team': 'blue sky'})
        self.make('plain')
        self.open('shares', 'Shares')
        self.until(lambda: sorted(self.names()) == ['plain', 'tagged'], self.names)
        self.click('//summary')
        self.write('Metadata, as key=value', 'team=blue sky')
        self.until(lambda: self.names() == ['tagged'], self.names)
        self.write('Metadata, as key=value', 'team=red')
        self.see("//*[normalize-space()='No share fits the search.']")
        self.write('Metadata, as key=value', ' ')
        self.until(lambda: len(self.names()) == 2, self.names)
        host = self.lite.ok('GET', '/scheduler-stats/pools')['pools'][0]['name']
        self.choose('Host', host)
        self.choose('Share type', 'default')
        self.until(lambda: len(self.names()) == 2, self.names)
        self.field('Show all projects').click()
        self.click('//summary')
        self.write('Id of the project', self.project)
        self.until(lambda: sorted(self.names()) == ['plain', 'tagged'], self.names)
        self.assert_quiet()

    def test_one_search_finds_all_kinds_and_shows_names_as_they_are(self):
        share_id = self.make(_EVIL)
        self.snapshot(share_id, f'{_EVIL} monday')
        self.lite.ok('POST', '/share-networks', {'share_network': {'name': 'unlike'}})
        self.open('overview', 'Overview')
        self.field_of('Search all resources').send_keys('<b>\n')
        self.see("//section[.//h2='Shares']//a")
        self.see("//section[.//h2='Snapshots']//a")
        self.assertEqual([], self.all("//section[.//h2='Share networks']"))
        self.until(lambda: _EVIL in self.names() and f'{_EVIL} monday' in self.names(), self.names)
        self.assertEqual([], self.all('//tbody//b') + self.all('//tbody//script'))
        self.assert_accessible('found')
        self.field_of('Search all resources').clear()
        self.field_of('Search all resources').send_keys(f'{share_id}\n')
        self.until(lambda: self.names() == [_EVIL], self.names)
        self.assert_quiet()

    def test_search_finds_what_has_no_name_by_what_it_belongs_to(self):
        share_id = self.make('parent')
        self.open('search/parent', 'Found for parent')
        operation = "//section[.//h2='Operations']//tr[.//td[contains(., 'share: create')]//a[.='parent']]"
        self.see(operation)
        [made] = self.lite.ok('GET', f'/operations?resource_id={share_id}')['operations']
        for words in (made['id'], made['request_id'], share_id):
            self.open(f'search/{words}', f'Found for {words}')
            self.see(operation)
            self.assertEqual(1, len(self.all("//section[.//h2='Operations']//tbody/tr")), words)
        self.see("//section[.//h2='Shares']//a[.='parent']")
        self.assert_accessible('found by an id')
        self.assert_quiet()

    def field_of(self, label):
        return self.see(f'//input[@aria-label={base.literal(label)}]')

    def test_deletion_names_what_stands_against_it(self):
        share_id = self.make('kept')
        self.snapshot(share_id, 'monday')
        self.open(f'share/{share_id}', 'kept')
        self.press('Delete', '//div[h1]')
        self.see("//dialog//bdi[.='monday']")
        self.assert_accessible('a deletion')
        self.field('Delete it, too', '//dialog').click()
        self.press('Delete', '//dialog')
        self.see_title('Shares')
        self.lite.wait(f'/shares/{share_id}', 'share', 'gone')
        self.assert_quiet()

    def test_only_the_latest_snapshot_can_be_reverted_to_and_only_when_it_may(self):
        share_id = self.make('two')
        self.snapshot(share_id, 'monday')
        self.snapshot(share_id, 'tuesday')
        self.open(f'share/{share_id}', 'two')
        self.see("//button[@aria-label='Revert: tuesday']")
        self.see("//li[.//bdi[.='monday']]//span[.='Revert: only to the latest']")
        self.assertEqual([], self.all("//button[@aria-label='Revert: monday']"))
        self.lite.knobs('extend_share:fail')
        self.lite.ok('POST', f'/shares/{share_id}/action', {'extend': {'new_size': 2}})
        self.see("//*[normalize-space()='Only an available share can be changed.']")
        self.see("//li[.//bdi[.='tuesday']]//span[contains(., 'when share and snapshot are available')]")
        for words in ('Resize', 'Migrate', 'Take a snapshot', 'Back a share up'):
            self.assertEqual([], self.all(f'//button[normalize-space()={base.literal(words)}]'), words)
        self.assert_quiet()

    def test_level_of_a_rule_is_changed_in_place(self):
        share_id = self.make('ruled')
        body = {'allow_access': {'access_type': 'ip', 'access_to': '192.0.2.7', 'access_level': 'rw'}}
        self.lite.ok('POST', f'/shares/{share_id}/action', body)
        self.open(f'share/{share_id}', 'ruled')
        from selenium.webdriver.support.select import Select

        box = "//select[@aria-label='Level of 192.0.2.7']"
        self.use(lambda: Select(self.see(box)).select_by_visible_text('Read only'), box)

        def level():
            return [
                rule['access_level']
                for rule in self.lite.ok('GET', f'/share-access-rules?share_id={share_id}')['access_list']
            ]

        waiting.until(lambda: level() == ['ro'], 'the new level')
        self.until(lambda: self.see(box).get_attribute('value') == 'ro', lambda: self.text)
        self.assert_accessible('a rule')
        self.assert_quiet()


class ActivityTest(base.ConsoleTest):
    """The page of operations as a log."""

    def test_ended_work_is_shown_with_who_asked_and_is_filtered(self):
        for name in ('alpha', 'beta'):
            body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': name}}
            share_id = self.lite.ok('POST', '/shares', body)['share']['id']
            self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        self.open('operations', 'Operations')
        for name in ('alpha', 'beta'):
            self.see(
                f"//tr[th='share: create'][.//a[.='{name}']][td[.='u']][.//span[normalize-space()='done']]"
            )
        self.write('Resource, by name or id', 'alph')
        self.see_gone("//tr[.//a[.='beta']]")
        self.see("//tr[.//a[.='alpha']]")
        self.write('Asked by', 'nobody')
        self.see("//*[normalize-space()='There are no operations.']")
        self.write('Asked by', 'u')
        self.choose('Asked for', 'In the last hour')
        self.see("//tr[.//a[.='alpha']]")
        self.choose('Asked for', 'Between two times')
        self.set_time('Until', '2020-01-01T00:00')
        self.see("//*[normalize-space()='There are no operations.']")
        self.set_time('Until', '2990-01-01T00:00')
        self.set_time('From', '2020-01-01T00:00')
        self.see("//tr[.//a[.='alpha']]")
        self.assert_accessible('operations of a time')
        self.choose('State', 'Failed')
        self.see("//*[normalize-space()='There are no operations.']")
        self.assert_accessible('filtered operations')
        self.assert_quiet()

    def set_time(self, label, value):
        """Write a time. Its keys are those of the browser's language, so a program does it."""
        self.driver.execute_script(
            'arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event("input", {bubbles: true}))',
            self.field(label),
            value,
        )
