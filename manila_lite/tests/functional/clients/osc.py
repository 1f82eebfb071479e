# SPDX-License-Identifier: Apache-2.0
"""Run lines of :mod:`commands` with the ``openstack`` command in one process; parse them, and print results as JSON.

The client is unchanged, except that it polls more often: its pause would be five seconds. Each role has one shell, which it
keeps, as when ``openstack`` is started without a command: half of the work of a command is to start.
"""

import argparse
import contextlib
import dataclasses
import importlib.metadata
import io
import json
import logging
import multiprocessing
import re
import shlex
import string
import sys
import time
from collections.abc import Collection, Iterator, Sequence

from manila_lite.tests.functional.clients import commands as table

#: Roles, each with the rights of those before it.
ROLES = ('reader', 'member', 'admin')
_LINE = re.compile(
    r'(?P<role>\w+) +((?P<keeps>[A-Z][\w:, ]*) = )?(?P<words>.*?)( (?P<mark>[~!?])( (?P<text>.*))?)?'
)
_NAME_OR_ID = re.compile(r'([^\s|]+)\|([^\s|]+)')
_MARKS = {'~': 'until', '!': 'refused', '?': 'hidden'}


@dataclasses.dataclass
class Line:
    """A row of the table. ``keeps``: by variable, the column of the output that the variable is set to.

    ``refused``: the refusal to everybody; ``hidden``: that to lower roles.
    """

    role: str
    words: str
    keeps: dict[str, str]
    until: str = ''
    refused: str | None = None
    hidden: str = 'HTTP 403'

    @property
    def by_name(self) -> str:
        """Return the words with the name of each resource."""
        return _NAME_OR_ID.sub(r'\1', self.words)

    @property
    def by_id(self) -> str:
        """Return the words with the id of each resource."""
        return _NAME_OR_ID.sub(r'\2', self.words)

    @property
    def only_looks(self) -> bool:
        """Say whether later lines do not depend on it."""
        return self.role == ROLES[0] and not self.keeps and not self.until


@dataclasses.dataclass
class Done:
    """The result of a line for a role. ``wrong``: the difference to the expectation."""

    role: str
    words: list[str]
    said: str
    wrong: str = ''


def read(text: str) -> list[Line]:
    """Return the rows of a table; see :mod:`commands`."""
    lines = (line.strip() for line in text.replace('\\\n', '').splitlines())
    return [_read(line) for line in lines if line and not line.startswith('#')]


def _read(line: str) -> Line:
    found = _LINE.fullmatch(line)
    assert found and found['role'] in ROLES, line
    keeps = dict(
        (name.strip() + ':id').split(':')[:2] for name in (found['keeps'] or '').split(',') if name.strip()
    )
    said = {_MARKS[found['mark']]: found['text'] or ''} if found['mark'] else {}
    return Line(found['role'], found['words'], keeps, **said)


def plan(lines: list[Line], roles: Sequence[str], by: str) -> Iterator[Line]:
    """Yield the commands of a walk through the table, with the role that runs each, and the expected result.

    ``by``: ``name`` or ``id``. Before a line is run by the lowest role that may, it is refused to those below. A line that
    only looks is run by each role of several; one role alone leaves it out. What has no name is tried once: by name.
    """
    for line in lines:
        words = line.by_id if by == 'id' else line.by_name
        once = by == 'id' and line.by_id == line.by_name
        may = [role for role in roles if ROLES.index(role) >= ROLES.index(line.role)]
        for role in roles[: 0 if once else len(roles) - len(may)]:
            yield Line(role, words, {}, refused=line.hidden)
        if line.only_looks and (once or len(roles) == 1):
            continue
        who = may if line.role == ROLES[0] else may[:1]
        for role in who:
            yield dataclasses.replace(
                line, role=role, words=words, keeps=line.keeps if role == who[-1] else {}
            )


def commands() -> dict[str, int]:
    """Return the commands of the installed client, each with the least number of its arguments."""
    found = {
        entry.name.replace('_', ' '): entry
        for entry in importlib.metadata.entry_points(group='openstack.share.v2')
    }
    return {name: _wanted(entry.load()) for name, entry in sorted(found.items())}


def _wanted(command):
    actions = command(argparse.Namespace(), None).get_parser('')._get_positional_actions()
    return sum(action.nargs in (None, '+') for action in actions)


def command_of(words: str, known: Collection[str]) -> str:
    """Return the command that a line calls, or an empty text."""
    parts = words.split()
    heads = (' '.join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((head for head in heads if head in known), '')


class Shell:
    """The ``openstack`` command of one caller, in a process of its own: the client keeps its login for the whole process."""

    def __init__(self, options: list[str]):
        forks = multiprocessing.get_context('fork')
        self._line, theirs = forks.Pipe()
        forks.Process(target=_serve, args=(options, theirs), daemon=True).start()
        theirs.close()  # so that the end of the process is noticed

    def call(self, words: list[str]) -> tuple[int, str, str]:
        """Run a command. Return its status, and what it says on both outputs."""
        self._line.send(words)
        answer: tuple[int, str, str] = self._line.recv()
        return answer


def _serve(options, line):
    from openstackclient import shell  # takes a second, which readers of the table do not need

    app = shell.OpenStackShell()
    app.options, _ = app.parser.parse_known_args(options)
    app.configure_logging()
    app.initialize_app([])
    while True:
        line.send(_call(app, line.recv()))


def _call(app, words):
    out, err = io.StringIO(), io.StringIO()
    told = logging.StreamHandler(err)
    told.setLevel(logging.WARNING)
    logging.getLogger().handlers[:] = [told]
    app.stdout, app.stderr = out, err
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = app.run_subcommand(words)
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), err.getvalue()


def _run(caller: Shell, line: Line, known: dict[str, str], patience: float) -> Done:
    words = shlex.split(string.Template(line.words).safe_substitute(known)) + (
        ['-f', 'json'] if line.keeps else []
    )
    end = time.monotonic() + patience
    while True:
        status, out, err = caller.call(words)
        if not line.until or line.until in out or time.monotonic() > end:
            break
        time.sleep(0.05)  # sleeps: between two tries; the last output is reported
    done = Done(line.role, words, out + err)
    if bool(status) != (line.refused is not None) and not line.words.startswith(table.NO_STATUS):
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
    row = {
        key.lower().replace(' ', '_'): value
        for key, value in (shown[0] if isinstance(shown, list) else shown).items()
    }
    return {name: str(row[column]) for name, column in line.keeps.items()}


def main() -> None:
    """Run each line, even after failures; print one JSON object for each command.

    After a failed line the others do not wait, because a state that they wait for may never come.
    """
    from openstackclient import shell  # noqa: F401 - once, before the processes of the callers

    asked = json.load(sys.stdin)
    patience = asked['patience']
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, 0.1))
    callers = {role: Shell(options) for role, options in asked['callers'].items()}
    for line in plan([Line(**line) for line in asked['lines']], list(callers), asked['by']):
        done = _run(callers[line.role], line, asked['known'], patience)
        patience = 0 if done.wrong else patience
        print(json.dumps(dataclasses.asdict(done)), flush=True)


if __name__ == '__main__':
    main()
