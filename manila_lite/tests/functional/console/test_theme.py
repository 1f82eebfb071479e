# SPDX-License-Identifier: Apache-2.0
"""The choice between light and dark, and the links to the guides."""

from manila_lite.tests.functional.console import base

_GUIDES = 'https://guides.example/lite'


class ThemeTest(base.ConsoleTest):
    """What is around each page."""

    CONFIG = base.Page.CONSOLE.replace('enabled = true', f'enabled = true\ndocs_url = {_GUIDES}')

    def back(self):
        return self.driver.execute_script('return getComputedStyle(document.body).backgroundColor')

    def choose_colors(self, words):
        from selenium.webdriver.support.select import Select

        box = "//select[@aria-label='Colors']"
        self.use(lambda: Select(self.see(box)).select_by_visible_text(words), box)

    def test_colors_are_chosen_and_stay_after_a_reload(self):
        self.open('overview', 'Overview')
        seen = {}
        for words in ('Light', 'Dark'):
            self.choose_colors(words)
            seen[words] = self.back()
            # Whatever the browser prefers: axe finds nothing in what the user chose.
            self.see_gone("//*[contains(@class, 'loading')]")
            self.assert_accessible(words)
            self.assertEqual(seen[words], self.back())
        self.assertNotEqual(seen['Light'], seen['Dark'])
        self.picture('dark')
        # The browser prefers the other one: only the choice can make it dark.
        self.driver.execute_cdp_cmd(
            'Emulation.setEmulatedMedia', {'features': [{'name': 'prefers-color-scheme', 'value': 'light'}]}
        )
        self.driver.refresh()
        self.see_title('Overview')
        self.assertEqual(seen['Dark'], self.back())
        self.choose_colors('As the browser')
        self.assertNotIn('theme', self.driver.current_url)
        self.assert_quiet()

    def test_each_page_has_a_link_to_its_guide(self):
        for where, title, guide in (
            ('snapshots', 'Snapshots', 'user/snapshots'),
            ('types', 'Share types', 'admin/capabilities'),
            ('nothing', 'No such page', 'user/console'),
        ):
            self.open(where, title)
            link = self.see("//a[.='About this page, in the guides']")
            self.assertEqual(f'{_GUIDES}/{guide}.html', link.get_attribute('href'))
            self.assertEqual('noopener noreferrer', link.get_attribute('rel'))
        self.assert_quiet()
