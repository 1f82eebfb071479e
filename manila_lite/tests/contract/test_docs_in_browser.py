# SPDX-License-Identifier: Apache-2.0
"""Every built page in a real browser, on a telephone and on a laptop, in light and in dark: no line is cut off."""

import pathlib
import subprocess
import sys

import fixtures
import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.tests.contract.test_checks import ROOT
from manila_lite.tests.functional.console import base

_SIZES = {390: 844, 1280: 800}
#: How much wider than the screen the page is, and what of its content is beyond the screen or cut off, and scrolls in nothing.
_BEYOND = """
const root = document.documentElement;
const style = (element) => getComputedStyle(element);
const scrolls = (element) => element && element.tagName !== 'ARTICLE'  // around that all of the page would scroll
  && (['auto', 'scroll'].includes(style(element).overflowX) || scrolls(element.parentElement));
const cut = (element) => ['hidden', 'clip'].includes(style(element).overflowX)
  && element.scrollWidth > element.clientWidth + 1;
const out = [...document.querySelectorAll('.content *, .mobile-header *')].filter((element) => {
  const {left, right, width} = element.getBoundingClientRect();
  const hidden = style(element).visibility === 'hidden' || element.closest('.visually-hidden, .toc-drawer, svg, .copybtn');
  return width > 1 && !hidden && ((right > root.clientWidth + 1 || left < -1) && !scrolls(element) || cut(element));
});
return [root.scrollWidth - root.clientWidth, out.slice(0, 5).map((element) => element.outerHTML.slice(0, 200))];
"""


class Width(base.Page, testtools.TestCase):
    """All pages, each loaded once."""

    def setUp(self):
        super().setUp()
        self.start_browser()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def resize(self, width):
        size = {'width': width, 'height': _SIZES[width], 'deviceScaleFactor': 1, 'mobile': False}
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', size)

    def beyond(self):
        """Return what does not fit, by width and theme."""
        found = {}
        for width in _SIZES:
            self.resize(width)
            for theme in ('light', 'dark'):
                self.driver.execute_script('document.body.dataset.theme = arguments[0]', theme)
                found[width, theme] = self.driver.execute_script(_BEYOND)
        return {where: what for where, what in found.items() if what != [0, []]}

    def test_every_page_fits(self):
        words = (
            '-m',
            'sphinx',
            '-q',
            '-b',
            'html',
            '-d',
            self.folder / 'trees',
            'doc/source',
            self.folder / 'html',
        )
        subprocess.run([sys.executable, *words], cwd=ROOT, stdin=subprocess.DEVNULL, check=True)
        pages = sorted((self.folder / 'html').rglob('*.html'))
        self.assertLess(50, len(pages))
        self.assertEqual(
            {}, {str(page.relative_to(self.folder)): found for page in pages if (found := self.look(page))}
        )
        self.assert_beyond_is_noticed()
        for page in ('index', 'user/tour', 'admin/backends', 'reference/api'):
            self.driver.get((self.folder / f'html/{page}.html').as_uri())
            self.assert_readable(page)

    def assert_readable(self, page):
        """Check the colors with axe. What else it would find is the theme's own."""
        self.driver.execute_script(base._AXE.read_text())
        for theme in ('light', 'dark'):
            self.driver.execute_script('document.body.dataset.theme = arguments[0]', theme)
            found = self.driver.execute_async_script(base._CHECK, base._RULES['dark'])
            self.assertEqual([], found, f'{page}, {theme}')

    def look(self, page):
        self.driver.get(page.as_uri())
        return self.beyond()

    def assert_beyond_is_noticed(self):
        for style in ('width: 1300px', 'overflow: hidden; white-space: nowrap; width: 50px'):
            self.driver.execute_script(
                "const wide = document.createElement('p'); wide.textContent = 'some words of a line';"
                "wide.style = arguments[0]; document.querySelector('article').append(wide)",
                style,
            )
            found = self.beyond()
            self.assertEqual(4, len(found), style)
            self.driver.execute_script("document.querySelector('article').lastChild.remove()")
        self.assertEqual({}, self.beyond())
