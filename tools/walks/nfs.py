# SPDX-License-Identifier: Apache-2.0
"""What is expected of real NFS clients."""

from walks.service import Trouble


def must(result):
    """The NFS client succeeded; returns what it said."""
    worked, said = result
    if not worked:
        raise Trouble(f'the NFS client says: {said}')
    return said


def must_not(result, *reasons):
    """The NFS client was refused, for one of these reasons; returns what it said."""
    worked, said = result
    if worked or not any(reason in said for reason in reasons):
        raise Trouble(f'expected {" or ".join(reasons)}, the NFS client says: {said or "it worked"}')
    return said


def refused(result):
    """The NFS client found no export for it; returns what it said."""
    return must_not(result, 'NOENT', 'ACCES', 'PERM', 'No such file')


def split(path):
    """Return address and directory of an export location."""
    address, _, directory = path.rpartition(':')
    return address.strip('[]'), directory
