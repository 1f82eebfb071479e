# SPDX-License-Identifier: Apache-2.0
"""The release that this process runs. It is read when the process starts: files on the disk may be newer later."""

import contextlib
import json
import re
from importlib import metadata
from pathlib import Path

#: In a copy of the tree, "git archive" and tools/package write the commit to this file.
_FILE = 'commit.txt'
_WRITTEN = re.compile(r'([0-9a-f]{7,64})(-dirty)?')
#: Digits of a commit that are shown.
_DIGITS = 12


def find_commit(package: Path) -> str:
    """Return the commit that a directory ``manila_lite`` is from, or '' if it does not say.

    ``-dirty`` at its end means that the files were changed after it.
    """
    with contextlib.suppress(OSError, ValueError):
        if written := _WRITTEN.fullmatch((package / _FILE).read_text().strip()):
            return written[1][:_DIGITS] + (written[2] or '')
    with contextlib.suppress(OSError, ValueError):
        return _of_checkout(package.parent)[:_DIGITS]
    with contextlib.suppress(StopIteration, OSError, ValueError, KeyError):
        # pbr writes it when it makes a wheel of a checkout.
        wheel = next(iter(metadata.distributions(name='manila-lite', path=[str(package.parent)])))
        return str(json.loads(wheel.read_text('pbr.json') or '{}')['git_version'])[:_DIGITS]
    return ''


def _of_checkout(tree: Path) -> str:
    """Return the commit of a checkout, without git, which may be missing, or refuse a tree of another user.

    :raises OSError: the tree is none.
    """
    git = tree / '.git'
    if git.is_file():  # a worktree beside the repository
        git = tree / git.read_text().removeprefix('gitdir:').strip()
    head = (git / 'HEAD').read_text().strip()
    if not head.startswith('ref: '):
        return head
    branch = head.removeprefix('ref: ')
    beside = git / 'commondir'
    common = git / beside.read_text().strip() if beside.exists() else git
    if (common / branch).exists():
        return (common / branch).read_text().strip()
    packed = dict(
        line.split()[1::-1]
        for line in (common / 'packed-refs').read_text().splitlines()
        if not line.startswith(('#', '^'))
    )
    return packed.get(branch, '')


VERSION = metadata.version('manila-lite')
COMMIT = find_commit(Path(__file__).parent)
#: What ``--version`` prints.
FULL = f'{VERSION} (commit {COMMIT})' if COMMIT else VERSION
#: The first release whose services tell theirs (column ``release`` of ``services``).
FIRST_TOLD = '0.2.0'
