# SPDX-License-Identifier: Apache-2.0
"""Print the version of a tree, as pip and as dpkg write it: tools/packaging/version.py TREE

It comes from the last git tag, by the rules of pbr. Without a tag it is that of setup.cfg and the number of commits; without
git, that of setup.cfg.
"""

import configparser
import os
import subprocess
import sys
from pathlib import Path

from pbr import packaging
from pbr.version import SemanticVersion


def of(tree: Path) -> tuple[str, str]:
    """Return the version of a tree, for pip and for dpkg."""
    settings = configparser.ConfigParser()
    settings.read(tree / 'setup.cfg')
    told = settings['metadata']['version']
    if not (commits := _git(tree, 'rev-list', '--count', 'HEAD')):
        return told, told
    if not _git(tree, 'describe', '--tags'):
        return f'{told}+git{commits}', f'{told}+git{commits}'
    os.chdir(tree)
    os.environ.pop('PBR_VERSION', None)
    tagged = packaging.get_version('manila-lite')
    return tagged, SemanticVersion.from_pip_string(tagged).debian_string()


def _git(tree: Path, *words: str) -> str:
    """Return the output of git, or '' if it fails, or if the tree is not a repository itself."""
    if not (tree / '.git').exists():
        return ''
    return subprocess.run(['git', '-C', tree, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip()


if __name__ == '__main__':
    print(*of(Path(sys.argv[1])))
