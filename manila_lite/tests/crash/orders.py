# SPDX-License-Identifier: Apache-2.0
"""What a test orders its victims to do, project by project, in files that outlive any of them."""

import json
import os
import time
from pathlib import Path
from typing import Any

#: Names the directory to the victims.
VARIABLE = 'MANILA_LITE_CRASH_ORDERS'
_LOOK = 0.05


class Orders:
    """Below ``root``: the orders of each project, and marks of what was reached.

    Orders are ``hold`` (a place), ``fail`` (a place whose step is refused) and ``faults`` (driver method to fault).
    """

    def __init__(self, root: Path):
        self.root = root

    @classmethod
    def given(cls) -> 'Orders':
        """Return those of the environment."""
        return cls(Path(os.environ[VARIABLE]))

    def prepare(self) -> None:
        """Nothing is ordered."""
        for name in ('orders', 'held', 'released', 'used', 'wakes', 'workers', 'defer'):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    # The test's side

    def give(self, project: str, **orders: Any) -> None:
        """The project's orders are these, from now on."""
        draft = self.root / f'.{project}'
        draft.write_text(json.dumps(orders))
        draft.replace(self.root / 'orders' / project)

    def holder(self, project: str) -> int | None:
        """Return the pid of the process that is at the project's place, or nothing while none is."""
        try:
            return int((self.root / 'held' / project).read_text() or 0) or None
        except FileNotFoundError:
            return None

    def release(self, project: str) -> None:
        """Whoever waits at the place goes on."""
        (self.root / 'released' / project).touch()

    def defer(self, project: str) -> None:
        """What the project deletes goes unseen, as if all deletion was deferred."""
        (self.root / 'defer' / project).touch()

    def wakes(self, role: str, mode: str) -> None:
        """Processes of the role send each wake-up as the mode says: '' once, 'drop' never, 'double' twice."""
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
        """This process serves the backend."""
        (self.root / 'workers' / backend).write_text(str(os.getpid()))

    def defers(self, project: str | None) -> bool:
        """Say whether what the project deletes goes unseen."""
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
        """If the project's orders say so: wait here, the first time, to be killed or released."""
        if not project or self.of(project).get('hold') != place or not self.once(project, 'hold'):
            return
        draft = self.root / f'.held-{project}'
        draft.write_text(str(os.getpid()))
        draft.replace(self.root / 'held' / project)
        while not (self.root / 'released' / project).exists():
            time.sleep(_LOOK)    # sleeps: until who held it releases or kills it; it has no end of its own

    def copies(self, role: str) -> int:
        """Return how often a wake-up is to be sent."""
        try:
            mode = (self.root / 'wakes' / role).read_text()
        except FileNotFoundError:
            mode = ''
        if mode:
            with (self.root / 'wakes' / f'{role}.count').open('a') as count:
                count.write('.')
        return {'drop': 0, 'double': 2}.get(mode, 1)
