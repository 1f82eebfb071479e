# SPDX-License-Identifier: Apache-2.0
"""Ids of resources: they become file names, and words in NFS-Ganesha's configuration."""

import re

from manila_lite import errors

SAFE_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}')


def vet_id(resource_id: str) -> None:
    """Check that the id is one of a share or snapshot, and safe as a file name.

    :raises errors.Final: it is not.
    """
    if not SAFE_ID.fullmatch(resource_id):
        raise errors.Final(f'{resource_id!r} is not an id of a share or snapshot.')
