# SPDX-License-Identifier: Apache-2.0
"""The age of each picture: of which state of its sources it is, and how often they were changed since. Needs no environment."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / 'doc/source/_static'
RECORD = FOLDER / 'screenshots.json'

#: What a picture shows, by the first word of its name; of all others it is the console.
_SOURCES = {'readme': 'README.rst', 'docs': 'doc/source/index.rst'}
_CONSOLE = 'manila_lite/console'


def source(name: str) -> str:
    """Return the file or directory that the picture shows."""
    return _SOURCES.get(name, _CONSOLE)


def _git(*words: str) -> str:
    done = subprocess.run(['git', *words], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f'screenshots: git {" ".join(words)}: {done.stderr.strip()}')
    return done.stdout.strip()


def state(path: str) -> dict[str, str]:
    """Return the hash of the content of the source, and the commit and day of its last change.

    A rebase gives commits other hashes, but not contents.
    """
    commit, day = _git('log', '-1', '--format=%h %cs', '--', path).split()
    return {'source': path, 'content': _git('rev-parse', f'HEAD:{path}'), 'commit': commit, 'day': day}


def changed(path: str) -> str:
    """Return what is not committed of the source, for a message; '' if all is."""
    return _git('status', '--porcelain', '--', path)


def _later(known: dict[str, str]) -> int | None:
    """Count the commits that changed the source since; None: that state is not in the history here."""
    for number, commit in enumerate(_git('log', '--format=%H', '--', known['source']).splitlines()):
        if _git('rev-parse', f'{commit}:{known["source"]}') == known['content']:
            return number
    return None


def line(name: str, known: dict[str, str]) -> str:
    """Say how old one picture is."""
    count = _later(known)
    words = {None: 'a state that is not in this history', 0: 'unchanged since'}.get(
        count, f'changed by {count} commit{"s"[: count != 1]} since'
    )
    return f'{name:12} {known["day"]}  {known["source"]} of {known["commit"]}: {words}'


def main() -> None:
    """Print a line for each picture."""
    for name, known in json.loads(RECORD.read_text()).items():
        print(line(name, known))


if __name__ == '__main__':
    main()
