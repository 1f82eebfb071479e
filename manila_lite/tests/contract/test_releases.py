# SPDX-License-Identifier: Apache-2.0
"""tools/releases.txt has all releases, in order, as the tags of this clone have them; a commit that is not here is named."""

import subprocess

import testtools

from manila_lite.tests.contract.test_packaging import setup_cfg
from manila_lite.tests.upgrade import release_before
from manila_lite.tests.upgrade.release_before import Release, git, releases


def tags():
    """Return the releases that tags of this history name. The newest may be tagged before its line is added."""
    names = git('tag', '--merged', 'HEAD', '--no-contains', 'HEAD').decode().split()
    return {
        name: git('rev-parse', f'{name}^{{commit}}').decode().strip() for name in names if name[0].isdigit()
    }


def numbers(text):
    """Return the numbers of a version; those of a release also for what leads to it (0.2.0.dev0)."""
    return tuple(int(part) for part in text.partition('.dev')[0].split('.'))


class Releases(testtools.TestCase):
    def test_versions_grow_up_to_the_next_release(self):
        versions = [numbers(release.version) for release in releases()]
        self.assertEqual(sorted(set(versions)), versions)
        self.assertLess(versions[-1], numbers(setup_cfg()['metadata']['version']))

    def test_each_release_is_a_part_of_this_history(self):
        release_before.need_history(self)
        for release in releases():
            try:
                git('merge-base', '--is-ancestor', release.commit, 'HEAD')
            except subprocess.CalledProcessError as bad:
                self.fail(
                    f'{release}: not in the history of this clone, which may be shallow: {bad.stderr.decode()}'
                )

    def test_tags_name_the_same_commits(self):
        release_before.need_history(self)
        self.assertEqual(
            {}, {name: commit for name, commit in tags().items() if Release(name, commit) not in releases()}
        )

    def test_commit_that_is_not_in_this_clone_is_named_with_the_way_to_get_it(self):
        tree = release_before.Tree(Release('9.9.9', 'f' * 40))
        error = self.assertRaises(AssertionError, tree.archive)
        self.assertIn('The release before, 9.9.9, is commit ffff', str(error))
        self.assertIn('git fetch --unshallow', str(error))
