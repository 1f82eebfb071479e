# SPDX-License-Identifier: Apache-2.0
"""Secrets that can be found again, and who listens for them: no log may hold one.

Tokens, passwords and keys of tests begin with ``MARK``; keys that the product itself makes are noted when an answer shows
them; what others make is told to ``keep``, and Keystone's tokens are known by their looks. Each in-process service listens
to all that is logged, at every level, in the form in which it is written; each log file of a process is read in the end.
Who said a secret fails.
"""

import logging
import re
import secrets
from pathlib import Path

import fixtures

MARK = 'hush-'
_KEYS = re.compile(r'"(?:auth_key|access_key)": ?"([^"*]{6,})"')
#: How Keystone's tokens (Fernet) begin.
_TOKEN = re.compile(r'\bgAAAA[\w-]{40,}')
_noted: set[str] = set()


def secret(what: str = 'secret') -> str:
    """Return a secret that is nobody else's."""
    return f'{MARK}{what}-{secrets.token_hex(8)}'


def note(text: str) -> None:
    """The keys in an answer are secrets from now on."""
    if '_key"' in text:
        _noted.update(_KEYS.findall(text))


def keep(value: str) -> str:
    """Return a value that somebody else made: it is a secret from now on."""
    _noted.add(value)
    return value


def told(text: str) -> bool:
    """Say whether a text holds a secret."""
    return MARK in text or any(key in text for key in _noted) or ('gAAAA' in text and _TOKEN.search(text) is not None)


def check(path: Path) -> None:
    """A log file, if it is there, holds no secret.

    :raises AssertionError: it does; the message has the lines.
    """
    if path.exists():
        _judge([line for line in path.read_text(errors='replace').splitlines() if told(line)], path.name)


def _judge(lines: list[str], where: str) -> None:
    if lines:
        raise AssertionError(f'{where} holds secrets in {len(lines)} lines:\n' + '\n'.join(lines[:5])[:5000])


class Ear(fixtures.Fixture):
    """All that this process logs is listened to. At the end it fails if a secret was said.

    To be made when logging is set up: that forgets all who listened before.
    """

    def _setUp(self) -> None:
        root = logging.getLogger()
        handler = _Handler()
        for other in root.handlers:
            other.setLevel(max(other.level, root.level))    # they write what they wrote before
            handler.setFormatter(other.formatter)
        self.addCleanup(lambda: _judge(handler.lines, 'what was logged'))
        self.addCleanup(root.removeHandler, handler)
        self.addCleanup(root.setLevel, root.level)
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)


class _Handler(logging.Handler):
    """Keeps the lines that hold secrets."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Listen to one record, its traceback included."""
        line = self.format(record)
        if told(line):
            self.lines.append(line)
