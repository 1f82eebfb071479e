# SPDX-License-Identifier: Apache-2.0
"""The keys of a process: from the key file, which is read again when it changes, and from the key manager."""

import threading
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from manila_lite import errors, key_manager
from manila_lite.db.core.engine import Connection
from manila_lite.db.maintenance import secrets
from manila_lite.encryption import key_file

#: The version of wake-ups of processes that cannot decrypt. All releases can.
BEFORE_ENCRYPTION = '1.0'
#: The text whose encrypted form in the database shows whether a key is the right one.
_WORD = 'manila_lite'
_WRONG = (
    'the secrets in the database were encrypted with another key than {where} has: put the right file there, from '
    'another host or from a backup'
)
_MISSING = (
    '{where} is not there: copy it from a host of this cloud that has it, or from a backup; for a new cloud, '
    '"manila-manage db sync" makes it'
)


class Keys:
    """The keys of one configuration. Safe for threads."""

    def __init__(self, conf: Any):
        self._conf = conf
        self.path = Path(conf.secrets.key_file).absolute()
        self._lock = threading.Lock()
        self._fetched: dict[str, bytes] = {}
        self._stamp: tuple[int, ...] | None = None
        self._all: list[Fernet] = []
        self._is_right = False

    @property
    def where(self) -> str:
        """Return the options that the keys come from, for messages."""
        return (
            f'[secrets] key_file {self.path}'
            if not self._conf.secrets.key_ids
            else '[secrets] key_ids and key_file'
        )

    def load(self) -> list[Fernet]:
        """Return the present keys, none if there is no file.

        :raises errors.BadConfig: the keys cannot be read or fetched; one line says why.
        """
        now = key_file.stamp(self.path)
        with self._lock:
            if now != self._stamp:
                texts = [*map(self._fetch, self._conf.secrets.key_ids), *key_file.read(self.path)]
                self._all, self._stamp, self._is_right = [Fernet(key) for key in texts], now, False
            return self._all

    def _fetch(self, key_id: str) -> bytes:
        if key_id not in self._fetched:
            self._fetched[key_id] = key_manager.own_key(self._conf, key_id)
        return self._fetched[key_id]

    @property
    def are_shared(self) -> bool:
        """Say whether all processes that use the database can decrypt, according to ``[upgrade_levels] operations``."""
        return bool(self._conf.upgrade_levels.operations != BEFORE_ENCRYPTION)

    def need(self) -> list[Fernet]:
        """Return the keys. :raises errors.BadConfig: there are none."""
        keys = self.load()
        if not keys:
            raise errors.BadConfig(_MISSING.format(where=self.where))
        return keys

    def vet(self, conn: Connection) -> None:
        """Check that the keys are those of this database. A new database is marked with them.

        :raises errors.BadConfig: there are no keys, or the database has others.
        """
        keys = self.need()
        if self._is_right:
            return
        check = secrets.check(conn)
        if check is None and not secrets.store_check(conn, encrypted(keys, _WORD)):
            check = secrets.check(conn)
        if check is not None and decrypted(keys, check) is None:
            raise self.wrong()
        self._is_right = True

    def wrong(self) -> errors.BadConfig:
        """Return the error for the case that none of the keys decrypts."""
        return errors.BadConfig(_WRONG.format(where=self.where))


def encrypted(keys: list[Fernet], text: str) -> str:
    """Return a secret in its encrypted form, as the database stores it."""
    return f'{secrets.PREFIX}{keys[0].encrypt(text.encode()).decode()}'


def decrypted(keys: list[Fernet], value: str) -> str | None:
    """Return the plain text of a secret; None if none of the keys decrypts it."""
    try:
        return MultiFernet(keys).decrypt(value.removeprefix(secrets.PREFIX).encode()).decode()
    except InvalidToken:
        return None
