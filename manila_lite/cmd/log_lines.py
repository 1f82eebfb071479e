# SPDX-License-Identifier: Apache-2.0
r"""Log messages on one line each, with any content: a name, a driver's or a database's error, a variable of the shell.

Characters that would end a line, steer a terminal, turn the direction of writing or cannot be written at all are
escaped as ``\n`` or ``\u001b``. The formatters do it, so no code that logs has to. Tracebacks keep their lines; the
text of an exception stays in one of them.
"""

import functools
import logging
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from oslo_config import cfg
from oslo_log import formatters, log

from manila_lite.cmd import log_files

#: Controls (Cc), formatting characters (Cf), ends of lines and paragraphs (Zl, Zp), surrogates (Cs).
_HARMFUL = re.compile(
    '[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f'
    '\ufeff\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]'
)
_SHORT = {'\n': '\\n', '\r': '\\r', '\t': '\\t'}
#: The begin of a frame of a traceback; in a group of exceptions frames are indented.
_FRAME = re.compile(r'[ |]*File "')
#: Formatters that write objects, not lines: their texts are escaped as in JSON, or kept apart.
_SAFE = (formatters.JSONFormatter, formatters.FluentFormatter)


def setup(conf: cfg.ConfigOpts) -> None:
    """Write the log as configured, with escaped lines. An error that ends the program is in it, and on stderr in any case.

    :raises oslo_log.log.LogConfigError: the log cannot be written as configured. (Or an OSError or RuntimeError.)
    """
    log_files.install()
    log.setup(conf, 'manila_lite')
    sys.excepthook = functools.partial(
        _tell_the_end, sys.excepthook
    )  # oslo.log's, which writes to the log alone
    escape_all()


def _tell_the_end(
    write: Callable[..., None], kind: type[BaseException], error: BaseException, trace: Any
) -> None:
    write(kind, error, trace)
    tell('unexpected error', error)


def tell(what: str, error: BaseException) -> None:
    """Name a logged error and its effect on stderr, in one line, unless the log goes there itself."""
    root = logging.getLogger().handlers
    if not any(getattr(handler, 'stream', None) is sys.stderr for handler in root):
        places = [handler.baseFilename for handler in root if isinstance(handler, logging.FileHandler)]
        said = escaped(traceback.format_exception_only(type(error), error)[-1].strip())
        print(
            f'manila_lite: {what}, with a traceback in {", ".join(places) or "the log"}: {said}',
            file=sys.stderr,
            flush=True,
        )


def escape_all() -> None:
    """Escape all that is logged from now on. Call it again when handlers may have changed; that costs nothing."""
    for handler in handlers():
        formatter = handler.formatter
        if formatter is None:
            formatter = logging.Formatter()
            handler.setFormatter(formatter)
        kind = type(formatter)
        if not issubclass(kind, (_Escaping, *_SAFE)):
            formatter.__class__ = _escaping(kind)  # type: ignore[arg-type]  # mypy takes it for an instance


def handlers() -> list[logging.Handler]:
    """Return every handler of the log."""
    known = [
        logging.getLogger(),
        *(one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)),
    ]
    last = [logging.lastResort] if logging.lastResort is not None else []
    return [*(handler for logger in known for handler in logger.handlers), *last]


def escaped(text: str) -> str:
    """Return a text with its harmful characters escaped."""
    return _HARMFUL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _SHORT.get(char) or (f'\\u{ord(char):04x}' if char <= '\uffff' else f'\\U{ord(char):08x}')


@functools.cache
def _escaping(kind: type[logging.Formatter]) -> type[logging.Formatter]:
    """Return a subclass of a formatter class that escapes its lines."""
    return type(f'Escaping{kind.__name__}', (_Escaping, kind), {})


class _Escaping(logging.Formatter):
    def format(self, record: logging.LogRecord) -> Any:
        """Return the message as one line, and below it the traceback, if there is one."""
        record.exc_text = None  # another formatter may have left its text here, not escaped
        whole: Any = super().format(record)
        if not isinstance(whole, str):
            return whole  # from a formatter of objects that is not oslo.log's
        below = [record.exc_text, record.stack_info and self.formatStack(record.stack_info)]
        tail = ''.join(f'\n{part}' for part in below if part)
        if not tail or not whole.endswith(tail):
            return escaped(whole)
        lines = [escaped(whole.removesuffix(tail)), *map(escaped, tail[1:].split('\n'))]
        return '\n'.join(lines)

    def formatException(self, ei: Any, **more: Any) -> str:  # noqa: N802 - as the base class calls it
        """Return a traceback, whose lines begin with the formatter's prefix."""
        return '\n'.join(f'{self._prefix(**more)}{line}' for line in _lines(ei))

    def _prefix(self, record: logging.LogRecord | None = None) -> str:
        if record is None:
            return ''
        # oslo.log has no call for its prefix, so it formats the shortest traceback, from which the prefix is taken.
        shortest: Callable[..., str] = super().formatException
        return escaped(shortest((None, None, None), record=record).partition('NoneType: None')[0])


def _lines(ei: Any) -> Iterator[str]:
    for part in traceback.TracebackException(*ei, compact=True).format():
        if _FRAME.match(part):
            yield from map(escaped, part.rstrip('\n').split('\n'))
        else:
            yield escaped(part.strip('\n'))
