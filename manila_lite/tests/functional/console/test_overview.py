# SPDX-License-Identifier: Apache-2.0
"""The first page: how the service is, for operators; what they have and what needs them, for others."""

from manila_lite.tests.functional.console import base

_EVIL = '<img src=x onerror="document.title=1">'


class OverviewTest(base.ConsoleTest):
    """The page Overview."""

    CONFIG = base.Page.CONSOLE + '[quota]\nshares = 50\n'

    def make(self, name, status='available'):
        """Create a share, and wait for its status; return its id."""
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': name}}
        share_id = self.lite.ok('POST', '/shares', body)['share']['id']
        self.lite.wait(f'/shares/{share_id}', 'share', status)
        return share_id

    def see_number(self, words, least):
        """Wait until the page shows at least so many shares of this kind."""

        def shown():
            figures = self.all(
                f"//ul[@class='figures']/li[contains(normalize-space(), {base.literal(words)})]"
            )
            return figures and int(figures[0].text.split()[0]) >= least

        self.until(shown, lambda: self.text)

    def test_operator_sees_the_service_as_it_changes(self):
        self.open('', 'Overview')
        self.see(
            "//section[.//h2='Capacity by pool']//li[starts-with(., 'test@alpha#')][contains(., 'promised')]"
        )
        row = "//section[.//h2='Services']//tr[th='manila-share'][.//span[normalize-space()='up']]"
        seen = self.see(f'{row}//time')
        self.assertIn(' ago', seen.text.replace('just now', '0 s ago'))
        self.assertRegex(seen.get_attribute('title'), r'\d{4}.*\d\d:\d\d')
        self.see("//section[.//h2='Findings']//p[.='Nothing is wrong.']")
        self.see("//section[.//h2='Running operations']//p[.='Nothing is being worked on.']")
        before = int(self.see("//ul[@class='figures']/li[1]").text.split()[0])
        good = int(self.see("//ul[@class='figures']/li[2]").text.split()[0])
        self.lite.knobs('create_share:hang')
        share = self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': _EVIL}})
        self.see(
            "//section[.//h2='Running operations']//li[contains(., 'share: create')]//progress"
        )  # without a reload
        self.lite.knobs()
        self.lite.wait(f'/shares/{share["share"]["id"]}', 'share', 'available')
        self.see_number('in all', before + 1)
        self.see_number('available', good + 1)
        done = "//section[.//h2='Last activity']//tr[th='share: create'][.//span[normalize-space()='done']]"
        mine = f'{done}[.//a/bdi[.={base.literal(_EVIL)}]]'
        self.see(f"{mine}/td[@data-head='Asked by'][.='u']")
        self.assertEqual([], self.all('//img'))
        self.picture('overview')
        self.assert_accessible('overview')
        self.assert_quiet()

    def test_operator_is_led_from_numbers_to_the_shares_of_all_projects(self):
        self.lite.knobs('create_share:fail')
        self.make('broken', 'error')
        self.act_as('root', 'elsewhere', self.ROLES)
        self.open('overview', 'Overview')
        self.see_number('in error', 1)
        self.click("//ul[@class='figures']//a[contains(., 'in error')]")
        self.see_title('Shares')
        self.see("//tbody//th//bdi[.='broken']")
        self.assertTrue(self.field('Show all projects').is_selected())
        self.assertEqual('error', self.field('State').get_attribute('value'))

    def test_others_see_their_own_and_nothing_of_operators(self):
        self.lite.knobs('create_share:fail')
        self.make('broken', 'error')
        self.lite.knobs()
        self.act_as('ann', self.project, 'member,reader')
        self.open('overview', 'Overview')
        self.see("//section[.//h2='What needs attention']//a[.='broken']")
        self.see("//section[.//h2='What needs attention']//tbody/tr")  # the message
        self.see("//section[.//h2='Quota']//li[contains(., '1 of 50')]")
        self.assertEqual([], self.all("//h2[.='Services' or .='Capacity by pool' or .='Findings']"))
        self.assertEqual([], self.all("//nav//a[.='Share types' or .='Pools']"))
        self.assert_accessible('overview of a tenant')
        self.assert_quiet()

    def test_project_without_shares_is_told_how_to_begin(self):
        self.act_as('ann', f'{self.project}-new', 'member,reader')
        self.open('', 'Overview')
        self.see("//p[.='Nothing needs your attention.']")
        self.press('Create a share', '//main')
        self.see_title('Create a share')

    def test_administrator_sees_that_there_are_shares_in_other_projects(self):
        self.make('hidden')
        self.act_as('root', f'{self.project}-empty', self.ROLES)
        self.open('shares', 'Shares')
        self.see("//*[normalize-space()='There are no shares.']")
        self.press('Show all projects', '//main')
        self.see("//tbody//th//bdi[.='hidden']")
        self.assertEqual([], self.all("//main//button[.='Show all projects']"))

    def test_others_do_not_ask_for_shares_of_all_projects(self):
        self.make('hidden')
        self.act_as('ann', f'{self.project}-empty', 'member,reader')
        self.open('shares', 'Shares')
        self.see("//*[normalize-space()='There are no shares.']")
        self.assertNotIn('Other projects', self.text)
        self.assert_accessible('no shares')
        self.assert_quiet()
