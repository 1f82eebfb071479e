# SPDX-License-Identifier: Apache-2.0
"""The end of each check of this directory."""

import pathlib
import sys
from collections.abc import Callable, Iterable


def run(problems: Callable[[pathlib.Path], Iterable[str]]) -> None:
    """Print the problems of the tree that the command line names, or of this one. The exit status is 1 if there are any."""
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    if found := list(problems(root)):
        print(*found, sep='\n')
    sys.exit(bool(found))
