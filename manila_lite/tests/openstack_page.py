# SPDX-License-Identifier: Apache-2.0
"""Run the ``$ openstack ...`` lines of a page in one process; starting the command for each would take most of the time.

Understands ``$ NAME=$(openstack ...)`` and ``$NAME`` beside plain commands. The client is unchanged, except that it
polls more often: it would sleep for five seconds each time.
"""

import contextlib
import io
import re
import shlex
import string
import sys
import time
from pathlib import Path

from openstackclient import shell

_LINE = re.compile(r'^ +\$ (?:(?P<name>[A-Z]+)=\$\()?openstack (?P<words>.*?)(?(name)\))$', re.MULTILINE)


_sleep = time.sleep


def _hurry():
    time.sleep = lambda seconds: _sleep(min(seconds, 0.2))


def command():
    """Run like the ``openstack`` command."""
    _hurry()
    return shell.main(sys.argv[1:])


def program():
    """Run like ``python -c`` with the same argument."""
    _hurry()
    exec(compile(sys.argv[1], 'page', 'exec'), {'__name__': '__main__'})


def main():
    """Run every command, and stop at the first that fails."""
    _hurry()
    known = {}
    for line in _LINE.finditer(Path(sys.argv[1]).read_text(encoding='utf-8')):
        words = shlex.split(string.Template(line['words']).substitute(known))
        print(f'$ openstack {shlex.join(words)}', flush=True)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = shell.main(words)
        print(out.getvalue(), flush=True)
        if status:
            return status
        if line['name']:
            known[line['name']] = out.getvalue().strip()
    return 0
