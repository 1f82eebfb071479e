# SPDX-License-Identifier: Apache-2.0
r"""Each message is one line of the log, whatever is in it: a name, what a driver or a database says, a variable of the shell.

Characters that would end a line, steer a terminal, turn the direction of writing or cannot be written at all are there as
``\n`` or ``\u001b``. It is done where lines are formatted, so that nobody who logs has to think of it. Tracebacks stay lines;
what an exception says stays in its own.
"""

import functools
import logging
import re
import traceback
from collections.abc import Iterator
from typing import Any

from oslo_config import cfg
from oslo_log import formatters, log

#: Controls (Cc), what changes how text is shown (Cf), ends of lines and paragraphs (Zl, Zp), halves of characters (Cs).
_HARMFUL = re.compile('[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f'
                      '\ufeff\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]')
_SHORT = {'\n': '\\n', '\r': '\\r', '\t': '\\t'}
#: How a frame of a traceback begins; in a group of exceptions they are indented.
_FRAME = re.compile(r'[ |]*File "')
#: What write no lines, but objects whose texts are escaped as JSON has it, or kept apart.
_SAFE = (formatters.JSONFormatter, formatters.FluentFormatter)


def setup(conf: cfg.ConfigOpts) -> None:
    """The log is written as configured, in lines.

    :raises oslo_log.log.LogConfigError: it cannot be. (Or an OSError or RuntimeError.)
    """
    log.setup(conf, 'manila_lite')
    escape_all()


def escape_all() -> None:
    """Whatever is logged from now on is escaped. To be called again when handlers may have changed; that costs nothing."""
    known = [logging.getLogger(), *(one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger))]
    last = [logging.lastResort] if logging.lastResort is not None else []
    for handler in [*(handler for logger in known for handler in logger.handlers), *last]:
        if handler.formatter is None:
            handler.setFormatter(logging.Formatter())
        kind = type(handler.formatter)
        if not issubclass(kind, (_Escaping, *_SAFE)):
            handler.formatter.__class__ = _escaping(kind)


def escaped(text: str) -> str:
    """Return a text as part of a line."""
    return _HARMFUL.sub(_escape, text)


def _escape(found: re.Match) -> str:
    char = found[0]
    return _SHORT.get(char) or (f'\\u{ord(char):04x}' if char <= '\uffff' else f'\\U{ord(char):08x}')


@functools.cache
def _escaping(kind: type[logging.Formatter]) -> type[logging.Formatter]:
    """Return the class of formatters that write what those of a class do, escaped."""
    return type(f'Escaping{kind.__name__}', (_Escaping, kind), {})


class _Escaping(logging.Formatter):

    def format(self, record: logging.LogRecord) -> str:
        """Return the message as one line, and below it the traceback, if there is one."""
        record.exc_text = None      # it may be there as a formatter made it that does not escape
        whole = super().format(record)
        if not isinstance(whole, str):
            return whole            # a formatter of objects that is none of oslo.log's
        below = [record.exc_text, record.stack_info and self.formatStack(record.stack_info)]
        tail = ''.join(f'\n{part}' for part in below if part)
        if not tail or not whole.endswith(tail):
            return escaped(whole)
        lines = [escaped(whole.removesuffix(tail)), *map(escaped, tail[1:].split('\n'))]
        return '\n'.join(lines)

    def formatException(self, ei: Any, **more: Any) -> str:     # noqa: N802 - as the base class calls it
        """Return a traceback, in lines that begin as the formatter begins them."""
        return '\n'.join(f'{self._prefix(**more)}{line}' for line in _lines(ei))

    def _prefix(self, record: logging.LogRecord | None = None) -> str:
        if record is None:
            return ''
        # oslo.log has no other way to ask what it begins lines with than to let it write the shortest one.
        return escaped(super().formatException((None, None, None), record=record).partition('NoneType: None')[0])


def _lines(ei: Any) -> Iterator[str]:
    for part in traceback.TracebackException(*ei, compact=True).format():
        if _FRAME.match(part):
            yield from map(escaped, part.rstrip('\n').split('\n'))
        else:
            yield escaped(part.strip('\n'))
