# SPDX-License-Identifier: Apache-2.0
"""Every page on a telephone: 360 pixels are wide enough, and nothing is only beyond them."""

from manila_lite.tests import waiting
from manila_lite.tests.functional.console import base, test_operators, test_pages

_WIDE, _HIGH = 360, 740
#: Names that have nowhere to break, turn the text, or are high.
_LONG = ('W' * 255, '\u0627\u0644\u0639\u0631\u0628\u064a\u0629' * 30, '\U0001f469\u200d\U0001f680' * 85)
#: How much wider the page is than the screen, whether it hides what does not fit, and what is outside and scrolls in nothing.
_OUTSIDE = """
const most = document.documentElement.clientWidth;
const hides = [document.documentElement, document.body, document.querySelector('main')].some(
  (element) => element && getComputedStyle(element).overflowX !== 'visible');
const scrolls = (element) => element && (['auto', 'scroll'].includes(getComputedStyle(element).overflowX)
  || scrolls(element.parentElement));
const out = [...document.querySelectorAll('body *')].filter((element) => {
  const {left, right, width} = element.getBoundingClientRect();
  return width > 1 && (right > most + 1 || left < -1) && !element.closest('.skip, svg') && !scrolls(element);
});
return [document.documentElement.scrollWidth - most, hides, out.map((element) => element.outerHTML.slice(0, 200))];
"""


class Narrow:
    """Mixin of tests with a screen as narrow as a telephone's."""

    def start_browser(self):
        super().start_browser()
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': _WIDE, 'height': _HIGH, 'deviceScaleFactor': 1, 'mobile': False})

    def assert_fits(self, where):
        self.assertEqual(_WIDE, self.driver.execute_script('return innerWidth'))
        self.assertEqual([0, False, []], self.driver.execute_script(_OUTSIDE), where)


class NarrowTest(Narrow, base.ConsoleTest):
    """Pages with names that no screen is wide enough for."""

    def fill(self):
        """Make a share with rules, snapshots and a failed operation; networks; messages. Return the id of the share."""
        made = [self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': name, 'description': name}})
                ['share']['id'] for name in _LONG]
        for share_id in made:
            self.lite.wait(f'/shares/{share_id}', 'share', 'available')
            self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share_id, 'name': _LONG[0]}})
        self.lite.ok('POST', f'/shares/{made[0]}/action', {'allow_access': {'access_type': 'ip', 'access_to': '2001:db8::/64'}})
        for name in _LONG:
            self.lite.ok('POST', '/share-networks', {'share_network': {'name': name}})
        self.lite.knobs('extend_share:fail')
        self.lite.ok('POST', f'/shares/{made[2]}/action', {'extend': {'new_size': 2}})
        self.lite.wait(f'/shares/{made[2]}', 'share', 'extending_error')
        return made[0]

    def test_every_page_fits(self):
        share_id = self.fill()
        self.assert_outside_is_noticed()
        for where, title in {**test_pages.PAGES, f'share/{share_id}': _LONG[0]}.items():
            self.open(where, title)
            self.see_gone("//*[contains(@class, 'loading')]")
            self.assert_fits(where)
            self.assert_accessible(f'{where}, narrow')
        self.open('operations', 'Operations')
        self.choose('State', 'Failed')
        self.see("//tr[th='share: extend']")
        self.assert_fits('failed operations')
        self.assert_quiet()

    def assert_outside_is_noticed(self):
        self.open('shares', 'Shares')
        self.driver.execute_script("const wide = document.createElement('p'); wide.id = 'wide'; wide.style.width = '400px';"
                                   " wide.textContent = 'W';"
                                   " document.querySelector('main').append(wide)")
        wider, _, outside = self.driver.execute_script(_OUTSIDE)
        self.assertTrue(wider > 0)
        self.assertIn('id="wide"', outside[-1])
        self.driver.refresh()

    def test_rows_are_cards_with_the_heads_of_their_columns(self):
        self.fill()
        self.open('shares', 'Shares')
        cell = self.see("//tbody/tr[1]/td[@data-head='Protocol']")      # a column that a narrow table would not have
        self.assertEqual('NFS', cell.text)
        self.assertEqual('"Protocol"', self.driver.execute_script(
            "return getComputedStyle(arguments[0], '::before').content", cell))
        self.press('Size')
        self.see("//th[@aria-sort='ascending']")
        self.picture('narrow')

    def test_dialogs_and_answers_fit(self):
        share_id = self.fill()
        self.open(f'share/{share_id}', _LONG[0])
        for words in ('Edit', 'Resize', 'Migrate', 'Add a rule', 'Take a snapshot', 'Delete'):
            self.press(words, '//main')
            self.see('//dialog')
            self.assert_fits(words)
            self.press('Cancel', '//dialog')
            self.see_gone('//dialog')
        self.open('api/2.99/GET/%2Fshares%2Fdetail', 'GET /shares/detail')
        self.press('Send GET')
        self.see("//*[@role='region'][@aria-label='Answer']")
        self.assert_fits('an answer')
        self.press('Act as another user')
        self.assert_fits('the log-in')


class NarrowServersTest(Narrow, test_operators.ServersTest):
    """Pictures of networks and servers."""

    def test_network_with_two_subnets_gets_a_server_that_the_map_shows(self):
        """Do the same with a narrow screen; the pictures scroll by themselves."""
        super().test_network_with_two_subnets_gets_a_server_that_the_map_shows()
        for where, title in (('servers', 'Share servers'), ('networks', 'Share networks')):
            self.open(where, title)
            picture = self.see("//*[@class='picture']")
            waiting.until(lambda picture=picture: self.driver.execute_script(
                'return arguments[0].scrollWidth > arguments[0].clientWidth', picture), where)
            self.assert_fits(where)
