# SPDX-License-Identifier: Apache-2.0
"""A command of the data-processing service that stops at places that a test names."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

from manila_lite.siblings.dataproc import cmd
from manila_lite.tests.functional.siblings import killed


def main() -> int:
    """Run the command of a role, wrapped."""
    return killed.run('dataproc', {'api': cmd.api, 'engine': cmd.engine})
