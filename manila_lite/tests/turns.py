# SPDX-License-Identifier: Apache-2.0
"""Portions of long walks: tools/test tries a part of them, another one with each commit. A test that runs alone tries all."""

import os
from collections.abc import Sequence
from typing import Any, TypeVar

_Sequence = TypeVar('_Sequence', bound=Sequence[Any])
#: The number of commits, or 0.
TURN = int(os.environ.get('MANILA_LITE_TEST_TURN', '0'))


def mine(things: _Sequence, parts: int) -> _Sequence:
    """Return one of so many parts of the things; without a turn, all."""
    return things[TURN % parts :: parts] if TURN else things
