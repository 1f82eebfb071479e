# SPDX-License-Identifier: Apache-2.0
"""Rules for the programs of the console: no markup from texts, no other host, all words in one file, calls that exist."""

import re
from pathlib import Path

import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite import policies
from manila_lite.api import versions
from manila_lite.api.http.routes import Routes
from manila_lite.api.v2 import CALLS
from manila_lite.console import files
from manila_lite.tests.functional.console import test_pages

OWN = sorted((files.ROOT / 'js').rglob('*.js'))
#: Ways to turn a text into markup or a program, or to keep something in the browser.
_NEVER = re.compile(
    r'innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\b|new Function'
    r'|localStorage|sessionStorage|document\.cookie|window\.open|postMessage|https?://'
)
#: Bytes of all files together, also of those that a first visit does not load.
_MOST = 300 * 1024
_DOCS = Path(__file__).parents[3] / 'doc' / 'source'
_COMMENT = re.compile(r'^\s*//.*$', re.MULTILINE)
_INSIDE = re.compile(r'\$\{[^{}]*\}')
#: Text between two tags, or in an attribute that users read or hear.
_WORDS = re.compile(r'>[^<>`$]*[A-Za-z]{2,}[^<>`$]*<|(?:aria-label|title|placeholder|alt)="[^"$]*[A-Za-z]')
#: Paths of calls, with ${...} for ids.
_CALL = re.compile(r"(?<![.\w])(get|put|remove|erase|create|post|list|act)\((?:'([^']+)'|`([^`]+)`)")
_METHODS = {
    'get': 'GET',
    'list': 'GET',
    'put': 'PUT',
    'remove': 'DELETE',
    'erase': 'DELETE',
    'create': 'POST',
    'post': 'POST',
    'act': 'POST',
}


def templates(text):
    """Yield the templates of markup in a program, without the programs in them."""
    for template in re.findall(r'html`((?:[^`\\]|\\.)*)`', text):
        text_alone = template
        while (shorter := _INSIDE.sub('', text_alone)) != text_alone:
            text_alone = shorter
        yield text_alone


class ConsoleTest(testtools.TestCase):
    def test_programs_make_no_markup_of_texts_and_keep_nothing(self):
        for path in OWN:
            self.assertEqual([], _NEVER.findall(_COMMENT.sub('', path.read_text())), path.name)

    def test_pattern_finds_what_it_forbids(self):
        for bad in ('a.innerHTML = b', 'eval(a)', 'localStorage.x', "fetch('https://a')"):
            self.assertTrue(_NEVER.search(bad), bad)

    def test_words_for_users_are_in_the_file_of_texts(self):
        for path in OWN:
            if path.name != 'strings.js':
                for template in templates(_COMMENT.sub('', path.read_text())):
                    self.assertEqual([], _WORDS.findall(template), path.name)

    def test_pattern_finds_words(self):
        self.assertEqual(['>Delete it<'], _WORDS.findall(next(templates('html`<p>Delete it</p>`'))))
        self.assertEqual([], _WORDS.findall(next(templates('html`<p>${S.a.b}</p>`'))))

    def test_files_are_small_and_say_what_they_are(self):
        for path in OWN:
            lines = path.read_text().splitlines()
            self.assertEqual('// SPDX-License-Identifier: Apache-2.0', lines[0], path.name)
            self.assertTrue(lines[1].startswith('// '), path.name)
            self.assertTrue(
                len(lines) <= (340 if path.name == 'strings.js' else 170), (path.name, len(lines))
            )
            self.assertEqual([], [line for line in lines if len(line) > 160], path.name)

    def test_all_files_together_are_small(self):
        sizes = {path: path.stat().st_size for path in files.ROOT.rglob('*') if path.is_file()}
        self.assertTrue(sum(sizes.values()) < _MOST, sum(sizes.values()))

    def test_each_page_is_walked_in_a_browser(self):
        text = (files.ROOT / 'js/pages/all.js').read_text()
        names = set(re.findall(r"[{\s,]'?([\w-]+)'?: [A-Zl]", text.partition('export const PAGES')[2]))
        self.assertTrue({'overview', 'create-share', 'schedules', 'api'} <= names, names)
        walked = {where.partition('/')[0] for where in test_pages.PAGES} | {'share'}
        self.assertEqual(set(), names - walked)

    def test_every_text_is_used(self):
        programs = '\n'.join(path.read_text() for path in OWN if path.name != 'strings.js')
        names = re.findall(r'^  (\w+):', (files.ROOT / 'js/strings.js').read_text(), re.MULTILINE)
        self.assertTrue(len(names) > 25, names)
        for name in names:
            self.assertTrue(f'S.{name}' in programs, name)

    def test_console_asks_for_the_newest_version(self):
        text = (files.ROOT / 'js/api.js').read_text()
        self.assertIn(f"VERSION = '{versions.show(versions.MAX)}'", text)

    def test_guides_exist(self):
        text = (files.ROOT / 'js/guides.js').read_text()
        pages = re.findall(r": '((?:user|admin)/[\w-]+)'", text)
        self.assertTrue(len(pages) > 15, pages)
        for page in pages:
            self.assertTrue((_DOCS / f'{page}.rst').is_file(), page)

    def test_icons_are_of_all_pages(self):
        frame = (files.ROOT / 'js/parts/frame.js').read_text()
        lists = re.findall(r'^const (?:PROJECT|OPERATOR) = \[([^\]]+)\]', frame, re.MULTILINE)
        icons = set(
            re.findall(r"^  '?([\w-]+)'?: 'M", (files.ROOT / 'js/parts/icons.js').read_text(), re.MULTILINE)
        )
        self.assertTrue(icons)
        self.assertEqual(icons, {name for one in lists for name in re.findall(r"'([\w-]+)'", one)})

    def test_rules_of_policy_exist(self):
        """Check the rules of pages and of actions: an unknown one would be offered to nobody."""
        known = {rule.name for rule in policies.list_rules()}
        named = set(re.findall(r"'([a-z_]+(?::[a-z_]+)+)'", (files.ROOT / 'js/rules.js').read_text()))
        for path in OWN:
            named |= set(re.findall(r"\bmay\('([^']+)'\)", path.read_text()))
        self.assertTrue(len(named) > 40, named)
        self.assertEqual(set(), named - known)

    def test_calls_exist(self):
        routes, seen = Routes(CALLS), 0
        for path in OWN:
            for name, plain, filled in _CALL.findall(path.read_text()):
                where = re.sub(r'\$\{[^}]*\}', 'x', plain or filled)
                if where.startswith('x'):
                    continue
                match = routes.find(
                    f'{where}/action'.split('/') if name == 'act' else where.split('/'), versions.MAX
                )
                self.assertIsNotNone(match, (path.name, where))
                self.assertIn(_METHODS[name], {op.method for op in match.calls}, (path.name, where))
                seen += 1
        self.assertTrue(seen > 25, seen)
