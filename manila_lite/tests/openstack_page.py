# SPDX-License-Identifier: Apache-2.0
"""Runs the ``$ openstack ...`` lines of a page in one process; starting the command for each would take most of the time.

Usage: python -m manila_lite.tests.openstack_page PAGE. Knows ``$ NAME=$(openstack ...)`` and ``$NAME`` beside plain commands.
"""

import contextlib
import io
import re
import shlex
import string
import sys
from pathlib import Path

from openstackclient import shell

_LINE = re.compile(r'^ +\$ (?:(?P<name>[A-Z]+)=\$\()?openstack (?P<words>.*?)(?(name)\))$', re.MULTILINE)


def main(page):
    """Every command works; stops at the first that does not."""
    known = {}
    for line in _LINE.finditer(Path(page).read_text(encoding='utf-8')):
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


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
