# SPDX-License-Identifier: Apache-2.0
"""Python environments beside ours, with programs whose versions would not fit: Keystone, Neutron, Nova, data processing.

They take minutes to make, and most tests need none of them. In a run of chosen tests the first test that wants one has
``tools/setup-env`` make it; a run of all tests begins with all of them.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

from manila_lite.tests.services.daemon import Missing

#: Names tools/setup-env in a run of chosen tests (tools/test).
SETUP = 'MANILA_LITE_TEST_SETUP_ENV'


def find(name: str, file: str) -> Path:
    """Return the directory of an environment: $MANILA_LITE_TEST_<NAME>, or the one beside ours.

    ``file``: the path of a file that it has when it is whole.

    :raises Missing: there is none.
    """
    chosen = os.environ.get(f'MANILA_LITE_TEST_{name.upper()}')
    if not chosen:
        _make(name)
    place = Path(chosen or f'{sys.prefix}.{name}')
    if not (place / file).exists():
        raise Missing(f'{place} has no {name.capitalize()} (tools/setup-env --{name} installs one)')
    return place


@functools.cache
def _make(name: str) -> None:
    """Make the environment if it is missing or old. Processes that want the same one wait for each other."""
    if script := os.environ.get(SETUP):
        subprocess.run([script, f'--{name}'], env=os.environ | {'MANILA_LITE_VENV': sys.prefix}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, check=False)
