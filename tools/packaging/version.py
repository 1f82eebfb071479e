# SPDX-License-Identifier: Apache-2.0
"""Print the version of a tree, as pip and as dpkg write it: tools/packaging/version.py TREE

It comes from the last git tag, by the rules of pbr; or from setup.cfg, if that names a later release that is being made
(0.2.0.dev0), or there is no tag. The number of commits tells two builds apart. Without git it is that of setup.cfg.
"""

import configparser
import os
import subprocess
import sys
from pathlib import Path

from packaging.version import Version
from pbr import packaging as pbr_packaging
from pbr.version import SemanticVersion


def of(tree: Path) -> tuple[str, str]:
    """Return the version of a tree, for pip and for dpkg."""
    settings = configparser.ConfigParser()
    settings.read(tree / 'setup.cfg')
    told = Version(settings['metadata']['version'])
    commits = _git(tree, 'rev-list', '--count', 'HEAD')
    if not commits:
        return _written(str(told))
    mine = f'{told.base_version}.dev{commits}' if told.is_prerelease else ''
    if not _git(tree, 'describe', '--tags'):
        return _written(mine) if mine else (f'{told}+git{commits}',) * 2
    os.chdir(tree)
    os.environ.pop('PBR_VERSION', None)
    tagged = pbr_packaging.get_version('manila-lite')
    return _written(max(tagged, mine or tagged, key=Version))


def _written(version: str) -> tuple[str, str]:
    """Return a version as pip writes it, and as dpkg does, for which one that is being made must be below its release."""
    return version, SemanticVersion.from_pip_string(version).debian_string()


def _git(tree: Path, *words: str) -> str:
    """Return the output of git, or '' if it fails, or if the tree is not a repository itself."""
    if not (tree / '.git').exists():
        return ''
    return subprocess.run(
        ['git', '-C', tree, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL
    ).stdout.strip()


if __name__ == '__main__':
    print(*of(Path(sys.argv[1])))
