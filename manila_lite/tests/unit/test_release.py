# SPDX-License-Identifier: Apache-2.0
"""The commit of a release, in every kind of installation."""

import json
import shutil
import subprocess
from pathlib import Path

import fixtures
import testtools

from manila_lite import release
from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT


class Commits(testtools.TestCase):
    """A small repository, with the two files that know the commit."""

    def setUp(self):
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.tree = self.folder / 'tree'
        (self.tree / 'manila_lite').mkdir(parents=True)
        for name in ('.gitattributes', 'manila_lite/commit.txt'):
            shutil.copy(ROOT / name, self.tree / name)
        self.git('init', '--quiet', '--initial-branch=topic/one')
        self.git('add', '.')
        self.commit = self.committed()

    def git(self, *words, text=True):
        return subprocess.run(
            ['git', '-c', 'user.name=t', '-c', 'user.email=t@example.org', '-C', self.tree, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            text=text,
            timeout=waiting.LIMIT,
        ).stdout

    def committed(self):
        self.git('commit', '--quiet', '--allow-empty', '--message=x')
        return self.git('rev-parse', '--short=12', 'HEAD').strip()

    def told(self, tree=None):
        return release.find_commit((tree or self.tree) / 'manila_lite')

    def test_checkout_tells_the_commit_of_its_branch(self):
        self.assertEqual(self.commit, self.told())
        self.git('pack-refs', '--all')
        self.assertEqual(self.commit, self.told())
        later = self.committed()
        self.assertEqual(later, self.told())
        self.git('checkout', '--quiet', '--detach', self.commit)
        self.assertEqual(self.commit, self.told())

    def test_worktree_tells_its_own_commit(self):
        beside = self.folder / 'beside'
        self.git('worktree', 'add', '--quiet', '-b', 'two', str(beside))
        self.committed()
        self.assertEqual(self.commit, self.told(beside))
        self.git('pack-refs', '--all')
        self.assertEqual(self.commit, self.told(beside))

    def test_archive_tells_the_commit_that_it_was_made_of(self):
        archive = self.git('archive', 'HEAD', text=False)
        place = self.folder / 'archive'
        place.mkdir()
        subprocess.run(['tar', '-x', '-C', place], input=archive, check=True)
        self.assertEqual(self.commit, self.told(place))

    def test_package_tells_what_was_written_when_it_was_built(self):
        (self.tree / 'manila_lite/commit.txt').write_text('0123456789abcdef-dirty\n')
        self.assertEqual('0123456789ab-dirty', self.told())

    def test_wheel_tells_what_pbr_noted(self):
        wheel = self.folder / 'wheel'
        shutil.copytree(self.tree / 'manila_lite', wheel / 'manila_lite')
        noted = wheel / 'manila_lite-1.dist-info'
        noted.mkdir()
        (noted / 'METADATA').write_text('Metadata-Version: 2.1\nName: manila-lite\nVersion: 1\n')
        self.assertEqual('', self.told(wheel))
        (noted / 'pbr.json').write_text(json.dumps({'git_version': '0123456', 'is_release': False}))
        self.assertEqual('0123456', self.told(wheel))

    def test_tree_without_git_tells_none(self):
        shutil.rmtree(self.tree / '.git')
        self.assertEqual('', self.told())

    def test_this_release_names_its_commit(self):
        self.assertEqual(f'{release.VERSION} (commit {release.COMMIT})', release.FULL)
