# SPDX-License-Identifier: Apache-2.0
"""The scores of mutation testing: the report of tools/mutate, whose environment is beside that of the pages."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

_TOOLS = pathlib.Path(__file__).resolve().parents[3] / 'tools'


def lines() -> Iterator[str]:
    """Yield the report, or how to get it."""
    python = pathlib.Path(f'{sys.prefix}.mutation', 'bin', 'python')
    if not python.exists():
        yield 'They were built without that environment. ``tools/mutate report`` makes it, and prints the tables.'
        return
    done = subprocess.run([python, '-m', 'mutation', 'report'], env=os.environ | {'PYTHONPATH': str(_TOOLS)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    yield from done.stdout.splitlines()
