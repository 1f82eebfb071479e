# SPDX-License-Identifier: Apache-2.0
"""Distributions that manila_lite needs, its extras included, in the environment that runs this.

tools/packaging/closure.py NAME...   print the requirements of manila_lite and of the given names that are missing here
"""

import configparser
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def wanted() -> Iterator[Requirement]:
    """Yield the requirements of the tree: those of requirements.txt, and of each extra in setup.cfg."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / 'setup.cfg')
    for text in ((ROOT / 'requirements.txt').read_text(), *settings['extras'].values()):
        yield from (Requirement(line) for line in text.splitlines() if line and not line.startswith('#'))


def name_of(text: str) -> str:
    """Return the normalized name of a project."""
    return re.sub(r'[-_.]+', '-', text).lower()


def closure(requirements: Iterable[Requirement]) -> tuple[dict[str, metadata.Distribution], list[str]]:
    """Return the distributions that these requirements need here, by name, and the requirements that nothing here meets."""
    found: dict[str, metadata.Distribution] = {}
    lacking: list[str] = []
    seen: set[tuple[str, frozenset[str]]] = set()
    queue = list(requirements)
    while queue:
        one = queue.pop()
        key = (name_of(one.name), frozenset(one.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            there = metadata.distribution(one.name)
        except metadata.PackageNotFoundError:
            lacking.append(str(one))
            continue
        if not one.specifier.contains(there.version, prereleases=True):
            lacking.append(str(one))
        found[key[0]] = there
        needs = map(Requirement, there.requires or [])
        queue += [need for need in needs if _applies(need, one.extras)]
    return found, sorted(lacking)


def _applies(need: Requirement, extras: Iterable[str]) -> bool:
    return need.marker is None or any(need.marker.evaluate({'extra': extra}) for extra in ('', *extras))


if __name__ == '__main__':
    print(*closure([*wanted(), *map(Requirement, sys.argv[1:])])[1], sep='\n')
