# SPDX-License-Identifier: Apache-2.0
"""Checks of results of real NFS clients."""

from scenarios.service import Trouble


def must(result):
    """Check that the NFS client succeeded; return its output."""
    worked, said = result
    if not worked:
        raise Trouble(f'the NFS client says: {said}')
    return said


def must_not(result, *reasons):
    """Check that the NFS client was refused, for one of these reasons; return its output."""
    worked, said = result
    if worked or not any(reason in said for reason in reasons):
        raise Trouble(f'expected {" or ".join(reasons)}, the NFS client says: {said or "it worked"}')
    return said


def refused(result):
    """Check that the NFS client found no export; return its output."""
    return must_not(result, 'NOENT', 'ACCES', 'PERM', 'No such file')


def split(path):
    """Return address and directory of an export location."""
    address, _, directory = path.rpartition(':')
    return address.strip('[]'), directory
