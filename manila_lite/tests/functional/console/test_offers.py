# SPDX-License-Identifier: Apache-2.0
"""What is offered is what policy allows, also by a policy file of the operator's own."""

from manila_lite.tests.functional.console import base

_POLICY = """
"share:delete": "rule:admin_api"
"service:index": "rule:admin_api or role:watcher"
"""
#: Pages with lists, their titles, and what is seen there.
_LISTS = {
    'shares': ('Shares', 'one'),
    'snapshots': ('Snapshots', 'monday'),
    'networks': ('Share networks', 'blue'),
    'groups': ('Share groups', 'There are no share groups.'),
    'backups': ('Backups', 'There are no backups.'),
    'replicas': ('Replicas', 'There are no replicas.'),
    'messages': ('Messages', 'There are no messages.'),
    'quotas': ('Quotas', 'Size of shares (GiB)'),
}
#: Ways to change something, in the part of a page that is its own.
_CHANGES = (
    "//main//*[self::button or self::input[@type='checkbox'] or self::a[contains(@class, 'button')]]"
    '[not(ancestor::thead)]'
)


class OffersTest(base.ConsoleTest):
    """A service in which members may not delete shares, and watchers may see its services."""

    CONFIG = f'[oslo_policy]\npolicy_file = POLICY\n{base.Page.CONSOLE}'

    def configure(self):
        file = self.lite.state / 'policy.yaml'
        file.write_text(_POLICY)
        self.lite.config.write_text(self.lite.config.read_text().replace('= POLICY', f'= {file}'))

    def fill(self):
        """Make a share with a rule and a snapshot, and a network; return the share's id."""
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'one'}}
        share_id = self.lite.ok('POST', '/shares', body)['share']['id']
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        rule = {'allow_access': {'access_type': 'ip', 'access_to': '192.0.2.7'}}
        self.lite.ok('POST', f'/shares/{share_id}/action', rule)
        self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share_id, 'name': 'monday'}})
        self.lite.ok('POST', '/share-networks', {'share_network': {'name': 'blue'}})
        return share_id

    def offered(self):
        """Return the names of all ways to change something on the page, when it is there."""
        return {one.get_attribute('aria-label') or one.text for one in self.all(_CHANGES)}

    def test_reader_is_offered_no_change(self):
        share_id = self.fill()
        self.act_as('rita', self.project, 'reader')
        for where, (title, seen) in _LISTS.items():
            self.open(where, title)
            self.see(f'//main//*[normalize-space()={base.literal(seen)}]')
            self.assertEqual(
                set(), {words for words in self.offered() if not words.startswith('Copy')}, where
            )
        self.open(f'share/{share_id}', 'one')
        self.see("//section[.//h2='Access rules']//bdi[.='192.0.2.7']")
        self.see("//section[.//h2='Snapshots']//bdi[.='monday']")
        self.assertEqual(set(), {words for words in self.offered() if not words.startswith('Copy')})
        self.open('create-share', 'Shares')
        self.see("//main//*[@role='alert'][contains(., 'You may not')]")
        self.assert_accessible('a page that is refused')
        self.assert_quiet()

    def test_member_is_offered_what_the_policy_file_allows(self):
        share_id = self.fill()
        self.act_as('ann', self.project, 'member,reader')
        self.open('shares', 'Shares')
        self.see("//button[@aria-label='Resize: one']")
        self.assertNotIn('Delete: one', self.offered())
        self.open(f'share/{share_id}', 'one')
        self.see("//button[@aria-label='Delete: monday']")
        self.assertEqual([], self.all("//div[h1]//button[.='Delete']"))
        self.assertEqual([], self.all("//nav//a[.='Services']"))

    def test_watcher_sees_the_page_that_the_policy_file_opens(self):
        self.act_as('walt', self.project, 'reader,watcher')
        self.press('Services', '//nav')
        self.see("//tr[th='manila-share']//span[normalize-space()='up']")
        self.assertEqual(set(), self.offered())
        self.assertEqual([], self.all("//nav//a[.='Pools']"))
        self.open('overview', 'Overview')
        self.see("//section[.//h2='Services']//tr[th='manila-share']")
        self.assertEqual([], self.all("//h2[.='Capacity by pool']"))
        self.assert_quiet()

    def test_caller_without_a_role_is_offered_nothing(self):
        self.open('overview', 'Overview')
        self.press('Act as another user')
        self.write('User', 'nobody', '//dialog')
        self.write('Roles', 'none', '//dialog')
        self.press('Log in', '//dialog')
        self.see("//header//bdi[.='nobody']")
        self.until(lambda: [a.text for a in self.all('//nav//a')] == ['Overview', 'API'], lambda: self.text)
        self.assertEqual([], self.all("//main//*[@role='alert']"))
        self.assert_quiet()

    def test_what_lacks_its_type_is_not_offered(self):
        self.fill()
        self.open('groups', 'Share groups')
        self.see("//main//*[normalize-space()='There is no group type that you may use. Ask the operator.']")
        self.assertEqual(set(), self.offered())
        self.open('replicas', 'Replicas')
        self.press('Create a replica')
        self.see("//dialog//p[.='No share has a type with replication.']")
        self.assertEqual(['Close', 'Cancel'], [one.text for one in self.all('//dialog//button')])

    def test_hint_of_the_search_is_not_cut_off(self):
        self.open('overview', 'Overview')
        for width in (1280, 390, 360):
            metrics = {'width': width, 'height': 800, 'deviceScaleFactor': 1, 'mobile': False}
            self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', metrics)
            left = self.driver.execute_script(
                'const field = document.querySelector(".find input"); const style = getComputedStyle(field);'
                'const pen = document.createElement("canvas").getContext("2d"); pen.font = style.font;'
                'return field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)'
                ' - pen.measureText(field.placeholder).width'
            )
            self.assertGreater(left, 16, width)  # a search field has a cross at its end
