# SPDX-License-Identifier: Apache-2.0
"""Orders of a test to its victims, by project, in files that outlive all processes."""

import json
import os
import time
from pathlib import Path
from typing import Any

#: Names the directory to the victims.
VARIABLE = 'MANILA_LITE_CRASH_ORDERS'
_LOOK = 0.05


class Orders:
    """Below ``root``: the orders of each project, and marks of places that were reached.

    Orders are ``hold`` (a place), ``fail`` (a place whose step is refused) and ``faults`` (driver method to fault).
    """

    def __init__(self, root: Path):
        self.root = root

    @classmethod
    def given(cls) -> 'Orders':
        """Return the orders that the environment names."""
        return cls(Path(os.environ[VARIABLE]))

    def prepare(self) -> None:
        """Make the directories, without orders."""
        for name in ('orders', 'held', 'released', 'used', 'wakes', 'workers', 'defer'):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    # The test's side

    def give(self, project: str, **orders: Any) -> None:
        """Replace the project's orders."""
        draft = self.root / f'.{project}'
        draft.write_text(json.dumps(orders))
        draft.replace(self.root / 'orders' / project)

    def holder(self, project: str) -> int | None:
        """Return the pid of the process that is at the project's place, or None."""
        try:
            return int((self.root / 'held' / project).read_text() or 0) or None
        except FileNotFoundError:
            return None

    def release(self, project: str) -> None:
        """Release the process that waits at the place."""
        (self.root / 'released' / project).touch()

    def defer(self, project: str) -> None:
        """Defer all deletions of the project."""
        (self.root / 'defer' / project).touch()

    def wakes(self, role: str, mode: str) -> None:
        """Let processes of the role send each wake-up so: '' once, 'drop' never, 'double' twice."""
        (self.root / 'wakes' / role).write_text(mode)

    def touched(self, role: str) -> int:
        """Return how many wake-ups of the role were dropped or doubled."""
        try:
            return (self.root / 'wakes' / f'{role}.count').stat().st_size
        except FileNotFoundError:
            return 0

    def worker(self, backend: str) -> int:
        """Return the pid of the process that serves the backend."""
        return int((self.root / 'workers' / backend).read_text())

    # The victim's side

    def works_here(self, backend: str) -> None:
        """Record that this process serves the backend."""
        draft = self.root / f'.worker-{backend}-{os.getpid()}'
        draft.write_text(str(os.getpid()))
        draft.replace(self.root / 'workers' / backend)

    def defers(self, project: str | None) -> bool:
        """Say whether deletions of the project are deferred."""
        return (self.root / 'defer' / (project or '-')).exists()

    def of(self, project: str | None) -> dict[str, Any]:
        """Return the project's orders."""
        try:
            return json.loads((self.root / 'orders' / (project or '-')).read_text())
        except FileNotFoundError:
            return {}

    def once(self, project: str, what: str) -> bool:
        """Say whether this is the first time, for all processes together."""
        try:
            (self.root / 'used' / f'{project} {what}').touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def reach(self, project: str | None, place: str) -> None:
        """Wait here to be killed or released, the first time, if the project's orders name this place."""
        if not project or self.of(project).get('hold') != place or not self.once(project, 'hold'):
            return
        draft = self.root / f'.held-{project}'
        draft.write_text(str(os.getpid()))
        draft.replace(self.root / 'held' / project)
        while not (self.root / 'released' / project).exists():
            time.sleep(_LOOK)  # sleeps: until the test releases or kills it

    def copies(self, role: str) -> int:
        """Return how often to send a wake-up."""
        try:
            mode = (self.root / 'wakes' / role).read_text()
        except FileNotFoundError:
            mode = ''
        if mode:
            with (self.root / 'wakes' / f'{role}.count').open('a') as count:
                count.write('.')
        return {'drop': 0, 'double': 2}.get(mode, 1)
