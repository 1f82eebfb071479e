# SPDX-License-Identifier: Apache-2.0
"""A real browser, without a window, in front of a real service."""

import base64
import itertools
import os
from pathlib import Path

import fixtures
import testtools

from manila_lite.tests import hush, process, waiting
from manila_lite.tests.services import daemon

#: Names a folder for pictures of pages.
PICTURES = 'MANILA_LITE_TEST_PICTURES'

_AXE = Path(__file__).parent / 'vendor' / 'axe.min.js'
#: As root chromium has no sandbox. It asks nobody but the service.
_FLAGS = (
    '--headless=new',
    '--no-sandbox',
    '--disable-dev-shm-usage',
    '--disable-gpu',
    '--no-first-run',
    '--disable-sync',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-default-apps',
    '--disable-extensions',
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    '--lang=en-US',
    '--force-prefers-reduced-motion',
)
#: The rules of axe for each scheme: in the dark nothing is another but the colors.
_RULES = {
    'light': {
        'type': 'tag',
        'values': ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    },
    'dark': {'type': 'rule', 'values': ['color-contrast']},
}
_CHECK = """
const [runOnly, done] = arguments;
axe.run(document, {runOnly}).then(
  (found) => done(found.violations.map(
    (rule) => rule.id + ': ' + rule.nodes.map((node) => node.html + ' ' + node.failureSummary))),
  (error) => done(['axe failed: ' + error]));
"""
#: Seconds between two looks at a page: each is work for the test, the driver and the browser.
_PAUSE = 0.2
#: Pixels of a telephone.
_WIDE, _HIGH = 360, 740
#: How much wider the page is than the screen, whether it hides what does not fit, and what is outside and scrolls in nothing.
OUTSIDE = """
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


class Browser(fixtures.Fixture):
    """Chromium with a profile of its own; ``driver`` is Selenium's."""

    def _setUp(self):
        """Start it.

        :raises Missing: chromium, its driver or Selenium is not installed.
        """
        chromium, chromedriver = daemon.program('chromium'), daemon.program('chromedriver')
        try:
            from selenium import webdriver
            from selenium.webdriver.chrome.service import Service
        except ModuleNotFoundError:
            raise daemon.Missing('selenium is not installed (test-requirements.txt)') from None
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        profile = self.useFixture(fixtures.TempDir()).path
        for flag in (*_FLAGS, f'--user-data-dir={profile}', '--window-size=1280,1000'):
            options.add_argument(flag)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(options, Service(chromedriver))
        self.addCleanup(self.driver.quit)
        self.driver.set_script_timeout(waiting.LIMIT)


class Page:
    """Mixin of tests with ``lite``, a running service: its console in a browser. Skipped, with the reason, without one."""

    #: Who does not log in is of the project of ``Lite``.
    CONSOLE = '[console]\nenabled = true\n[api]\nnoauth_project = p\n'

    def start_browser(self):
        """Have the browser of the class, as if it was new."""
        if 'browser' not in vars(type(self)):
            type(self).browser = self.new_browser()
        self.driver = self.browser.driver
        self.addCleanup(self.forget)

    def new_browser(self):
        """Start a browser, which ends with the class."""
        browser = Browser()
        try:
            browser.setUp()
        except daemon.Missing as missing:
            self.skipTest(str(missing))
        except fixtures.MultipleExceptions as several:
            missing = next((error for _, error, _ in several.args if isinstance(error, daemon.Missing)), None)
            if missing is None:
                raise
            self.skipTest(str(missing))
        self.addClassCleanup(browser.cleanUp)
        return browser

    def forget(self):
        """Have nothing of this test left in the browser."""
        self.driver.get('about:blank')
        self.driver.execute_cdp_cmd('Storage.clearCookies', {})
        for reset in ('Emulation.clearDeviceMetricsOverride', 'Browser.resetPermissions'):
            self.driver.execute_cdp_cmd(reset, {})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': []})
        self.driver.get_log('browser')

    @property
    def url(self):
        return f'http://127.0.0.1:{self.lite.port}/console/'

    def open(self, where='', title=None):
        """Open a page, and wait for its title."""
        self.driver.get(f'{self.url}#/{where}')
        if title is not None:
            self.see_title(title)

    def until(self, condition, what, ignoring=()):
        """Wait until a page, or what a test sees of the service behind it, is as it should be."""
        from selenium.common.exceptions import StaleElementReferenceException

        # What is drawn anew while a test looks at it is looked at again.
        return waiting.until(
            condition, what, pause=_PAUSE, ignoring=(StaleElementReferenceException, *ignoring)
        )

    def see_title(self, title):
        self.see(f'//h1[normalize-space()={literal(title)}]')

    def all(self, path):
        return self.driver.find_elements('xpath', path)

    def see(self, path, *, hidden=False):
        """Wait until an element is shown; return it. ``hidden``: it need only be there, such as in a part that is closed."""

        def shown():
            return next((element for element in self.all(path) if hidden or element.is_displayed()), None)

        return self.until(shown, lambda: f'{path} in:\n{self.text}')

    def see_gone(self, path):
        self.until(lambda: not self.all(path), lambda: f'{path} is still in:\n{self.text}')

    @property
    def text(self):
        """What a user reads."""
        return self.driver.find_element('tag name', 'body').text

    def button(self, words, within=''):
        is_named = f'normalize-space()={literal(words)} or @aria-label={literal(words)}'
        return self.see(f'{within}//*[self::button or self::a][{is_named}]')

    def press(self, words, within=''):
        self.use(lambda: self.button(words, within).click(), words)

    def click(self, path):
        self.use(lambda: self.see(path).click(), path)

    def use(self, act, what):
        """Do what a user does with an element, as soon as nothing covers it and the page does not draw it anew."""
        from selenium.common import exceptions

        def used():
            act()
            return True

        # Whoever raises one of these has done nothing.
        self.until(
            used,
            lambda: f'{what} cannot be used in:\n{self.text}',
            ignoring=(
                exceptions.ElementClickInterceptedException,
                exceptions.ElementNotInteractableException,
            ),
        )

    def field(self, label, within=''):
        """Return the input with this label."""
        self.see(f'{within}//label[normalize-space()={literal(label)}]')
        return self.see(f'//*[@id=({within}//label[normalize-space()={literal(label)}]/@for)]', hidden=True)

    def write(self, label, text, within=''):
        from selenium.webdriver.common.keys import Keys

        # WebDriver's own clear() is no input of a user: the page may put back what was there.
        self.use(lambda: self.field(label, within).send_keys(Keys.CONTROL + 'a' + Keys.NULL + text), label)

    def choose(self, label, words, within=''):
        from selenium.webdriver.support.select import Select

        self.use(lambda: Select(self.field(label, within)).select_by_visible_text(words), label)

    def keys(self, *words):
        """Press keys, wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*words).perform()

    def reach(self, words, *, backwards=False):
        """Press Tab, or Shift+Tab, until the element with this name has the focus."""
        from selenium.webdriver.common.keys import Keys

        seen = []
        for _ in range(80):
            self.keys(Keys.SHIFT + Keys.TAB + Keys.NULL if backwards else Keys.TAB)
            name = self.driver.execute_script(
                'const at = document.activeElement; return at.getAttribute("aria-label") || at.labels?.[0]?.textContent'
                ' || at.textContent'
            )
            seen.append(name)
            if name == words:
                return
        self.fail(f'{words} is not among {seen}')

    def act_as(self, user, project, roles):
        """Become another user, without authentication."""
        self.open('shares', 'Shares')
        self.press('Act as another user')
        self.write('User', user, '//dialog')
        self.write('Project', project, '//dialog')
        self.write('Roles', roles, '//dialog')
        self.press('Log in', '//dialog')
        self.see(f"//header//bdi[.='{user}']")

    def narrow(self, width=_WIDE, height=_HIGH):
        """Have a screen of so many pixels: by default as narrow as a telephone's."""
        self.driver.execute_cdp_cmd(
            'Emulation.setDeviceMetricsOverride',
            {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False},
        )

    def assert_fits(self, where):
        """Check that nothing is only beyond a narrow screen."""
        self.assertEqual(_WIDE, self.driver.execute_script('return innerWidth'))
        self.assertEqual([0, False, []], self.driver.execute_script(OUTSIDE), where)

    def assert_accessible(self, where, schemes=('light', 'dark')):
        """Check the page with axe, in light and in dark."""
        for scheme in schemes:
            self.driver.execute_cdp_cmd(
                'Emulation.setEmulatedMedia',
                {
                    'features': [
                        {'name': 'prefers-color-scheme', 'value': scheme},
                        {'name': 'prefers-reduced-motion', 'value': 'reduce'},
                    ]
                },
            )
            if not self.driver.execute_script('return typeof axe === "object"'):
                self.driver.execute_script(_AXE.read_text())
            self.assertEqual(
                [], self.driver.execute_async_script(_CHECK, _RULES[scheme]), f'{where}, {scheme}'
            )

    def picture(self, name):
        """Keep a picture of the page for the guides, if a folder for them is named."""
        if folder := os.environ.get(PICTURES):
            self.driver.execute_script('scrollTo(0, 0)')
            self.driver.save_screenshot(str(Path(folder) / f'console-{name}.png'))

    def assert_quiet(self):
        """Check that the browser refused nothing by the policy, and that no script failed."""
        bad = [
            entry['message']
            for entry in self.driver.get_log('browser')
            if 'Content Security Policy' in entry['message']
            or 'Trusted' in entry['message']
            or (entry['source'] in ('javascript', 'console-api') and entry['level'] == 'SEVERE')
        ]
        self.assertEqual([], bad)


class ConsoleTest(Page, testtools.TestCase):
    """A service of the class with the dummy backend in a process, and its console. Each test is in a project of its own."""

    CONFIG = Page.CONSOLE
    ROLES = 'admin,member,reader'

    def setUp(self):
        super().setUp()
        self.start_browser()
        if 'service' not in vars(type(self)):
            self.start_service()
        self.lite = self.service
        self.assertIsNone(self.lite.process.poll(), self.lite.tail())
        self.addCleanup(self.undo)
        self.enter_project()

    def start_service(self):
        """Start a service, which ends with the class."""
        self.lite = process.Lite(f'[alpha]\ndriver = dummy\n{self.CONFIG}')
        self.lite.setUp()
        self.addClassCleanup(self.lite.cleanUp)
        self.configure()
        self.lite.start()
        self.ready()
        type(self).service, type(self).projects = self.lite, itertools.count(1)

    def undo(self):
        """Have the service as other tests want it: it runs, and nothing in it fails or waits."""
        self.lite.knobs()
        if self.lite.process is None:
            self.lite.start()

    def enter_project(self):
        """Be the administrator in a project where nothing is, in the browser as with ``lite``."""
        self.project = f'p{next(self.projects)}'
        token = f'u:{self.project}:{self.ROLES}'
        self.lite.token = f'{token}:{hush.MARK}token'
        self.driver.execute_cdp_cmd(
            'Network.setCookie',
            {
                'name': 'manila_lite_console',
                'value': base64.urlsafe_b64encode(token.encode()).decode().rstrip('='),
                'url': self.url,
                'httpOnly': True,
                'sameSite': 'Strict',
            },
        )

    def configure(self):
        """Change the configuration before the service starts."""

    def ready(self):
        """Make a share type, and wait for the pool."""
        self.lite.ok('POST', '/types', process.DEFAULT_TYPE)
        waiting.until(lambda: self.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'a pool')


def literal(text):
    """Return a text as a literal of XPath."""
    if "'" not in text:
        return f"'{text}'"
    return 'concat(' + ', "\'", '.join(f"'{part}'" for part in text.split("'")) + ')'
