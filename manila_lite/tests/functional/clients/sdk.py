# SPDX-License-Identifier: Apache-2.0
"""Which methods openstacksdk has for shared file systems, and which of them cannot work yet."""

from openstack.shared_file_system.v2 import _proxy

#: None: all work.
NOT_SERVED: frozenset[str] = frozenset()


def methods() -> set[str]:
    """Return the names of the methods of the installed proxy."""
    return {name for name, member in vars(_proxy.Proxy).items() if callable(member) and not name.startswith('_')}
