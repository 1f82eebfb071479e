# SPDX-License-Identifier: Apache-2.0
"""Pictures of the pages: each is there and known, they are small, and tools/screenshots says how old they are."""

import json
import pathlib
import re
import shutil
import subprocess

import fixtures
import testtools

from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT
from manila_lite.tests.screenshots import age

_PICTURE = re.compile(r'(.+)-(?:1280|390)-(?:light|dark)')
#: Bytes of all pictures together: whoever clones gets them all.
_MOST = 1_500_000


class Kept(testtools.TestCase):
    def test_each_picture_has_all_forms_and_is_in_the_record(self):
        names = sorted(
            found[1] for path in age.FOLDER.glob('*.png') if (found := _PICTURE.fullmatch(path.stem))
        )
        self.assertEqual(sorted([*json.loads(age.RECORD.read_text())] * 4), names)

    def test_all_together_are_small(self):
        self.assertLess(sum(path.stat().st_size for path in age.FOLDER.glob('*.png')), _MOST)

    def test_each_picture_of_a_page_is_kept_and_each_that_is_kept_is_shown(self):
        """A name with another width or scheme counts for all four."""
        texts = [path.read_text() for path in (ROOT / 'README.rst', *(ROOT / 'doc/source').rglob('*.rst'))]
        shown = {name for text in texts for name in re.findall(r'_static/([\w-]+\.png)', text)}
        self.assertEqual(set(), shown - {path.name for path in age.FOLDER.glob('*.png')})


class Age(testtools.TestCase):
    """In a small repository."""

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for path in ('tools/screenshots', 'manila_lite/tests/screenshots/age.py'):
            target = self.root / path
            target.parent.mkdir(parents=True)
            shutil.copy(ROOT / path, target)
        self.git('init', '-q')
        self.commit('manila_lite/console/main.js', 'one')
        content = self.git('rev-parse', 'HEAD:manila_lite/console').strip()
        known = {
            'source': 'manila_lite/console',
            'content': content,
            'commit': 'abcdef1',
            'day': '2026-11-29',
        }
        self.known = self.root / 'doc/source/_static/screenshots.json'
        self.known.parent.mkdir(parents=True)
        self.known.write_text(json.dumps({'console-share': known}))

    def git(self, *words):
        who = ('-c', 'user.name=a', '-c', 'user.email=a@example.org')
        return subprocess.run(
            ['git', *who, *words],
            cwd=self.root,
            check=True,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        ).stdout

    def commit(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        self.git('add', '--', path)
        self.git('commit', '-q', '-m', 'a change', '--', path)

    def said(self):
        return subprocess.run(
            [self.root / 'tools/screenshots', '--check'],
            check=True,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        ).stdout

    def test_it_counts_the_commits_that_changed_what_is_shown(self):
        self.assertEqual(
            'console-share 2026-11-29  manila_lite/console of abcdef1: unchanged since\n', self.said()
        )
        self.commit('README.rst', 'something else')
        self.assertIn('unchanged since', self.said())
        self.commit('manila_lite/console/main.js', 'two')
        self.assertIn('changed by 1 commit since', self.said())
        self.commit('manila_lite/console/main.js', 'three')
        self.assertIn('changed by 2 commits since', self.said())

    def test_a_state_that_is_not_in_the_history_is_said(self):
        self.known.write_text(self.known.read_text().replace('"content": "', '"content": "0'))
        self.assertIn('a state that is not in this history', self.said())
