# SPDX-License-Identifier: Apache-2.0
"""How full shares are, in the console: bars in lists, a chart, and what is nearly full."""

import json
import urllib.parse

from manila_lite.tests.factories import use
from manila_lite.tests.functional.console import base


class UsageTest(base.ConsoleTest):
    """Shares whose use the test writes: the backend measures nothing."""

    CONFIG = f'[DEFAULT]\nshare_usage_interval = 0\n{base.Page.CONSOLE}'

    def make(self, name, percent):
        """Create a share of 10 GiB that grew to so many percent in two days; return its id."""
        body = {'share': {'size': 10, 'share_proto': 'NFS', 'name': name}}
        share_id = self.lite.ok('POST', '/shares', body)['share']['id']
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        use.grow(self.lite.state / 'manila_lite.sqlite', share_id, 10, percent)
        return share_id

    def test_use_is_shown_in_lists_and_drawn_on_the_page_of_the_share(self):
        share_id = self.make('grown', 50)
        self.open('shares', 'Shares')
        cell = self.see("//tr[.//a[.='grown']]/td[@data-head='Used']//span[.='50 %']")
        self.assertEqual('5 GiB of 10 GiB', cell.find_element('xpath', '..').get_attribute('title'))
        self.assert_accessible('used shares')
        self.open(f'share/{share_id}', 'grown')
        section = "//section[.//h2='Use']"
        self.see(f"{section}//dd[.='5 GiB of 10 GiB (50 %)']")
        self.see(f"{section}//dd[.='about 2 days']")
        self.see(f"{section}//dd[.='1,234']")
        self.choose('Period', 'Last two years')
        self.see(f"{section}//p[.='There is no history of this yet.']")
        self.choose('Period', 'Last month')
        picture = self.see(f"{section}//*[name()='svg'][@role='img']")
        self.assertRegex(picture.get_attribute('aria-label'), '^Used: .* at .*, 5 GiB at ')
        points = picture.find_element('xpath', "*[name()='polyline']").get_attribute('points').split()
        self.assertEqual(use.HOURS, len(points))
        heights = [float(point.partition(',')[2]) for point in points]
        self.assertEqual(sorted(heights, reverse=True), heights)  # y counts from the top
        self.assert_accessible('a chart')
        self.assert_quiet()
        self.narrow()
        self.assert_fits('a chart')

    def test_share_that_was_not_measured_says_so(self):
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'new'}}
        share_id = self.lite.ok('POST', '/shares', body)['share']['id']
        self.open(f'share/{share_id}', 'new')
        self.see("//section[.//h2='Use']//p[contains(., 'not measured yet')]")
        self.open('shares', 'Shares')
        self.see("//tr[.//a[.='new']]/td[@data-head='Used'][.='\u2013']")
        self.assert_quiet()

    def test_what_is_nearly_full_needs_attention_and_pools_tell_the_fullest(self):
        self.make('calm', 10)
        self.make('brimming', 95)
        pool = "//li[contains(@class, 'card')]"
        self.open('pools', 'Pools')
        self.see(f"{pool}//p[contains(., 'shares:')][contains(., 'used of')]")
        self.see(f"{pool}//li[.//a[.='brimming']]//span[.='95 %']")
        self.assert_accessible('pools with use')
        self.act_as('ann', self.project, 'member,reader')
        self.open('overview', 'Overview')
        attention = "//section[.//h2='What needs attention']"
        self.see(f"{attention}//li[.//a[.='brimming']]//span[.='95 %']")
        self.assertEqual([], self.all(f"{attention}//a[.='calm']"))
        self.assert_accessible('nearly full')
        self.assert_quiet()

    def test_pools_and_projects_have_a_chart_and_pools_say_when_they_are_full(self):
        self.make('one', 20)
        database = self.lite.state / 'manila_lite.sqlite'
        [host] = {row['host'] for row in self.lite.ok('GET', '/pool-usage')['pool_usage']}
        use.grow_together(database, 'pool', host, 10, 20)
        use.grow_together(database, 'project', self.project, 10, 20)
        path = f'/pool-usage/{urllib.parse.quote(host, safe="")}'
        days = round(self.lite.ok('GET', path)['pool_usage']['full_in_days'])
        self.assertGreater(days, 1)
        for where, title, within in (
            ('pools', 'Pools', '//li'),
            ('quotas', 'Quotas', "//section[.//h2='Use']"),
        ):
            self.open(where, title)
            self.choose('Period', 'Last month', within)
            picture = self.see(f"{within}//*[name()='svg'][starts-with(@aria-label, 'Used: ')]")
            self.assertRegex(picture.get_attribute('aria-label'), ', 2 GiB at ')
            line = picture.find_element('xpath', "*[name()='polyline']").get_attribute('points')
            self.assertEqual(use.HOURS, len(line.split()))
            self.assert_accessible(f'a chart on {where}')
            if where == 'pools':
                self.see(f"{within}//dd[.='about {days:,} days']")
        self.narrow()
        for where, title in (('pools', 'Pools'), ('quotas', 'Quotas')):
            self.open(where, title)
            self.see("//*[name()='svg'][starts-with(@aria-label, 'Used: ')]")
            self.assert_fits(where)
        self.open('quotas', 'Quotas')
        self.write('Project, by id', 'another')  # what is shown is of the project that is named
        self.see_gone("//section[.//h2='Use']")
        self.act_as('ann', self.project, 'member,reader')
        self.open('quotas', 'Quotas')
        self.see("//section[.//h2='Use']//p[contains(., '2 GiB of 10 GiB together')]")
        self.assert_quiet()


class ThresholdTest(base.ConsoleTest):
    """A share that the backend measures each second."""

    CONFIG = f'[DEFAULT]\nshare_usage_interval = 1\n{base.Page.CONSOLE}'

    def fill(self, gib):
        """Have the only share of the backend hold so many GiB."""
        [file] = (self.lite.state / 'alpha').glob('shares/*')
        draft = file.with_name('.draft')
        draft.write_text(json.dumps(json.loads(file.read_text()) | {'used': gib}))
        draft.rename(file)

    def test_each_threshold_is_told_on_the_open_page(self):
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'filling'}}
        share_id = self.lite.ok('POST', '/shares', body)['share']['id']
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        self.open(f'share/{share_id}', 'filling')
        told = "//section[.//h2='Messages']//tr[contains(., 'at least {} %')]"
        self.see("//section[.//h2='Messages']//p[.='There are no messages.']")
        for gib, percent in ((0.85, 80), (0.97, 95)):
            self.fill(gib)
            self.see(told.format(percent))
        self.open('messages', 'Messages')
        self.see("//main//tr[contains(., 'at least 95 %')]//a[.='filling']")
        self.assert_quiet()
