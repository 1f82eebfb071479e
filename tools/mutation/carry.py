# SPDX-License-Identifier: Apache-2.0
"""Carry results over to another state of the tree: .venv.mutation/bin/python tools/mutation/carry.py OLD_TREE

The key of a fault contains the path of its file, its function and its line of code, so that renaming changes keys. The
faults of a file stay in their order. OLD_TREE is a work tree of the state to which results.tsv and survivors.yaml belong.
Files that moved are matched as git matches them. A file whose number of faults differs is named, and the results of its
changed faults are lost.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).parent
_LIST = """
import pathlib, sys
sys.path.insert(0, sys.argv[1] + '/tools')
from mutation import mutants
for one in mutants.every(pathlib.Path(sys.argv[1])):
    print(one.key, one.kind, one.path)
"""


def faults(tree: pathlib.Path) -> dict[str, list[tuple[str, str]]]:
    """Return (key, kind) of all faults by file, in their order."""
    by_file = collections.defaultdict(list)
    listed = subprocess.run([sys.executable, '-c', _LIST, str(tree)], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        key, kind, path = line.split(' ', 2)
        by_file[path].append((key, kind))
    return by_file


def moves(tree: pathlib.Path) -> dict[str, str]:
    """Return the path of each file that moved since the old state, by its path there."""
    then = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=tree, capture_output=True, text=True, check=True).stdout.strip()
    listed = subprocess.run(['git', 'diff', '--find-renames', '--diff-filter=R', '--name-status', then, 'HEAD'], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    return dict(line.split('\t')[1:] for line in listed.splitlines())


def table(before: dict[str, list[tuple[str, str]]], after: dict[str, list[tuple[str, str]]],
          moved: dict[str, str]) -> dict[str, str]:
    """Return the new key of each fault whose key changed, by its old key."""
    keys = {}
    for path, old in before.items():
        new = after.get(path) or after.get(moved.get(path, path), [])
        if [kind for _, kind in old] == [kind for _, kind in new]:
            keys |= {was: now for (was, _), (now, _) in zip(old, new, strict=True) if was != now}
        else:
            print(f'{path}: it had {len(old)} faults and has {len(new)}')
    return keys


def main(tree: str) -> None:
    """Rewrite both files with the new keys."""
    before = pathlib.Path(tree)
    keys = table(faults(before), faults(ROOT), moves(before))
    for file in (HERE / 'results.tsv', HERE / 'survivors.yaml'):
        text = file.read_text()
        file.write_text(re.sub(r'^[0-9a-f]{10}\b', lambda key: keys.get(key[0], key[0]), text, flags=re.MULTILINE))
    print(f'{len(keys)} keys changed')


if __name__ == '__main__':
    sys.exit(__doc__) if len(sys.argv) != 2 else main(sys.argv[1])
