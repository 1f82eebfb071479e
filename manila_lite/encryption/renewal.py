# SPDX-License-Identifier: Apache-2.0
"""All secrets of a database: with which key they are encrypted, and all of them with the first."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from cryptography.fernet import Fernet

from manila_lite.db import secrets
from manila_lite.db.engine import Connection, Database
from manila_lite.encryption.keys import Keys, decrypted, encrypted

#: Secrets in one transaction.
_PORTION = 200
#: Not encrypted; with the first key; with another of those that are here; with none of them.
PLAIN, FIRST, ANOTHER, LOST = 'plain', 'first key', 'another key', 'lost'


def look(conf: Any, db: Database) -> dict[str, Counter[str]]:
    """Return how many secrets there are, by what they are and with which key.

    :raises errors.BadConfig: the keys cannot be read.
    """
    keys = Keys(conf).load()
    found: dict[str, Counter[str]] = {}
    with db.reader() as conn:
        for kind in secrets.COLUMNS:
            found[kind] = Counter(_state(keys, secret.value) for some in _portions(conn, kind) for secret in some)
    return found


def _portions(conn: Connection, kind: str) -> Iterator[list[secrets.Secret]]:
    after: str | None = ''
    while after is not None:
        some = secrets.portion(conn, kind, after, _PORTION)
        after = some[-1].id if len(some) == _PORTION else None
        yield some


def _state(keys: list[Fernet], value: str) -> str:
    if not value.startswith(secrets.PREFIX):
        return PLAIN
    if not keys or decrypted(keys, value) is None:
        return LOST
    return ANOTHER if decrypted(keys[:1], value) is None else FIRST


def reencrypt(conf: Any, db: Database) -> Iterator[list[tuple[secrets.Secret, str]]]:
    """Every secret is encrypted with the first key. Yields portions, each secret with its state of before; those that are lost
    stay as they are.

    A portion is one short transaction, and what was done is done: whatever ends it, it can be begun again.

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
                some = secrets.portion(conn, kind, after, _PORTION)
                told = [(secret, _renew(conn, keys.need(), secret)) for secret in some]
            after = some[-1].id if len(some) == _PORTION else None
            yield told
    secrets.empty_log(db)


def _renew(conn: Connection, keys: list[Fernet], secret: secrets.Secret) -> str:
    state = _state(keys, secret.value)
    text = decrypted(keys, secret.value) if state == ANOTHER else secret.value
    if state in (PLAIN, ANOTHER) and text is not None:
        secrets.replace(conn, secret, encrypted(keys, text))     # unless somebody has just written it anew
    return state
