# SPDX-License-Identifier: Apache-2.0
"""Ids of resources and names in a cluster: they become parts of paths and arguments of commands."""

import re

from manila_lite import errors

#: Ids of shares and snapshots become names of subvolumes and of their snapshots. Ceph's own names begin with ``_``.
SAFE_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}')
#: Auth ids that an access rule may name: no quoting, no path and no option in any file or command.
SAFE_AUTH_ID = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_-]{0,127}')


def vet_id(resource_id: str) -> None:
    """Check that the id is one of a share or snapshot, and safe as a name in the cluster.

    :raises errors.Final: it is not.
    """
    if not SAFE_NAME.fullmatch(resource_id):
        raise errors.Final(f'{resource_id!r} is not an id of a share or snapshot.')
