# SPDX-License-Identifier: Apache-2.0
"""A command of the compute service that stops at places that a test names."""

from manila_lite.siblings.compute import cmd
from manila_lite.tests.functional.siblings import killed


def main():
    """Run the command of a role, wrapped."""
    return killed.run('compute', {'api': cmd.api, 'agent': cmd.host_agent})
