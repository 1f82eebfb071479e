# SPDX-License-Identifier: Apache-2.0
"""An administrator at a machine, who does what a page says, block by block."""

import dataclasses
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence

from manila_lite.tests import waiting
from manila_lite.tests.functional.admin_pages import blocks
from manila_lite.tests.services.machine import Machine

#: The password of all who have one, as it stands in the pages.
PASSWORD = 'PASSWORD'
#: Commands that ask for it.
_ASKING = ('runuser -u postgres -- createuser --pwprompt', 'htpasswd -B', 'openstack user create')
#: Seconds for a command, and for what has to come to be seen by a command that is repeated.
_PATIENCE = 600


@dataclasses.dataclass(frozen=True)
class Step:
    """A page that is read, or only some ``sections`` of it, without some blocks, which have these names."""

    page: str
    sections: Sequence[str] = ()
    without: Sequence[str] = ()

    @property
    def blocks(self) -> list[blocks.Block]:
        """Return the blocks, in order."""
        return [
            block
            for block in blocks.read(self.page)
            if block.name not in self.without and (not self.sections or block.section in self.sections)
        ]


class Reader:
    """Who reads. ``substitutes``: what is written for a text of the page.

    ``before`` and ``after``: what is done around a block, by its name. ``seen``: a command is repeated until its output has
    this, as a reader does who waits for something.
    """

    def __init__(
        self,
        machine: Machine,
        substitutes: Mapping[str, str],
        seen: Mapping[str, str],
        before: Mapping[str, Callable[[], object]],
        after: Mapping[str, Callable[[], object]],
    ) -> None:
        self._machine = machine
        self._substitutes = substitutes
        self._seen = seen
        self._before = before
        self._after = after

    def read(self, step: Step) -> None:
        """Do what the page says."""
        for block in step.blocks:
            self._before.get(block.name, _nothing)()
            if block.language == 'console':
                for command in block.commands:
                    self.type(command)
            elif block.language == 'mysql':
                self.type('mariadb', self._filled(block.text))
            else:
                self._write(block)
            self._after.get(block.name, _nothing)()

    def type(self, command: str, typed: str = '') -> str:
        """Type a command; return its output. It has to succeed, and to show what it should."""
        command = self._filled(command)
        wanted = next((text for begin, text in self._seen.items() if command.startswith(begin)), None)
        if wanted is None:
            return self._once(command, typed)
        last: subprocess.CompletedProcess | None = None

        def shown() -> bool:
            nonlocal last
            last = self._machine.run(command)
            return last.returncode == 0 and bool(re.search(wanted, last.stdout, re.DOTALL))

        waiting.until(shown, lambda: f'{command}: no {wanted} in\n{last and last.stdout}', pause=0.5)
        return last.stdout

    def _once(self, command: str, typed: str) -> str:
        done = (
            self._machine.converse(command, PASSWORD, _PATIENCE)
            if command.startswith(_ASKING)
            else self._machine.run(command, typed, _PATIENCE)
        )
        if done.returncode:
            raise AssertionError(
                f'{command}\nexit status {done.returncode}\n{done.stdout}\n{self._journal()}'
            )
        return done.stdout

    def _write(self, block: blocks.Block) -> None:
        """Write a file, or add to one that has something: of an option that is there twice the last one counts."""
        path = self._machine.file(block.caption)
        with path.open('a') as file:
            file.write(self._filled(block.text))

    def _filled(self, text: str) -> str:
        for old, new in self._substitutes.items():
            text = text.replace(old, new)
        return text

    def _journal(self) -> str:
        return self._machine.run('journalctl --no-pager --lines=80 --output=cat').stdout


def _nothing() -> None:
    """Do nothing."""
