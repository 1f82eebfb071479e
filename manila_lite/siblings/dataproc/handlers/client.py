# SPDX-License-Identifier: Apache-2.0
"""The NFS client of a node: installed if it is missing."""

import shlex
from collections.abc import Sequence

from manila_lite import errors
from manila_lite.siblings.dataproc.interface import Remote

_QUIET = ('env', 'DEBIAN_FRONTEND=noninteractive')
_APT = (*_QUIET, 'apt-get', '-q', '-o', 'DPkg::Lock::Timeout=120')
_DEBIAN = ((*_APT, 'update'), (*_APT, 'install', '-y', '--no-install-recommends', 'nfs-common'))
_RED_HAT = (
    (
        'sh',
        '-c',
        'if command -v dnf >/dev/null; then exec dnf "$@"; else exec yum "$@"; fi',
        'mlite',
        '-y',
        'install',
        'nfs-utils',
    ),
)
#: Commands to install the client, by the names of distributions in os-release(5).
INSTALL: dict[str, Sequence[Sequence[str]]] = {
    **dict.fromkeys(('debian', 'ubuntu'), _DEBIAN),
    **dict.fromkeys(('rhel', 'fedora', 'centos'), _RED_HAT),
}

_IS_THERE = 'test -x /sbin/mount.nfs || test -x /usr/sbin/mount.nfs'


def ensure(remote: Remote, seconds: float) -> None:
    """Make sure that the node has an NFS client; an installation may take so many seconds.

    :raises errors.Final: the node has none, and none could be installed.
    """
    if _is_there(remote):
        return
    for words in INSTALL[_family(remote)]:
        done = remote.run(words, timeout=seconds)
        if done.status:
            raise errors.Final(f'An NFS client could not be installed: {_said(done.err or done.out)}')
    if not _is_there(remote):
        raise errors.Final('There is no mount.nfs, though its package was installed.')


def _is_there(remote: Remote) -> bool:
    return remote.run(['sh', '-c', _IS_THERE]).status == 0


def _family(remote: Remote) -> str:
    """Return the distribution of the node, or a similar one, as a key of ``INSTALL``."""
    families = names(remote.run(['cat', '/etc/os-release']).out.decode(errors='replace'))
    family = next((name for name in families if name in INSTALL), None)
    if family is None:
        raise errors.Final(
            'There is no NFS client, and no known way to install one on '
            f'{families[0] if families else "this system"}: use an image with an NFS client.'
        )
    return family


def names(os_release: str) -> list[str]:
    """Return the name of a system in os-release, followed by the names of similar systems."""
    values = dict(
        row.split('=', 1) for row in os_release.splitlines() if '=' in row and not row.startswith('#')
    )
    return [name for key in ('ID', 'ID_LIKE') for name in ' '.join(_words(values.get(key, ''))).split()]


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return []


def _said(output: bytes) -> str:
    return output.decode(errors='replace').strip()[-500:]
