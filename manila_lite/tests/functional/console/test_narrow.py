# SPDX-License-Identifier: Apache-2.0
"""Every page on a telephone: 360 pixels are wide enough, and nothing is only beyond them."""

from manila_lite.tests.functional.console import base, test_pages

#: Names that have nowhere to break, turn the text, or are high.
_LONG = ('W' * 255, '\u0627\u0644\u0639\u0631\u0628\u064a\u0629' * 30, '\U0001f469\u200d\U0001f680' * 85)


class NarrowTest(base.ConsoleTest):
    """Pages with names that no screen is wide enough for."""

    def start_browser(self):
        super().start_browser()
        self.narrow()

    def fill(self):
        """Make a share with rules, snapshots and a failed operation; networks; messages. Return the id of the share."""
        made = [
            self.lite.ok(
                'POST',
                '/shares',
                {'share': {'size': 1, 'share_proto': 'NFS', 'name': name, 'description': name}},
            )['share']['id']
            for name in _LONG
        ]
        for share_id in made:
            self.lite.wait(f'/shares/{share_id}', 'share', 'available')
            self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share_id, 'name': _LONG[0]}})
        self.lite.ok(
            'POST',
            f'/shares/{made[0]}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '2001:db8::/64'}},
        )
        for name in _LONG:
            self.lite.ok('POST', '/share-networks', {'share_network': {'name': name}})
        self.lite.knobs('extend_share:fail')
        self.lite.ok('POST', f'/shares/{made[2]}/action', {'extend': {'new_size': 2}})
        self.lite.wait(f'/shares/{made[2]}', 'share', 'extending_error')
        return made[0]

    def test_pages_dialogs_and_answers_fit_and_rows_are_cards(self):
        share_id = self.fill()
        self.assert_outside_is_noticed()
        for where, title in {**test_pages.PAGES, f'share/{share_id}': _LONG[0]}.items():
            self.open(where, title)
            self.see_gone("//*[contains(@class, 'loading')]")
            self.assert_fits(where)
            if where.startswith(
                'share'
            ):  # lists are cards; for the rest, what axe looks at is as on a wide screen
                self.assert_accessible(f'{where}, narrow', schemes=['light'])
        self.open('operations', 'Operations')
        self.choose('State', 'Failed')
        self.see("//tr[th='share: extend']")
        self.assert_fits('failed operations')
        self.rows_are_cards()
        self.dialogs_and_answers_fit(share_id)
        self.assert_quiet()

    def assert_outside_is_noticed(self):
        self.open('shares', 'Shares')
        self.see('//tbody/tr')  # until then what is put in may be drawn away
        self.driver.execute_script(
            "const wide = Object.assign(document.createElement('p'), {id: 'wide', textContent: 'W'});"
            "wide.style.width = '999px'; document.querySelector('main').append(wide)"
        )
        wider, _, outside = self.driver.execute_script(base.OUTSIDE)
        self.assertTrue(wider > 0, outside)
        self.assertIn('id="wide"', ''.join(outside))
        self.driver.refresh()

    def rows_are_cards(self):
        self.open('shares', 'Shares')
        cell = self.see(
            "//tbody/tr[1]/td[@data-head='Protocol']"
        )  # a column that a narrow table would not have
        self.assertEqual('NFS', cell.text)
        self.assertEqual(
            '"Protocol"',
            self.driver.execute_script("return getComputedStyle(arguments[0], '::before').content", cell),
        )
        self.press('Size')
        self.see("//th[@aria-sort='ascending']")
        self.picture('narrow')

    def dialogs_and_answers_fit(self, share_id):
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
