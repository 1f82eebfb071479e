# SPDX-License-Identifier: Apache-2.0
"""Python environments beside ours, with programs whose versions would not fit: Keystone, Neutron, Nova, data processing."""

import os
import sys
from pathlib import Path

from manila_lite.tests.services import groups
from manila_lite.tests.services.daemon import Missing


def find(name: str, file: str) -> Path:
    """Return the directory of an environment: $MANILA_LITE_TEST_<NAME>, or the one beside ours.

    ``file``: the path of a file that it has when it is whole.

    :raises Missing: there is none.
    """
    chosen = os.environ.get(f'MANILA_LITE_TEST_{name.upper()}')
    if not chosen:
        groups.want(name)
    place = Path(chosen or f'{sys.prefix}.{name}')
    if not (place / file).exists():
        raise Missing(f'{place} has no {name.capitalize()} (tools/setup-env --{name} installs one)')
    return place
