# SPDX-License-Identifier: Apache-2.0
"""A user's work in a real browser, with the mouse and with the keyboard alone."""

import time

import bcrypt

from manila_lite.tests import hush, process, waiting
from manila_lite.tests.functional.console import base

#: Names that a page must show as they are.
_EVIL = (
    '<img src=x onerror="document.title=1">',
    '\u202eevil\u202c',
    "'; alert(1)//",
    '\U0001f600' * 255,
    '&lt;b&gt;',
)


class ShareTest(base.ConsoleTest):
    """Pages of shares, without authentication, and the programs behind them."""

    def create(self, name):
        """Create a share on the page; be on its page."""
        self.open('create-share', 'Create a share')
        self.write('Name', name)
        self.press('Create')
        self.see_title(name)

    def test_share_from_its_creation_to_its_end(self):
        self.lite.knobs('create_share:hang')
        self.create('first')
        self.see("//dd/span[normalize-space()='creating']")
        self.see('//progress')
        self.lite.knobs()
        self.see("//dd/span[normalize-space()='available']")  # without a reload
        self.see_gone('//progress')
        share = self.lite.ok('GET', '/shares/detail?name=first')['shares'][0]
        [place] = self.lite.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations'][:1]
        self.choose('Your system', 'Linux')
        granted = ['clipboardReadWrite', 'clipboardSanitizedWrite']
        self.driver.execute_cdp_cmd('Browser.grantPermissions', {'permissions': granted})
        self.press('Copy: Command to mount the share')
        self.see("//*[@role='status'][normalize-space()='Copied']")
        copied = self.driver.execute_async_script(
            'const [done] = arguments; navigator.clipboard.readText().then(done, done)'
        )
        self.assertEqual(f'mount -t nfs -o vers=4.2 {place["path"]} /mnt/share', copied.replace("'", ''))
        self.press('Add a rule')
        self.write('Address or network', '192.0.2.7', '//dialog')
        self.press('Add', '//dialog')
        self.see("//section//tr[.//bdi[.='192.0.2.7']]//span[normalize-space()='active']")
        self.picture('share')
        self.press('Delete: 192.0.2.7')
        self.press('Delete', '//dialog')
        self.see_gone("//bdi[.='192.0.2.7']")
        self.press('Delete', '//div[h1]')
        self.press('Delete', '//dialog')
        self.see_title('Shares')
        self.see("//*[normalize-space()='There are no shares.']")
        self.assert_quiet()

    def test_refusals_are_explained_and_lose_nothing(self):
        self.create('small')
        self.see("//dd/span[normalize-space()='available']")
        self.press('Add a rule')
        self.write('Address or network', 'nowhere', '//dialog')
        self.press('Add', '//dialog')
        alert = self.see("//dialog//*[@role='alert']")
        self.assertIn('access_to', alert.text)
        self.assertEqual('nowhere', self.field('Address or network', '//dialog').get_attribute('value'))

    def test_snapshots_and_resize(self):
        self.create('kept')
        self.see("//dd/span[normalize-space()='available']")
        self.press('Take a snapshot')
        self.write('Name', 'monday', '//dialog')
        self.press('Create', '//dialog')
        self.see("//li[.//bdi[.='monday']]//span[normalize-space()='available']")
        self.press('Resize')
        self.write('New size in GiB', '3', '//dialog')
        self.press('Resize', '//dialog')
        self.see("//dd[normalize-space()='3 GiB']")
        self.press('Revert: monday')
        self.press('Revert', '//dialog')
        self.see("//dd[normalize-space()='1 GiB']")
        self.press('New share from it: monday')
        self.see_title('Create a share')
        self.write('Name', 'copy')
        self.press('Create')
        self.see_title('copy')
        self.see("//dd/span[normalize-space()='available']")
        self.assert_quiet()

    def test_names_are_text_whatever_is_in_them(self):
        for name in _EVIL:
            self.lite.ok(
                'POST',
                '/shares',
                {'share': {'size': 1, 'share_proto': 'NFS', 'name': name, 'description': name}},
            )
        self.open('shares', 'Shares')
        for name in _EVIL:
            self.until(lambda name=name: name in self.names(), name)
        self.assertEqual([], self.all('//img') + self.all('//tbody//b'))
        self.press(_EVIL[1])
        self.press('Edit')
        self.assertEqual('Edit \u2068evil\u2069', self.see('//dialog//h2').get_attribute('textContent'))
        self.press('Cancel', '//dialog')
        self.open('shares', 'Shares')
        self.press(_EVIL[0])
        self.until(
            lambda: _EVIL[0] in [h1.get_attribute('textContent') for h1 in self.all('//h1')],
            'the page of the share',
        )
        self.assertEqual(_EVIL[0], self.driver.title.removesuffix(' \u2013 Manila Lite'))
        self.assert_quiet()

    def test_search_state_and_order_are_of_the_service(self):
        for name, size in (('alpha', 2), ('beta', 1), ('alphabet', 3)):
            self.lite.ok('POST', '/shares', {'share': {'size': size, 'share_proto': 'NFS', 'name': name}})
        self.open('shares', 'Shares')
        self.see("//*[normalize-space()='3 shares']")
        self.write('Search by name', 'alpha')
        self.see("//*[normalize-space()='2 shares']")
        self.press('Size')
        self.see("//th[@aria-sort='ascending']")
        self.until(lambda: self.names() == ['alpha', 'alphabet'], self.names)
        self.press('Size ▴')
        self.until(lambda: self.names() == ['alphabet', 'alpha'], self.names)
        self.choose('State', 'error')
        self.see("//*[normalize-space()='No share fits the search.']")
        self.assert_quiet()

    def test_page_that_nobody_looks_at_does_not_listen_and_catches_up(self):
        self.open('shares', 'Shares')
        self.see("//*[normalize-space()='There are no shares.']")
        self.share_named('seen')
        self.until(lambda: self.names() == ['seen'], self.names)
        self.turn('hidden')
        self.share_named('missed')
        time.sleep(3)  # sleeps: nothing must come, and would within two seconds
        self.assertEqual(['seen'], self.names())
        self.turn('visible')
        self.until(lambda: sorted(self.names()) == ['missed', 'seen'], self.names)

    def test_page_behind_a_proxy_that_keeps_streams_back_polls(self):
        self.open('shares', 'Shares')
        self.see("//*[normalize-space()='There are no shares.']")
        self.turn('hidden')
        self.driver.execute_script(_KEEP_BACK)
        self.turn('visible')
        self.until(lambda: self.driver.execute_script('return window.polls'), 'no poll')
        self.share_named('polled')
        self.until(lambda: self.names() == ['polled'], self.names)
        self.assert_quiet()

    def share_named(self, name):
        share = self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': name}})[
            'share'
        ]
        self.lite.wait(f'/shares/{share["id"]}', 'share', 'available')

    def turn(self, state):
        """Do as the browser does when another tab is shown, or this one again: it has no other one here."""
        self.driver.execute_script(
            'Object.defineProperty(document, "hidden", {value: arguments[0] === "hidden", configurable: true});'
            'document.dispatchEvent(new Event("visibilitychange"))',
            state,
        )

    def names(self):
        return self.driver.execute_script(
            'return [...document.querySelectorAll("tbody th bdi")].map((bdi) => bdi.textContent)'
        )

    def test_keyboard_alone_creates_and_deletes_a_share(self):
        from selenium.webdriver.common.keys import Keys

        keys, reach = self.keys, self.reach
        self.open('shares', 'Shares')
        keys(Keys.TAB, Keys.ENTER)  # the first is the link to the content
        self.assertEqual('content', self.driver.execute_script('return document.activeElement.id'))
        reach('Create a share')
        keys(Keys.ENTER)
        self.see_title('Create a share')
        reach('Name')
        keys('typed')
        reach('Size in GiB')
        keys(Keys.ARROW_UP)
        reach('Create')
        keys(Keys.SPACE)
        self.see_title('typed')
        self.see("//dd/span[normalize-space()='available']")
        reach('Delete')
        keys(Keys.ENTER)
        self.see('//dialog')
        keys(Keys.ESCAPE)
        self.see_gone('//dialog')
        self.assertEqual('Delete', self.driver.execute_script('return document.activeElement.textContent'))
        keys(Keys.ENTER)
        self.see('//dialog')
        reach('Delete')
        keys(Keys.ENTER)
        self.see_title('Shares')
        self.see("//*[normalize-space()='There are no shares.']")

    def test_service_that_goes_away_is_shown_and_comes_back_by_itself(self):
        self.create('lasting')
        self.see("//dd/span[normalize-space()='available']")
        self.lite.kill()
        self.see("//*[contains(., 'does not answer')][@class='away']")
        self.see_title('lasting')
        self.lite.start()
        self.see_gone("//*[@class='away']")
        share = self.lite.ok('GET', '/shares?name=lasting')['shares'][0]
        self.lite.ok('PUT', f'/shares/{share["id"]}', {'share': {'display_description': 'changed meanwhile'}})
        self.lite.ok('POST', f'/shares/{share["id"]}/action', {'extend': {'new_size': 2}})
        self.see("//dd[normalize-space()='2 GiB']")
        self.see("//dd[normalize-space()='changed meanwhile']")

    def test_another_user_sees_only_the_own_project(self):
        self.create('of the admin')
        self.act_as('ann', 'blue', 'member,reader')
        self.open('shares', 'Shares')
        self.see("//*[normalize-space()='There are no shares.']")
        self.assertEqual([], self.all("//nav//a[.='Pools']"))
        self.open('pools', 'Pools')
        self.see("//main//*[@role='alert']")
        self.assert_quiet()

    def test_stream_of_events_may_come_in_any_pieces(self):
        self.open('shares', 'Shares')
        told = self.driver.execute_async_script(
            'const [pieces, done] = arguments;'
            'const parse = ({Parser}) => { const parser = new Parser(); return pieces.map('
            '(piece) => [parser.feed(piece).map(({event, data}) => [event, data]), parser.id]); };'
            'import("./js/events.js").then((events) => done(parse(events)), done)',
            [piece for piece, _, _ in _STREAM],
        )
        self.assertEqual([[events, position] for _, events, position in _STREAM], told)

    def test_list_goes_on_where_the_last_row_of_a_page_was_deleted(self):
        self.open('shares', 'Shares')
        before, after = self.driver.execute_async_script(
            _DELETE_BETWEEN_PAGES + 'read().then(arguments[0], arguments[0]);'
        )
        self.assertEqual((5, [*before[:1], *before[2:]]), (len(before), after))

    def test_durations_are_told_in_two_units(self):
        self.open('shares', 'Shares')
        told = self.driver.execute_async_script(
            'const [all, done] = arguments; import("./js/format.js").then('
            '(format) => done(all.map(format.duration)), done)',
            [one for one, _ in _DURATIONS],
        )
        self.assertEqual([words for _, words in _DURATIONS], told)

    def test_commands_fit_the_system_and_run_nothing_else(self):
        self.open('shares', 'Shares')
        for proto, path, system, user, *more, wanted in _COMMANDS:
            told = self.driver.execute_async_script(
                'const [proto, path, system, user, more, done] = arguments; import("./js/mount.js").then('
                '(mount) => done(mount.command(proto, path, system, user, more)), done)',
                proto,
                path,
                system,
                user,
                *(more or ['']),
            )
            self.assertEqual(wanted, told, (proto, path, system, user, more))


#: Protocol, path, system, user, perhaps mount options of the export location; and the command, or None where none is safe to
#: paste.
_COMMANDS = (
    (
        'NFS',
        '192.0.2.1:/a',
        'linux',
        'USER',
        'port=2050',
        'mount -t nfs -o vers=4.2,port=2050 192.0.2.1:/a /mnt/share',
    ),
    (
        'NFS',
        '192.0.2.1:/a',
        'mac',
        'USER',
        'port=2050',
        'mount -t nfs -o vers=4,port=2050 192.0.2.1:/a /mnt/share',
    ),
    ('NFS', '192.0.2.1:/a', 'windows', 'USER', 'port=2050', None),
    ('NFS', '192.0.2.1:/a', 'linux', 'USER', 'port=1;reboot', None),
    (
        'CIFS',
        r'\\192.0.2.1\docs',
        'linux',
        'ann',
        'port=4450',
        'mount -t cifs -o vers=3.1.1,username=ann,port=4450 //192.0.2.1/docs /mnt/share',
    ),
    (
        'CIFS',
        r'\\192.0.2.1\docs',
        'mac',
        'ann',
        'port=4450',
        'mount_smbfs //ann@192.0.2.1:4450/docs /mnt/share',
    ),
    ('CIFS', r'\\192.0.2.1\docs', 'windows', 'ann', 'port=4450', None),
    (
        'CEPHFS',
        '192.0.2.1:6789:/volumes/a',
        'linux',
        'ann',
        'fs=tank',
        'mount -t ceph -o name=ann,secretfile=ann.secret,fs=tank 192.0.2.1:6789:/volumes/a /mnt/share',
    ),
    (
        'NFS',
        '192.0.2.1:/shares/a',
        'linux',
        'USER',
        'mount -t nfs -o vers=4.2 192.0.2.1:/shares/a /mnt/share',
    ),
    (
        'NFS',
        '[2001:db8::1]:/shares/a',
        'linux',
        'USER',
        "mount -t nfs -o vers=4.2 '[2001:db8::1]:/shares/a' /mnt/share",
    ),
    ('NFS', '192.0.2.1:/a b', 'mac', 'USER', "mount -t nfs -o vers=4 '192.0.2.1:/a b' /mnt/share"),
    ('NFS', '192.0.2.1:/shares/a', 'windows', 'USER', r'mount -o anon \\192.0.2.1\shares\a Z:'),
    (
        'CIFS',
        r'\\192.0.2.1\docs',
        'linux',
        'ann',
        'mount -t cifs -o vers=3.1.1,username=ann //192.0.2.1/docs /mnt/share',
    ),
    ('CIFS', r'\\192.0.2.1\docs', 'windows', 'ann', r'net use Z: \\192.0.2.1\docs /user:ann'),
    ('CIFS', r'\\192.0.2.1\docs', 'mac', 'ann', 'mount_smbfs //ann@192.0.2.1/docs /mnt/share'),
    (
        'CEPHFS',
        '192.0.2.1:6789,192.0.2.2:6789:/volumes/a',
        'linux',
        'ann',
        'mount -t ceph -o name=ann,secretfile=ann.secret 192.0.2.1:6789,192.0.2.2:6789:/volumes/a /mnt/share',
    ),
    ('CEPHFS', '192.0.2.1:6789:/volumes/a', 'windows', 'ann', None),
    ('HDFS', 'hdfs://192.0.2.1/a', 'linux', 'ann', None),
    # Whoever chose these words wanted another command to run.
    (
        'NFS',
        '192.0.2.1:/a;reboot',
        'linux',
        'USER',
        "mount -t nfs -o vers=4.2 '192.0.2.1:/a;reboot' /mnt/share",
    ),
    (
        'NFS',
        "192.0.2.1:/a'$(reboot)",
        'linux',
        'USER',
        "mount -t nfs -o vers=4.2 '192.0.2.1:/a'\\''$(reboot)' /mnt/share",
    ),
    ('NFS', '192.0.2.1:/a\nreboot', 'linux', 'USER', None),
    ('NFS', '192.0.2.1:/a\u202e', 'linux', 'USER', None),
    ('NFS', '-o sh:/a', 'linux', 'USER', None),
    ('NFS', '192.0.2.1:/a&reboot', 'windows', 'USER', None),
    ('NFS', '192.0.2.1:/$(reboot)', 'windows', 'USER', None),
    ('CIFS', r'\\192.0.2.1\docs', 'windows', 'ann & reboot', None),
    ('CIFS', r'\\192.0.2.1\docs', 'linux', 'ann,uid=0', None),
    (
        'CIFS',
        r'\\192.0.2.1\docs',
        'linux',
        'ann;reboot',
        "mount -t cifs -o 'vers=3.1.1,username=ann;reboot' //192.0.2.1/docs /mnt/share",
    ),
)


#: Pieces of a stream, and the events that each completes.
_STREAM = (
    ('retry: 1000\nid: a\n\n', [], 'a'),
    ('event: status\nda', [], 'a'),
    ('ta: {"n":1}\nid: b\n', [], 'a'),
    (
        '\n: keep-alive\n\nevent: pool\r\ndata: 1\r\ndata: 2\r\n\r\n',
        [['status', '{"n":1}'], ['pool', '1\n2']],
        'b',
    ),
    ('event: lost\n\ndata:x\n\n', [['message', 'x']], 'b'),
)


#: Lets the page get nothing of a stream, as behind a proxy that waits for its end; counts its other requests for events.
_KEEP_BACK = """
const real = window.fetch;
window.polls = 0;
window.fetch = (address, options) => {
  const {Accept: wanted} = options.headers;
  if (wanted !== 'text/event-stream') {
    window.polls += String(address).includes('/v2/events');
    return real(address, options);
  }
  return Promise.resolve(new Response(new ReadableStream({start(stream) {
    options.signal.addEventListener('abort', () => stream.error(options.signal.reason));
  }})));
};
"""
#: Makes five share networks and reads them by pages of two; the last one of the first page is deleted before the second page.
_DELETE_BETWEEN_PAGES = """
const read = async () => {
  const api = await import('./js/api.js');
  for (const name of 'abcde') await api.post('share-networks', {share_network: {name}});
  const all = async () => (await api.list('share-networks', 'share_networks', {limit: 2})).map(({id}) => id);
  const before = await all();
  const real = window.fetch;
  window.fetch = async (address, options) => {
    if (!String(address).includes(`marker=${before[1]}`)) return real(address, options);
    window.fetch = real;
    await api.remove(`share-networks/${before[1]}`);
    return real(address, options);
  };
  return [before, await all()];
};
"""
#: Seconds, and how they are told.
_DURATIONS = (
    (0.4, '0 s'),
    (59.6, '1 min 0 s'),
    (3725, '1 h 2 min'),
    (172799, '47 h 59 min'),
    (172800, '2 d 0 h'),
    (9 * 86400 + 7200, '9 d 2 h'),
)


class SessionTest(base.ConsoleTest):
    """A session that ends in the middle of something, with passwords of a file."""

    def configure(self):
        self.passwords = self.lite.state / 'htpasswd'
        self.set_password('first')
        text = self.lite.config.read_text().replace('auth_strategy = noauth', 'auth_strategy = http_basic')
        self.lite.config.write_text(
            f'{text}\n[api]\nhttp_basic_auth_user_file = {self.passwords}\n'
            'http_basic_accounts = root:p:admin+member+reader\n'
        )

    def set_password(self, word):
        self.passwords.write_text(
            f'root:{bcrypt.hashpw(f"{hush.MARK}{word}".encode(), bcrypt.gensalt(4)).decode()}\n'
        )

    def ready(self):
        """The share type is made by the test."""

    def enter_project(self):
        """Nobody is logged in."""

    def log_in(self, word, within=''):
        self.write('User', 'root', within)
        self.write('Password', f'{hush.MARK}{word}', within)
        self.press('Log in', within)

    def log_in_again(self, word):
        """Log in in the dialog. What the page asked for with the old password are failed logins, so it may have to wait."""
        from selenium.common import exceptions

        self.log_in(word, '//dialog')

        def done():
            if self.all("//dialog//*[@role='alert']"):
                for button in self.all("//dialog//button[@type='submit']"):
                    button.click()
            return not self.all('//dialog')

        ignored = (exceptions.ElementClickInterceptedException, exceptions.ElementNotInteractableException)
        self.until(done, lambda: self.text, ignoring=ignored)

    def ask(self, method, path, body=None):
        """Send a request from the page, with its session."""
        done = self.driver.execute_async_script(
            'const [method, path, body, done] = arguments; import("./js/api.js").then((api) => method === "GET" ? api.get(path)'
            ' : api.post(path, body)).then(done, (error) => done({error: String(error)}))',
            method,
            path,
            body,
        )
        self.assertNotIn('error', done or {}, done)
        return done

    def press_unless_asked(self, words):
        """Press the button, unless the page, which looks for news, asked for a log-in before. Say whether it was pressed."""
        from selenium.common import exceptions

        def done():
            if self.all('//dialog'):
                return 'asked'
            self.button(words).click()
            return 'pressed'

        ended = self.until(
            done, f'{words} cannot be pressed', ignoring=(exceptions.ElementClickInterceptedException,)
        )
        return ended == 'pressed'

    def test_session_that_ends_asks_again_and_loses_nothing(self):
        self.open()
        self.see("//h2[normalize-space()='Log in']")
        self.log_in('wrong')
        self.assertIn('wrong', self.see("//*[@role='alert']").text)
        self.log_in('first')
        self.see_title('Overview')
        self.ask('POST', 'types', process.DEFAULT_TYPE)
        waiting.until(lambda: self.ask('GET', 'scheduler-stats/pools')['pools'], 'a pool')
        self.open('create-share', 'Create a share')
        self.write('Name', 'written before')
        self.set_password('second')
        self.lite.kill()  # forgets which passwords were right
        self.lite.start()
        pressed = self.press_unless_asked('Create')
        self.see("//dialog//h2[normalize-space()='The session has ended']")
        self.log_in_again('second')
        if not pressed:
            self.press('Create')
        self.see_title('written before')
        self.open('api/2.99/POST/%2Fshare-networks', 'POST /share-networks')
        self.write('Body', '{"share_network": {"name": "typed"}}')
        self.set_password('third')
        self.lite.kill()
        self.lite.start()
        self.press('Send POST')
        self.see('//dialog')
        self.press('Cancel', '//dialog')  # a user may look something up first
        self.see_gone('//dialog')
        # In this time a page that has a session asks more than once for what it shows. This one asks for no log-in by itself.
        self.driver.execute_async_script('setTimeout(arguments[0], 7000)')
        self.assertEqual([], self.all('//dialog'))
        self.button('Log in', '//main')
        self.assertEqual('{"share_network": {"name": "typed"}}', self.field('Body').get_attribute('value'))
        self.press('Send POST')
        self.log_in_again('third')
        self.see("//*[@role='status'][starts-with(normalize-space(), 'Status 200')]")
        self.assertEqual(
            ['typed'], [row['name'] for row in self.ask('GET', 'share-networks')['share_networks']]
        )
        self.press('Log out')
        self.see("//h2[normalize-space()='Log in']")
        self.driver.refresh()
        self.see("//h2[normalize-space()='Log in']")
        self.assertEqual([], self.driver.get_cookies())
        self.assertEqual(0, self.driver.execute_script('return localStorage.length + sessionStorage.length'))
