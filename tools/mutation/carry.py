# SPDX-License-Identifier: Apache-2.0
"""Carry results over to another state of the tree: .venv.mutation/bin/python tools/mutation/carry.py OLD_TREE

The key of a fault contains the path of its file, its function and its line of code, so that renaming changes keys. The
faults of a file stay in their order. OLD_TREE is a work tree of the state to which results.tsv and survivors.yaml belong.
Files are matched by tools/rename.yaml. A file whose number of faults differs is named, and the results of its changed faults
are lost.
"""

import collections
import pathlib
import re
import subprocess
import sys

import yaml

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
    found = collections.defaultdict(list)
    listed = subprocess.run([sys.executable, '-c', _LIST, str(tree)], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        key, kind, path = line.split(' ', 2)
        found[path].append((key, kind))
    return found


def place(path: str, plan: dict[str, str]) -> str:
    """Return the path of a file after the moves of modules and packages in the plan; the longest name counts."""
    name = path.removeprefix('manila_lite/').removesuffix('.py').replace('/', '.')
    for old in sorted(plan, key=len, reverse=True):
        if name == old or name.startswith(f'{old}.'):
            return f'manila_lite/{(plan[old] + name[len(old):]).replace(".", "/")}.py'
    return path


def table(before: dict[str, list[tuple[str, str]]], after: dict[str, list[tuple[str, str]]]) -> dict[str, str]:
    """Return the new key of each fault whose key changed, by its old key."""
    plan = yaml.safe_load((ROOT / 'tools/rename.yaml').read_text()).get('modules') or {}
    found = {}
    for path, old in before.items():
        new = after.get(path) or after.get(place(path, plan), [])
        if [kind for _, kind in old] == [kind for _, kind in new]:
            found |= {was: now for (was, _), (now, _) in zip(old, new, strict=True) if was != now}
        else:
            print(f'{path}: it had {len(old)} faults and has {len(new)}')
    return found


def main(tree: str) -> None:
    """Rewrite both files with the new keys."""
    keys = table(faults(pathlib.Path(tree)), faults(ROOT))
    for file in (HERE / 'results.tsv', HERE / 'survivors.yaml'):
        text = file.read_text()
        file.write_text(re.sub(r'^[0-9a-f]{10}\b', lambda found: keys.get(found[0], found[0]), text, flags=re.MULTILINE))
    print(f'{len(keys)} keys changed')


if __name__ == '__main__':
    sys.exit(__doc__) if len(sys.argv) != 2 else main(sys.argv[1])
