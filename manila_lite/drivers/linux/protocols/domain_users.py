# SPDX-License-Identifier: Apache-2.0
"""Access rules for users and groups of a domain. Samba gets their security identifiers, and never their names.

A name is looked up with each change of the rules. While no domain controller answers, a name that was found before keeps its
identifier, so that what is open stays open, and what is to be closed is closed.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from manila_lite import values
from manila_lite.drivers.file_servers.ganesha_clients import Block
from manila_lite.drivers.linux.protocols import samba_users
from manila_lite.drivers.linux.protocols.winbind import Unreachable

#: Seconds until a domain that did not answer is asked again.
_PAUSE = 30.0
#: Returns the security identifier of a name, or ''.
Find = Callable[[str], str]


class DomainUsers:
    """The names that were found, in a file of the server. Safe for threads."""

    def __init__(self, file: Path):
        self._file = file
        self._lock = threading.Lock()
        self._away_until = 0.0

    def blocks(
        self, rules: Iterable[values.AccessRule], realm: str, find: Find
    ) -> tuple[list[Block], dict[str, values.RuleResult]]:
        """Return the rules that can be expressed, in the form that ``samba_config.section`` takes, and a result for every
        rule. If two rules name the same user or group, "ro" wins. ``find``: see ``Winbind.sid``.
        """
        results: dict[str, values.RuleResult] = {}
        chosen: dict[str, Block] = {}
        for rule in sorted(rules, key=lambda rule: (rule.level != 'ro', rule.id)):
            why = samba_users.objection(rule)
            sid, why = ('', why) if why else self._found(rule.to, realm.lower(), find)
            results[rule.id] = values.RuleResult(error=why or None)
            if sid:
                chosen.setdefault(sid, Block(rule.id, f'{rule.level} {sid}'))
        return [chosen[sid] for sid in sorted(chosen)], results

    def _found(self, name: str, realm: str, find: Find) -> tuple[str, str]:
        """Return the identifier of a name, or the reason why it has none."""
        with self._lock:
            known = self._known()
            key = f'{name.casefold()}@{realm}'
            try:
                sid = self._ask(name, find)
            except Unreachable:
                sid, why = (
                    known.get(key, ''),
                    f'no domain controller of {realm} answers; create the rule again later',
                )
            else:
                why = f'the domain {realm} has no user or group {name}'
                if sid != known.get(key, ''):
                    self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    samba_users.replace(self._file, json.dumps({**known, key: sid}))
        return sid, '' if sid else why

    def _ask(self, name: str, find: Find) -> str:
        """Ask the domain, unless it did not answer a moment ago: otherwise each of many rules would wait for it."""
        if time.monotonic() < self._away_until:
            raise Unreachable
        try:
            return find(name)
        except Unreachable:
            self._away_until = time.monotonic() + _PAUSE
            raise

    def _known(self) -> dict[str, str]:
        with contextlib.suppress(FileNotFoundError, ValueError):
            found: dict[str, str] = json.loads(self._file.read_text())
            return found
        return {}
