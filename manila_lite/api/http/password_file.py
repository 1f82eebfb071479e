# SPDX-License-Identifier: Apache-2.0
"""The password file of ``http_basic``: a user and a bcrypt hash in each line."""

import hmac

import bcrypt
import webob.exc
from oslo_log import log
from oslo_middleware import basic_auth
from oslo_middleware import exceptions as oslo_exceptions

from manila_lite import errors

LOG = log.getLogger(__name__)

_KINDS = ('$2y$', '$2a$', '$2b$')
#: A hash that no password has. It takes the time of the cost of bcrypt that is put into it.
_NOBODY = '$2b${}$' + '.' * 53
#: The cost where the file has no user, as ``htpasswd -B`` and bcrypt have it.
_COST = '12'


class PasswordFile:
    """The file at ``path``. It is read for each check, so that a change counts at once."""

    def __init__(self, path: str):
        """Check the file.

        :raises errors.BadConfig: it cannot be read, or has a password of another kind.
        """
        self._path = path
        try:
            basic_auth.validate_auth_file(path)
        except (oslo_exceptions.ConfigInvalid, webob.exc.HTTPException, ValueError) as bad:
            raise errors.BadConfig(f'[api] http_basic_auth_user_file: {path}: {_cause_of(bad)}') from None

    def check(self, user: str, password: bytes) -> None:
        """Check a password. An unknown user takes the same time as a wrong password, so nobody learns which it was.

        :raises errors.Unauthorized: one of them is wrong.
        :raises errors.Unavailable: the file cannot be read.
        """
        hashes = self._read()
        known = hashes.get(user)
        try:
            right = bcrypt.checkpw(password, (known or _stand_in(hashes, user)).encode())
        except ValueError:  # bcrypt refuses some passwords outright, such as those with a NUL
            right = False
        if known is None or not right:
            raise errors.Unauthorized('The user or the password is wrong.', code='unauthorized')

    def _read(self) -> dict[str, str]:
        """Return the hashes by user; the first line of a user counts."""
        hashes: dict[str, str] = {}
        try:
            with open(self._path, encoding='utf-8', errors='surrogateescape') as lines:
                for line in lines:
                    user, _, text = line.strip().partition(':')
                    if text.startswith(_KINDS):
                        hashes.setdefault(user, text)
        except OSError as bad:
            LOG.error('[api] http_basic_auth_user_file: %s', bad)
            raise errors.Unavailable(
                'The password file cannot be read. The log of the service has the cause.',
                code='identity_unavailable',
            ) from None
        return hashes


def _stand_in(hashes: dict[str, str], user: str) -> str:
    """Return a hash for an unknown user, with the cost of one of the file: always the same one, but nobody can tell which."""
    if not hashes:
        return _NOBODY.format(_COST)
    texts = list(hashes.values())
    index = int.from_bytes(hmac.digest(texts[0].encode(), user.encode(), 'sha256')[:8], 'big')
    return _NOBODY.format(texts[index % len(texts)][4:6])


def _cause_of(bad: Exception) -> str:
    """Return why a file of passwords cannot be used. For an unreadable one oslo.middleware's text has a field left open."""
    cause = bad.__context__ if isinstance(bad, oslo_exceptions.ConfigInvalid) else bad
    return str(getattr(cause, 'strerror', None) or cause)
