# SPDX-License-Identifier: Apache-2.0
"""Causes of failed mounts, in sentences for owners of shares: they cannot read the output of a host they do not know."""

import re

#: The beginnings of causes in the output of mount.nfs, libnfs and the kernel. The first match counts:
#: libnfs adds an errno of its own to an error of the network.
_CAUSES = tuple(
    (re.compile(pattern, re.IGNORECASE), sentence)
    for pattern, sentence in (
        (r'stale', 'the NFS server no longer knows the export'),
        (r'timed out|timeout', 'the NFS server does not answer'),
        (
            r'connection refused|connection reset|connection closed|ECONNREFUSED',
            'the NFS server refuses connections',
        ),
        (r'no route|unreachable', 'the host has no route to the NFS server'),
        (
            r'access denied|permission denied|NFS4ERR_ACCESS|NFS4ERR_PERM|NFS4ERR_WRONGSEC|not permitted',
            'the NFS server refuses access to the host',
        ),
        (
            r'no such file|NOENT|not a directory',
            'the NFS server does not have the export, or hides it from the host',
        ),
        (r'resolve|name or service|name resolution', 'the host cannot find the address of the NFS server'),
        (r'unknown filesystem|bad option|wrong fs type|nfs client', 'the host has no NFS client that works'),
        (
            r'protocol not supported|version|MINOR_VERS_MISMATCH',
            'the NFS server does not serve the NFS version of the host',
        ),
    )
)
_UNKNOWN = 'the host refused it, and its log has the cause'


def cause(said: str) -> str:
    """Return the cause that the output of a failed mount names, without a full stop."""
    return next((sentence for pattern, sentence in _CAUSES if pattern.search(said)), _UNKNOWN)
