# SPDX-License-Identifier: Apache-2.0
"""Secrets that tests recognise, and listeners for them: no log may hold a secret.

Tokens, passwords and keys of tests begin with ``MARK``. Keys that the product makes are noted when an answer shows
them; those of others are given to ``keep``, and Keystone's tokens are known by their form. Each in-process service
listens to all log records, at every level, as they are written; each log file of a process is read in the end. A test
that logged a secret fails.
"""

import logging
import re
import secrets
from pathlib import Path

import fixtures

MARK = 'hush-'
_KEYS = re.compile(r'"(?:auth_key|access_key)": ?"([^"*]{6,})"')
#: Begin of Keystone's tokens (Fernet).
_TOKEN = re.compile(r'\bgAAAA[\w-]{40,}')
_noted: set[str] = set()


def secret(what: str = 'secret') -> str:
    """Return a new secret."""
    return f'{MARK}{what}-{secrets.token_hex(8)}'


def note(text: str) -> None:
    """Treat the keys in an answer as secrets from now on."""
    if '_key"' in text:
        _noted.update(_KEYS.findall(text))


def keep(value: str) -> str:
    """Treat a value that others made as a secret from now on; return it."""
    _noted.add(value)
    return value


def told(text: str) -> bool:
    """Say whether a text holds a secret."""
    return (
        MARK in text
        or any(key in text for key in _noted)
        or ('gAAAA' in text and _TOKEN.search(text) is not None)
    )


def check(path: Path) -> None:
    """Check that a log file, if it exists, holds no secret.

    :raises AssertionError: it does; the message has the lines.
    """
    if path.exists():
        _judge([line for line in path.read_text(errors='replace').splitlines() if told(line)], path.name)


def _judge(lines: list[str], where: str) -> None:
    if lines:
        raise AssertionError(f'{where} holds secrets in {len(lines)} lines:\n' + '\n'.join(lines[:5])[:5000])


class Ear(fixtures.Fixture):
    """A listener to all log records of this process. At the end the test fails if a secret was logged.

    To be made after logging is set up, which removes all earlier handlers.
    """

    def _setUp(self) -> None:
        root = logging.getLogger()
        handler = _Handler()
        for other in root.handlers:
            other.setLevel(max(other.level, root.level))  # they write the same lines as before
            handler.setFormatter(other.formatter)
        self.addCleanup(lambda: _judge(handler.lines, 'what was logged'))
        self.addCleanup(root.removeHandler, handler)
        self.addCleanup(root.setLevel, root.level)
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)


class _Handler(logging.Handler):
    """A handler that keeps the lines with secrets."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Check one record, its traceback included."""
        line = self.format(record)
        if told(line):
            self.lines.append(line)
