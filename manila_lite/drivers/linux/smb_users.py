# SPDX-License-Identifier: Apache-2.0
"""Who may log in to the CIFS servers of a backend: the operator's list, in the form that Samba calls smbpasswd.

Each server has a copy of it. To Samba every user has to be an account of the machine as well; those that it sees are in files
of its own (``nss_wrapper``), so that the machine itself gets none.
"""

import contextlib
import dataclasses
import hashlib
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from oslo_log import log

from manila_lite import kinds
from manila_lite.drivers.linux.clients import Block

LOG = log.getLogger(__name__)

#: What a user can be called here. S-1-1-0 and the like mean other people than the one who is called so: everybody, here.
NAME = re.compile(r'(?![Ss]-[0-9])[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}')
_TAKEN = frozenset({'root', 'nobody'})
_HASH = re.compile(r'[0-9A-Fa-fX*]{32}')
#: Above the accounts of machines; and what Samba makes of them, twice as much and a bit, has 32 bits.
_FIRST_UID, _UIDS = 1 << 20, 1 << 30
_NOGROUP = 65534
_ACCOUNTS = 'root:x:0:0::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n'
_GROUPS = 'root:x:0:\nnogroup:x:65534:\n'
_LEVELS = ('rw', 'ro')
_LIBRARY = 'libnss_wrapper.so'


@dataclasses.dataclass(frozen=True)
class User:
    """One line of a list: a name, and what comes behind the number of its account."""

    name: str
    rest: str


def read(text: str) -> Iterator[User]:
    """Yield the users of a list; lines that are none, and further ones of a name, are passed over."""
    seen = set(_TAKEN)
    for line in text.splitlines():
        fields = line.strip().split(':', 2)
        if len(fields) == 3 and NAME.fullmatch(fields[0]) and fields[0].casefold() not in seen and _is_rest(fields[2]):
            seen.add(fields[0].casefold())
            yield User(fields[0], fields[2])


def _is_rest(text: str) -> bool:
    hashes = text.split(':')[:2]
    return len(hashes) == 2 and all(map(_HASH.fullmatch, hashes))


def wrapped(folder: Path) -> dict[str, str]:
    """Return the environment in which a program of Samba sees the accounts that are in a folder, and no others."""
    return {'LD_PRELOAD': _LIBRARY, 'NSS_WRAPPER_PASSWD': f'{folder}/passwd', 'NSS_WRAPPER_GROUP': f'{folder}/group'}


def is_installed() -> bool:
    """Say whether accounts can be shown to programs."""
    return any(Path('/usr/lib').glob(f'*/{_LIBRARY}'))


def uids(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each user's account. It stays the same whoever else comes and goes.

    A session that is open knows its user by this number alone: had somebody else the number by now, it would be theirs.
    """
    found: dict[int, str] = {}
    for name in names:
        uid = int.from_bytes(hashlib.sha256(name.casefold().encode()).digest()[:8], 'big') % _UIDS
        while uid in found:
            uid = (uid + 1) % _UIDS
        found[uid] = name
    return {name: _FIRST_UID + uid for uid, name in found.items()}


def give_accounts(folder: Path, names: Iterable[str]) -> None:
    """The files with accounts are there."""
    lines = [f'{name}:x:{uid}:{_NOGROUP}::/:/bin/false\n' for name, uid in uids(names).items()]
    replace(folder / 'passwd', _ACCOUNTS + ''.join(lines))
    replace(folder / 'group', _GROUPS)


def replace(file: Path, text: str) -> None:
    """The file, which is for root alone, holds the text, or what it held before."""
    draft = file.with_name(f'{file.name}.new')
    draft.touch(0o600)
    draft.write_text(text)
    os.replace(draft, file)


class Users:
    """The operator's list, and a server's copy of it. The copy stands in for a list that cannot be read: rules that find no
    user are in error for good, and that is not what an operator means who loses a file.
    """

    def __init__(self, source: str | None, folder: Path):
        self._source = Path(source) if source else None
        self._folder = folder
        self._copied: str | None = None
        self._lock = threading.Lock()

    def _read(self) -> list[User]:
        if self._source is None:
            return []
        try:
            return list(read(self._source.read_text(errors='replace')))
        except OSError as bad:
            LOG.warning('linux_cifs_users: %s; who was known before still is, and nobody else', bad)
        with contextlib.suppress(OSError):
            return list(read((self._folder / 'smbpasswd').read_text(errors='replace')))
        return []

    def copy(self) -> None:
        """The server knows the users of now. It looks at each login."""
        with self._lock:
            now = stamp(self._source)
            if now != self._copied:
                self._copy()
            self._copied = now

    def _copy(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        users = self._read()
        numbers = uids(user.name for user in users)
        give_accounts(self._folder, numbers)
        replace(self._folder / 'smbpasswd', ''.join(f'{user.name}:{numbers[user.name]}:{user.rest}\n' for user in users))

    def blocks(self, rules: Iterable[kinds.AccessRule]) -> tuple[list[Block], dict[str, kinds.RuleResult]]:
        """Return whom the rules let in that can be expressed, as ``smbconf.section`` takes it, and a result for every rule."""
        return blocks(rules, {user.name.casefold(): user.name for user in self._read()})


def stamp(source: Path | None) -> str:
    """Return what is another when the list is another."""
    try:
        found = source.stat() if source else None
    except OSError:
        found = None
    return f'{found.st_ino} {found.st_size} {found.st_mtime_ns}' if found else ''


def blocks(rules: Iterable[kinds.AccessRule], known: Mapping[str, str]
           ) -> tuple[list[Block], dict[str, kinds.RuleResult]]:
    """As ``Users.blocks``; ``known`` has the users' names by their names without case. Of two rules for a user "ro" decides."""
    results: dict[str, kinds.RuleResult] = {}
    chosen: dict[str, Block] = {}
    for rule in sorted(rules, key=lambda rule: (rule.level != 'ro', rule.id)):
        why = _objection(rule, known)
        results[rule.id] = kinds.RuleResult(error=why or None)
        if not why:
            name = known[rule.to.casefold()]
            chosen.setdefault(name, Block(rule.id, f'{rule.level} {name}'))
    return [chosen[name] for name in sorted(chosen)], results


def _objection(rule: kinds.AccessRule, known: Mapping[str, str]) -> str:
    if rule.type != 'user':
        return f'CIFS shares of this backend know rules of type user only, not {rule.type}: name the user'
    if rule.level not in _LEVELS:
        return f'this backend knows the levels rw and ro only, not {rule.level}'
    return '' if rule.to.casefold() in known else f'this backend has no user {rule.to}; ask its operator for one'
