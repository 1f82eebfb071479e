# SPDX-License-Identifier: Apache-2.0
"""Methods of openstacksdk for shared file systems, and those that cannot work yet."""

from openstack.shared_file_system.v2 import _proxy

#: Empty: all methods work.
NOT_SERVED: frozenset[str] = frozenset()


def methods() -> set[str]:
    """Return the names of the methods of the installed proxy."""
    return {
        name for name, member in vars(_proxy.Proxy).items() if callable(member) and not name.startswith('_')
    }
