# SPDX-License-Identifier: Apache-2.0
"""Run lines of :mod:`commands` with the ``openstack`` command in one process; parse them, and print results as JSON.

The client is unchanged, except that it polls more often: its pause would be five seconds.
"""

import argparse
import contextlib
import dataclasses
import importlib.metadata
import io
import json
import logging
import re
import shlex
import string
import sys
import time
from collections.abc import Collection

_LINE = re.compile(r'((?P<keeps>[A-Z][\w:, ]*) = )?(?P<words>.*?)( (?P<mark>[~!])( (?P<text>.*))?)?')


@dataclasses.dataclass
class Line:
    """A row of the table. ``keeps``: by variable, the column of the output that the variable is set to."""

    words: str
    keeps: dict[str, str]
    until: str = ''
    refused: str | None = None


@dataclasses.dataclass
class Done:
    """The result of a line. ``wrong``: the difference to the expectation."""

    words: list[str]
    said: str
    wrong: str = ''


def read(text: str) -> list[Line]:
    """Return the rows of a table; see :mod:`commands`."""
    lines = (line.strip() for line in text.replace('\\\n', '').splitlines())
    return [_read(line) for line in lines if line and not line.startswith('#')]


def _read(line: str) -> Line:
    found = _LINE.fullmatch(line)
    assert found
    keeps = dict((name.strip() + ':id').split(':')[:2] for name in (found['keeps'] or '').split(',') if name.strip())
    said = {{'~': 'until', '!': 'refused'}[found['mark']]: found['text'] or ''} if found['mark'] else {}
    return Line(found['words'], keeps, **said)


def commands() -> dict[str, int]:
    """Return the commands of the installed client, each with the least number of its arguments."""
    found = {entry.name.replace('_', ' '): entry for entry in importlib.metadata.entry_points(group='openstack.share.v2')}
    return {name: _wanted(entry.load()) for name, entry in sorted(found.items())}


def _wanted(command):
    actions = command(argparse.Namespace(), None).get_parser('')._get_positional_actions()
    return sum(action.nargs in (None, '+') for action in actions)


def command_of(words: str, known: Collection[str]) -> str:
    """Return the command that a line calls, or an empty text."""
    parts = words.split()
    heads = (' '.join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((head for head in heads if head in known), '')


def _run(line: Line, known: dict[str, str], patience: float) -> Done:
    words = shlex.split(string.Template(line.words).safe_substitute(known)) + (['-f', 'json'] if line.keeps else [])
    end = time.monotonic() + patience
    while True:
        status, out, err = _call(words)
        if not line.until or line.until in out or time.monotonic() > end:
            break
        time.sleep(0.05)    # sleeps: between two tries; the last output is reported
    done = Done(words, out + err)
    if bool(status) != (line.refused is not None):
        done.wrong = f'status {status}'
    elif (line.refused or '') not in done.said or line.until not in out:
        done.wrong = f'not said: {line.until or line.refused}'
    elif line.keeps:
        try:
            known |= _kept(line, json.loads(out))
        except (KeyError, IndexError, ValueError) as bad:
            done.wrong = f'not in the answer: {bad!r}'
    return done


def _kept(line, shown):
    row = {key.lower().replace(' ', '_'): value for key, value in (shown[0] if isinstance(shown, list) else shown).items()}
    return {name: str(row[column]) for name, column in line.keeps.items()}


def _call(words):
    from openstackclient import shell
    out, err = io.StringIO(), io.StringIO()
    logging.getLogger().handlers.clear()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = shell.main(words)
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), err.getvalue()


def main() -> None:
    """Run each line, even after failures; print one JSON object for each.

    After a failed line the others do not wait, because a state that they wait for may never come.
    """
    asked = json.load(sys.stdin)
    patience = asked['patience']
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, 0.1))
    for line in asked['lines']:
        done = _run(Line(**line), asked['known'], patience)
        patience = 0 if done.wrong else patience
        print(json.dumps(dataclasses.asdict(done)), flush=True)


if __name__ == '__main__':
    main()
