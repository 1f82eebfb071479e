# SPDX-License-Identifier: Apache-2.0
"""Encryption of the secrets in the database: Fernet, with the first key of this process; any of its keys decrypts.

Secrets that were stored before encryption was introduced are read as plain text; ``manila-manage secret reencrypt``
encrypts them all.
"""

from typing import Any

from oslo_log import log

from manila_lite import errors
from manila_lite.db.core.engine import Connection, Database
from manila_lite.db.maintenance import secrets
from manila_lite.encryption import key_file
from manila_lite.encryption.keys import Keys, decrypted, encrypted

LOG = log.getLogger(__name__)

_UNAVAILABLE = (
    'A secret of the database cannot be read or written at present; the log of the service has the cause.'
)


class _Process:
    """The keys of this process."""

    keys: Keys | None = None


def use(conf: Any) -> Keys:
    """Use the keys that the configuration names in this process. No key is read yet."""
    _Process.keys = Keys(conf)
    return _Process.keys


def _keys() -> Keys:
    if _Process.keys is None:
        raise errors.BadConfig('no configuration was read')
    return _Process.keys


def check(conf: Any) -> None:
    """Check that secrets can be encrypted. The database is not asked.

    :raises errors.BadConfig: they cannot be; one line says what to do.
    """
    Keys(conf).need()


def prepare(conf: Any, db: Database) -> None:
    """Check that this host has the key of the database. For a new database make a key, unless the host has one.

    :raises errors.BadConfig: the database has another key, or one that this host does not have.
    """
    keys, made = use(conf), False
    try:
        with db.writer() as conn:
            if not keys.load() and secrets.check(conn) is None:
                made = key_file.make(keys.path)
            keys.vet(conn)
    except BaseException:
        if made:
            keys.path.unlink(missing_ok=True)  # another host prepared the database first
        raise
    if made:
        LOG.info('%s was created: keep a copy elsewhere, and copy it to every host', keys.where)


def encrypt(conn: Connection, text: str | None) -> str | None:
    """Return a secret in the form in which this database stores it: encrypted, or plain while ``[upgrade_levels]`` says
    that processes read it which cannot decrypt.

    :raises errors.Unavailable: the key is missing or wrong.
    """
    try:
        keys = _keys()
        if text is None or not keys.are_shared:
            return text
        keys.vet(conn)
        return encrypted(keys.need(), text)
    except errors.BadConfig as bad:
        LOG.error('A secret cannot be written: %s', bad)
        raise errors.Unavailable(_UNAVAILABLE, code='secret_unavailable') from None


def decrypt(value: str | None) -> str | None:
    """Return the plain text of a secret of the database.

    :raises errors.Unavailable: the key is missing or wrong.
    """
    if value is None or not value.startswith(secrets.PREFIX):
        return value
    try:
        text = decrypted(_keys().need(), value)
        if text is None:
            raise _keys().wrong()
    except errors.BadConfig as bad:
        LOG.error('A secret cannot be read: %s', bad)
        raise errors.Unavailable(_UNAVAILABLE, code='secret_unavailable') from None
    return text
