# SPDX-License-Identifier: Apache-2.0
"""The export of a share of any driver, as a host that copies the share sees it."""

import errno
import os
import re
import socket
from pathlib import Path

from manila_lite import errors, values

_PORT = 2049
#: The options of mount(8) that a file server may need. Others could have this host, as root, ask another server.
_NEEDED = re.compile(
    r'(?:port|vers|nfsvers|minorversion|proto|sec|rsize|wsize|nconnect)=[\w.]+|nolock|noresvport'
)


def location_of(share: values.Share) -> str:
    """Return the export location by which an administrator's host mounts a share.

    :raises errors.Final: there is none.
    """
    if not share.export_locations:
        raise errors.Final(f'Share {share.share_id} has no export location.')
    return _chosen(share).path


def options_of(share: values.Share) -> str:
    """Return the options of mount(8) that the file server of the share needs, or ''.

    :raises errors.Final: there is one among them that no file server needs.
    """
    options = _chosen(share).mount_options if share.export_locations else ''
    for word in filter(None, options.split(',')):
        if not _NEEDED.fullmatch(word):
            raise errors.Final(
                f'The export location of share {share.share_id} has the mount option {word!r}, which hosts that copy a share '
                'do not give.'
            )
    return options


def _chosen(share: values.Share) -> values.ExportLocation:
    return min(share.export_locations, key=lambda one: (not one.is_admin_only, not one.preferred))


def server_of(location: str) -> str:
    """Return the name or the address of the server of an export location, without the brackets of IPv6."""
    return (
        location.lstrip('\\').partition('\\')[0]
        if location.startswith('\\')
        else location.partition(':/')[0].strip('[]')
    )


def address_towards(location: str) -> str:
    """Return this host's own address on the way to the server of an export location. Sends nothing.

    :raises OSError: there is no route to the server.
    """
    family, kind, _, _, target = socket.getaddrinfo(server_of(location), _PORT, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(target)
        return str(probe.getsockname()[0])


def losses(source: Path) -> tuple[str, ...]:
    """Return which attributes of files no copy of the directory can have, since its server does not show them."""
    return tuple(
        name
        for name, is_lost in (
            ('extended attributes', not shows_attributes(source)),
            ('NFSv4 ACLs', _has_acls_of_nfs4(source)),
        )
        if is_lost
    )


def _has_acls_of_nfs4(path: Path) -> bool:
    """Say whether the mount has access control lists of NFSv4, which rsync cannot read."""
    try:
        return bool(os.getxattr(path, 'system.nfs4_acl'))
    except OSError:
        return False


def shows_attributes(path: Path) -> bool:
    """Say whether the file system mounted there has extended attributes."""
    try:
        os.getxattr(path, 'user.any')
    except OSError as bad:
        return bad.errno != errno.ENOTSUP
    return True
