# SPDX-License-Identifier: Apache-2.0
"""Renewal of a database's secrets: their number by key, and the encryption of all of them with the first key."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from cryptography.fernet import Fernet

from manila_lite.db.core.engine import Connection, Database
from manila_lite.db.maintenance import secrets
from manila_lite.encryption.keys import Keys, decrypted, encrypted

#: Secrets in one transaction.
_PORTION = 200
#: States of a secret: not encrypted; encrypted with the first key; with another key of this host; with an unknown key.
PLAIN, FIRST, ANOTHER, LOST = 'plain', 'first key', 'another key', 'lost'


def count_secrets(conf: Any, db: Database) -> dict[str, Counter[str]]:
    """Return the number of secrets for each kind of secret and state.

    :raises errors.BadConfig: the keys cannot be read.
    """
    keys = Keys(conf).load()
    counts: dict[str, Counter[str]] = {}
    with db.reader() as conn:
        for kind in secrets.COLUMNS:
            counts[kind] = Counter(
                _state(keys, secret.value) for some in _portions(conn, kind) for secret in some
            )
    return counts


def _portions(conn: Connection, kind: str) -> Iterator[list[secrets.Secret]]:
    after: str | None = ''
    while after is not None:
        some = secrets.list_after(conn, kind, after, _PORTION)
        after = some[-1].id if len(some) == _PORTION else None
        yield some


def _state(keys: list[Fernet], value: str) -> str:
    if not value.startswith(secrets.PREFIX):
        return PLAIN
    if not keys or decrypted(keys, value) is None:
        return LOST
    return ANOTHER if decrypted(keys[:1], value) is None else FIRST


def reencrypt(conf: Any, db: Database) -> Iterator[list[tuple[secrets.Secret, str]]]:
    """Encrypt every secret with the first key. Yield portions: each secret with its former state. Lost secrets are not changed.

    Each portion is one short transaction, so the work may be interrupted and started again at any time.

    :raises errors.BadConfig: there is no key, or it is not the one of this database.
    """
    keys = Keys(conf)
    with db.writer() as conn:
        keys.vet(conn)
    for kind in secrets.COLUMNS:
        after: str | None = ''
        while after is not None:
            with db.writer() as conn:
                secrets.overwrite(conn)
                some = secrets.list_after(conn, kind, after, _PORTION)
                renewed = [(secret, _renew(conn, keys.need(), secret)) for secret in some]
            after = some[-1].id if len(some) == _PORTION else None
            yield renewed
    secrets.empty_log(db)


def _renew(conn: Connection, keys: list[Fernet], secret: secrets.Secret) -> str:
    state = _state(keys, secret.value)
    text = decrypted(keys, secret.value) if state == ANOTHER else secret.value
    if state in (PLAIN, ANOTHER) and text is not None:
        secrets.replace(conn, secret, encrypted(keys, text))  # unless another transaction has just changed it
    return state
