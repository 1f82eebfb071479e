# SPDX-License-Identifier: Apache-2.0
"""Users of a backend's CIFS servers: the operator's list, in the format that Samba calls smbpasswd.

Each server has a copy of it. Samba requires every user to be an account of the machine as well. It sees accounts from
its own files (``nss_wrapper``), so that the machine itself gets none.
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

from manila_lite import values
from manila_lite.drivers.file_servers.ganesha_clients import Block
from manila_lite.drivers.linux.protocols.samba_config import NOBODY

LOG = log.getLogger(__name__)

#: Valid names of users. To Samba, names such as S-1-1-0 would mean other people than that user: everybody, in this
#: case.
NAME = re.compile(r'(?![Ss]-[0-9])[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}')
#: ``none`` would be the group of all users of the machine, and so no user.
TAKEN = frozenset({'root', 'nobody', 'none'})
_HASH = re.compile(r'[0-9A-Fa-fX*]{32}')
#: Ids above the accounts of machines. Samba derives numbers from them, twice as large and a bit, that have 32 bits.
_FIRST_UID, _UIDS = 1 << 20, 1 << 30
_NOGROUP = 65534
_ACCOUNTS = 'root:x:0:0::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n'
_GROUPS = 'root:x:0:\nnogroup:x:65534:\n'
_LEVELS = ('rw', 'ro')
_LIBRARY = 'libnss_wrapper.so'


@dataclasses.dataclass(frozen=True)
class User:
    """One line of a list: the name, and the text after the account's number."""

    name: str
    rest: str


def read(text: str) -> Iterator[User]:
    """Yield the users of a list. Invalid lines, and repeated names, are skipped."""
    seen = set(TAKEN)
    for line in text.splitlines():
        fields = line.strip().split(':', 2)
        if (
            len(fields) == 3
            and NAME.fullmatch(fields[0])
            and fields[0].casefold() not in seen
            and _is_rest(fields[2])
        ):
            seen.add(fields[0].casefold())
            yield User(fields[0], fields[2])


def _is_rest(text: str) -> bool:
    hashes = text.split(':')[:2]
    return len(hashes) == 2 and all(map(_HASH.fullmatch, hashes))


def wrapped(folder: Path) -> dict[str, str]:
    """Return the environment in which a program of Samba sees only the accounts in this folder."""
    return {
        'LD_PRELOAD': _LIBRARY,
        'NSS_WRAPPER_PASSWD': f'{folder}/passwd',
        'NSS_WRAPPER_GROUP': f'{folder}/group',
    }


def is_installed() -> bool:
    """Say whether nss_wrapper is installed."""
    return any(Path('/usr/lib').glob(f'*/{_LIBRARY}'))


def uids(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each user's account. It stays the same when other users are added or removed.

    An open session knows its user only by this number: if another user got the number, the session would become theirs.
    """
    taken: dict[int, str] = {}
    for name in names:
        uid = int.from_bytes(hashlib.sha256(name.casefold().encode()).digest()[:8], 'big') % _UIDS
        while uid in taken:
            uid = (uid + 1) % _UIDS
        taken[uid] = name
    return {name: _FIRST_UID + uid for uid, name in taken.items()}


def give_accounts(folder: Path, names: Iterable[str]) -> None:
    """Write the files with the accounts."""
    lines = [f'{name}:x:{uid}:{_NOGROUP}::/:/bin/false\n' for name, uid in uids(names).items()]
    replace(folder / 'passwd', _ACCOUNTS + ''.join(lines))
    replace(folder / 'group', _GROUPS)


def replace(file: Path, text: str) -> None:
    """Replace the file's text atomically. Only root can read the file."""
    draft = file.with_name(f'{file.name}.new')
    draft.touch(0o600)
    draft.write_text(text)
    os.replace(draft, file)


class Users:
    """The operator's list, and a server's copy of it.

    The copy is used if the list cannot be read: rules without a user fail for good, and an operator who loses the file
    does not want that.
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
            LOG.warning('linux_cifs_users: %s; the users stay as they were before', bad)
        with contextlib.suppress(OSError):
            return list(read((self._folder / 'smbpasswd').read_text(errors='replace')))
        return []

    def copy(self) -> None:
        """Bring the server's copy up to date. smbd reads the copy at each login."""
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
        replace(
            self._folder / 'smbpasswd',
            ''.join(f'{user.name}:{numbers[user.name]}:{user.rest}\n' for user in users),
        )

    def blocks(self, rules: Iterable[values.AccessRule]) -> tuple[list[Block], dict[str, values.RuleResult]]:
        """Return the rules that can be expressed, in the form that ``samba_config.section`` takes, and a result for every
        rule.
        """
        return blocks(rules, {user.name.casefold(): user.name for user in self._read()})


def stamp(source: Path | None) -> str:
    """Return a text that changes with the list."""
    try:
        status = source.stat() if source else None
    except OSError:
        status = None
    return f'{status.st_ino} {status.st_size} {status.st_mtime_ns}' if status else ''


def blocks(
    rules: Iterable[values.AccessRule], known: Mapping[str, str]
) -> tuple[list[Block], dict[str, values.RuleResult]]:
    """As ``Users.blocks``; ``known`` has the users' names by their case-folded names. If two rules name a user, "ro"
    wins.

    A rule for a user who is not known is for nobody, and is no error. Neither the rule nor the server tells whether there is
    such a user: that may be a user of another project.
    """
    results: dict[str, values.RuleResult] = {}
    chosen: dict[str, Block] = {}
    for rule in sorted(rules, key=lambda rule: (rule.level != 'ro', rule.id)):
        why = _objection(rule)
        results[rule.id] = values.RuleResult(error=why or None)
        if not why:
            name = known.get(rule.to.casefold(), NOBODY)
            chosen.setdefault(name, Block(rule.id, f'{rule.level} {name}'))
            if name == NOBODY:
                LOG.info('Access rule %s opens nothing: linux_cifs_users has no user %s', rule.id, rule.to)
    return [chosen[name] for name in sorted(chosen)], results


def objection(rule: values.AccessRule) -> str:
    """Return the reason why no server can have the rule, whoever its users are, or ''."""
    if rule.type != 'user':
        return f'CIFS shares of this backend support access rules of type user only, not {rule.type}: give the user name'
    if rule.level not in _LEVELS:
        return f'this backend supports the levels rw and ro only, not {rule.level}'
    return ''


def _objection(rule: values.AccessRule) -> str:
    if why := objection(rule):
        return why
    if NAME.fullmatch(rule.to) is None or rule.to.casefold() in TAKEN:
        return f'no user can have the name {rule.to}: it must be letters, digits, "_", "." and "-", and no word of Samba'
    return ''
