# SPDX-License-Identifier: Apache-2.0
"""``manila-manage shell``: Python with the configuration, the database and an administrator's context at hand."""

import argparse
import code
import contextlib
import importlib.util
import runpy
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from manila_lite import context, errors
from manila_lite.cmd.manage.command import GOOD, WRONG, Call, Command, argument, one_of

Names = dict[str, Any]

_BANNER = 'conf: the configuration; db: the database; ctx: an administrator. Nothing checks what you change.'


def python(call: Call) -> int:
    """Start Python, with the variables conf, db and ctx."""
    return _interact(call, 'python')


def ipython(call: Call) -> int:
    """Start IPython, with the variables conf, db and ctx. Exit status 1: IPython is not installed."""
    return _interact(call, 'ipython')


def bpython(call: Call) -> int:
    """Start bpython, with the variables conf, db and ctx. Exit status 1: bpython is not installed, or there is no terminal."""
    return _interact(call, 'bpython')


def run(call: Call) -> int:
    """Start the first installed shell of bpython, IPython and Python; without a terminal, Python."""
    best = next(kind for kind in _SHELLS if _is_installed(kind)) if sys.stdin.isatty() else 'python'
    return _interact(call, call.args.shell or best)


def script(call: Call) -> int:
    """Run a Python file, with the variables conf, db and ctx. The exit status is that of the file."""
    path = call.args.path
    try:
        with open(path, 'rb'):
            pass
    except OSError as bad:
        raise errors.Invalid(f'{path}: {bad.strerror}') from None
    sys.argv[:] = [path]
    try:
        runpy.run_path(path, init_globals=_names(call), run_name='__main__')
    except Exception:
        traceback.print_exc()  # show the script's author where any error happened
        return WRONG
    return GOOD


def _names(call: Call) -> Names:
    return {'conf': call.conf, 'db': call.db, 'ctx': context.admin(call.services())}


def _interact(call: Call, kind: str) -> int:
    if not _is_installed(kind):
        raise errors.NotFound(f'{kind} is not installed: the package is called {kind}')
    sys.excepthook = sys.__excepthook__  # the log's hook would write each mistyped name as CRITICAL
    _SHELLS[kind](_names(call))
    return GOOD


def _python(names: Names) -> None:
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            import readline
            import rlcompleter

            readline.set_completer(rlcompleter.Completer(names).complete)
            readline.parse_and_bind('tab: complete')
    code.interact(_BANNER, local=names, exitmsg='')


def _ipython(names: Names) -> None:
    import IPython

    print(_BANNER)
    IPython.start_ipython(argv=['--no-banner'], user_ns=names)


def _bpython(names: Names) -> None:
    if not sys.stdin.isatty():
        raise errors.Invalid('bpython needs a terminal')
    sys.modules.pop('greenlet', None)  # blocked for oslo.service, which is loaded by now; bpython needs it
    import bpython

    bpython.embed(names, args=['--quiet'], banner=_BANNER)


#: The function that starts each shell, the best shell first.
_SHELLS: Mapping[str, Callable[[Names], None]] = {'bpython': _bpython, 'ipython': _ipython, 'python': _python}
_PACKAGES = {'bpython': 'bpython', 'ipython': 'IPython', 'python': 'code'}


def _is_installed(kind: str) -> bool:
    return importlib.util.find_spec(_PACKAGES[kind]) is not None


COMMANDS: Sequence[Command] = (
    Command(
        'shell',
        'run',
        run,
        [argument('--shell', choices=list(_SHELLS), help='default: the first installed one')],
    ),
    Command('shell', 'python', python),
    Command('shell', 'ipython', ipython),
    Command('shell', 'bpython', bpython),
    Command(
        'shell',
        'script',
        script,
        [
            one_of(
                argument('path', nargs='?', default=argparse.SUPPRESS, help='path of the file'),
                argument('--path', dest='path', metavar='PATH', help='path of the file; old spelling'),
            )
        ],
    ),
)
