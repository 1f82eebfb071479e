# SPDX-License-Identifier: Apache-2.0
"""The documents build without a warning, and their references are complete."""

import html
import json
import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import fixtures
import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite import metrics, policies, states
from manila_lite.api import versions
from manila_lite.api.http import openapi
from manila_lite.api.v2 import CALLS
from manila_lite.cmd import metrics_collector
from manila_lite.cmd.manage import categories
from manila_lite.conf import opts
from manila_lite.tests.crash import results
from manila_lite.tests.functional.clients import commands, nova, osc, sdk, wire

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Build(testtools.TestCase):
    """Build the pages as ``tox -e docs`` does, and as XML; then look for each thing of which they must have a row."""

    def build(self, builder):
        """Build the pages; return their folder. What is read once, is read for all builders."""
        folder = self.home / builder
        done = subprocess.run(
            [
                sys.executable,
                '-m',
                'sphinx',
                '-W',
                '--keep-going',
                '-q',
                '-b',
                builder,
                '-d',
                self.home / 'trees',
                'doc/source',
                folder,
            ],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        return folder

    def test_the_pages_build_without_a_warning_and_are_complete(self):
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        folder = self.build('xml')
        self.assertEqual({}, self.mail_addresses(folder))
        pages = {page.stem: page.read_text() for page in (folder / 'reference').glob('*.xml')}
        self.assertEqual(
            [], [name for page, names in self.named().items() for name in names if name not in pages[page]]
        )
        self.check_states(rows(folder / 'contributor/states.xml'))
        self.check_clients(rows(folder / 'user/clients.xml'))
        self.check_crashes(folder / 'contributor/crash-matrix.xml')
        self.check_documents(folder / 'user')
        folder = self.build('html')
        self.check_side_bar(folder)
        self.check_loads(folder)

    @staticmethod
    def mail_addresses(folder):
        """Return the links to mail addresses, by page: host@backend is none, and the project has none to link to."""
        found = {
            str(page.relative_to(folder)): re.findall('refuri="(mailto:[^"]*)"', page.read_text())
            for page in folder.rglob('*.xml')
        }
        return {page: links for page, links in found.items() if links}

    @staticmethod
    def named():
        return {
            'api': [f'{op.method} {op.path}' for op in CALLS] + [op.action for op in CALLS if op.action],
            'proofs': [f'{op.method} {op.path}' for op in CALLS],
            'configuration': [option.dest for _, options in opts.list_opts() for option in options],
            'policies': [rule.name for rule in policies.list_rules()],
            'metrics': [family.name for family, _ in (*metrics.families(), *metrics_collector.families())],
            'manila-manage': [
                f'{command.category} {command.name}'.strip() for command in categories.commands()
            ],
        }

    def check_states(self, found):
        """Each verb has a row, with the statuses that it starts from."""
        for machine in states.MACHINES.values():
            for verb in machine.verbs.values():
                begin = ', '.join(sorted(verb.allowed)) or 'nothing: makes the row'
                self.assertIn(
                    (verb.name, begin, verb.during, verb.ok or 'gone', verb.fail, verb.crash.name.lower()),
                    found,
                )

    def check_clients(self, found):
        """Each call of each client has a row, and nearly all of them work."""
        said = {row[0]: row[-1] for row in found}
        wanted = {
            *osc.commands(),
            *sdk.methods(),
            *(call for call, _, _ in nova.CALLS),
            'shares.Create',
            *(row.rule for row in (*wire.HANDSHAKE, *wire.TRAPS, *wire.FAILURES)),
        }
        self.assertEqual(set(), wanted - set(said))
        self.assertEqual(
            {name for name in osc.commands() if commands.not_served(name)}
            | (set(sdk.NOT_SERVED) & sdk.methods()),
            {name for name, result in said.items() if result == 'not served yet'},
        )

    def check_crashes(self, page):
        """Each row of the results is there, and their sum. Rows of cephfs and of growth have tests of their own."""
        totals, tables = results.read()
        others = [
            row
            for section in ('the-driver-cephfs', 'automatic-growth')
            for row in rows(page, f'.//section[@ids="{section}"]')
        ]
        self.assertEqual(
            sorted([*others, *(tuple(row) for table in tables for row in (table.heads, *table.rows))]),
            sorted(rows(page)),
        )
        self.assertIn(totals, page.read_text())

    def check_documents(self, folder):
        """The OpenAPI documents are beside their page."""
        self.assertEqual(
            {
                f'openapi-{versions.show(version)}.json': json.loads(openapi.text(version))
                for version in (versions.MIN, 65, versions.MAX)
            },
            {path.name: json.loads(path.read_text()) for path in folder.glob('*.json')},
        )

    def check_side_bar(self, folder):
        """Each page has a list of pages by their names, with titles of groups and a mark at itself; and the way to the next."""
        pages = {
            page: page.read_text()
            for page in folder.rglob('*.html')
            if page.relative_to(folder).parts[0] not in ('_static', 'genindex.html', 'search.html')
        }
        titles = {
            page.resolve(): plain(re.search('<h1>(.*?)<a class="headerlink"', text, re.DOTALL)[1])
            for page, text in pages.items()
        }
        for page, text in pages.items():
            bar = text.partition('class="sidebar-tree"')[2].partition('</aside>')[0]
            listed = re.findall(
                '<li class="toctree-l[0-9][^>]*><a class="[^"]*" href="([^"]*)">(.*?)</a>', bar, re.DOTALL
            )
            self.assertEqual(
                [],
                [
                    (link, name)
                    for link, name in listed
                    if titles.get((page.parent / link).resolve() if link != '#' else page.resolve())
                    != plain(name)
                ],
                page,
            )
            self.assertIn('Release notes', [plain(name) for _, name in listed], page)
            first = page == folder / 'index.html'
            self.assertEqual(not first, 'current-page' in bar, page)
            self.assertIn(f'class="{"next" if first else "prev"}-page"', text, page)
            self.assertEqual(
                set(), self.groups() - set(re.findall('<li class="group">(.*?)</li>', bar)), page
            )
        self.assertLess(50, len(pages))
        self.assertIn('Upgrade Notes', pages[folder / 'releasenotes.html'])

    @staticmethod
    def groups():
        """Return the sections of the guides that list pages, as HTML."""
        lists = re.compile(r'^(.+)\n-+\n\n\.\. toctree::', re.MULTILINE)
        found = {
            html.escape(title)
            for guide in ('user', 'admin')
            for title in lists.findall((ROOT / f'doc/source/{guide}/index.rst').read_text())
        }
        assert len(found) > 5, found
        return found

    def check_loads(self, folder):
        """A page loads nothing from another place, and has what is ours: our style, and the buttons that copy."""
        places = r'<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)="((?:https?:)?//[^"]*)"'
        for page in folder.rglob('*.html'):
            text = page.read_text()
            self.assertEqual([], re.findall(places, text), page)
            for ours in ('custom.css', 'copybutton.js'):
                self.assertIn(f'_static/{ours}', text, page)
        for style in folder.rglob('*.css'):
            self.assertEqual(
                [], re.findall(r'(?:url\(|@import)\s*["\']?(?:https?:)?//[^)]*', style.read_text()), style
            )


def plain(text):
    """Return HTML without its tags and entities."""
    return html.unescape(re.sub('<[^>]*>', '', text)).strip()


def rows(page, part='.'):
    """Return the rows of all tables of a page, or of one part of it, as tuples of texts."""
    return [
        tuple(''.join(entry.itertext()).strip() for entry in row.iter('entry'))
        for element in ElementTree.parse(page).iterfind(part)
        for row in element.iter('row')
    ]


class Pages(testtools.TestCase):
    def test_metrics_named_in_pages_exist(self):
        known = {
            family.name: labels for family, labels in (*metrics.families(), *metrics_collector.families())
        }
        page = (ROOT / 'doc/source/admin/monitoring.rst').read_text()
        named = {name.removesuffix('_total') for name in re.findall(r'manila_lite_[a-z_]+[a-z]', page)}
        self.assertLess(15, len(named))
        self.assertEqual({'manila_lite_process_info'}, named - set(known))
        self.assertEqual(('kind', 'age'), tuple(known['manila_lite_operations_open']))
