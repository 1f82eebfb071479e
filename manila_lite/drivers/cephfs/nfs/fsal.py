# SPDX-License-Identifier: Apache-2.0
"""CephFS below NFS-Ganesha: each export has a CephX id of its own, which reaches nothing but the share.

So a forged file handle ends at the share: the cluster refuses the rest to the NFS server itself.
"""

import dataclasses
import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from oslo_log import log

from manila_lite.drivers.cephfs.cluster.answers import Away, Refused
from manila_lite.drivers.cephfs.nfs.early_mounts import EarlyMounts
from manila_lite.drivers.file_servers.connection_guard import ConnectionGuard
from manila_lite.drivers.file_servers.ganesha_exports import SERVED
from manila_lite.drivers.file_servers.ganesha_fsal import Fsal
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)

#: File name of NFS-Ganesha's plug-in for CephFS, and of the part that keeps records of clients in the cluster.
PLUGIN = 'libfsalceph.so'
#: What a text in NFS-Ganesha's configuration may consist of.
_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f]+')

#: Program that gives the host a name, in a namespace of its own, and becomes another program.
_NAMED = 'import os, socket, sys; socket.sethostname(sys.argv[1]); os.execvp(sys.argv[2], sys.argv[2:])'
_NAME_LENGTH = 32
_EXPORT = re.compile(r'Export_Id = (\d+); Path = "([^"]+)"')
_KEY = re.compile(r'User_Id = "([^"]+)"; Secret_Access_Key = "([^"]+)"')


@dataclasses.dataclass(frozen=True)
class Key:
    """A CephX id and its secret, which must not be logged."""

    auth_id: str
    secret: str = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Records:
    """The place in the cluster for the records of NFS clients."""

    pool: str
    namespace: str
    auth_id: str


def key_in(block: str) -> Key | None:
    """Return the key in an FSAL block, or None."""
    found = _KEY.search(block)
    return Key(found[1], found[2]) if found else None


def plugin() -> Path | None:
    """Return NFS-Ganesha's plug-in for CephFS, or None if it is not installed."""
    return next(iter(sorted(Path('/usr/lib').glob(f'*/ganesha/{PLUGIN}'))), None)


def vet(text: str) -> str:
    """Return the text if it can stand in quotes in NFS-Ganesha's configuration.

    :raises CommandFailed: it cannot.
    """
    if not _PLAIN.fullmatch(text):
        raise CommandFailed(
            f'NFS-Ganesha cannot be given {text!r}: it has quotes, backslashes or control characters'
        )
    return text


class CephFsal(Fsal):
    """CephFS below one NFS server, whose folder is ``home``, with the guard of its connections. ``key_of`` returns the key of
    an export.

    ``node``: a name that no other NFS server at the cluster has. NFS-Ganesha names each session with the cluster by it and
    by the number of the export, and the cluster refuses a second session of the same name. ``evict_host`` ends the sessions of
    all clients that say to be on a host of this name.
    """

    #: Other clients of the cluster change files, too: attributes are fresh.
    defaults = 'Attr_Expiration_Time = 0; '

    def __init__(
        self,
        home: Path,
        ceph_conf: str,
        filesystem: str,
        node: str,
        key_of: Callable[[str], Key],
        guard: ConnectionGuard,
        evict_host: Callable[[str], None],
        records: Records | None = None,
    ):
        self._ceph_conf = vet(ceph_conf)
        self._filesystem = vet(filesystem)
        self._node = vet(node)
        #: The name of the host by which the cluster knows all sessions of this server.
        self.host_name = hashlib.sha256(self._node.encode()).hexdigest()[:_NAME_LENGTH]
        self._key_of = key_of
        self._guard = guard
        self._evict_host = evict_host
        self._records = records
        self._home = home
        self._early = EarlyMounts(home, plugin())
        self.plugins = self._early.folder
        # An export that is added later does not read the block for the cluster.
        self.env = {**guard.env, **self._early.env, 'CEPH_CONF': self._ceph_conf}
        # A comment makes a server with another limit of connections another one. A snapshot shall be seen at once, so lists of
        # directories are fresh.
        self.conf = f'# connections: {guard.start_key}\n'
        self.conf += f'CEPH {{ Ceph_Conf = "{self._ceph_conf}"; }}\nMDCACHE {{ Dir_Chunk = 0; }}\n'
        if records:
            self.conf += (
                f'RADOS_KV {{ ceph_conf = "{self._ceph_conf}"; userid = "{vet(records.auth_id)}"; '
                f'pool = "{vet(records.pool)}"; namespace = "{vet(records.namespace)}"; nodeid = "{self._node}"; }}\n'
            )

    def install(self) -> None:
        self._guard.install()
        self._early.install([(self._filesystem,), *self._mounts()])
        self._end_sessions()

    def _end_sessions(self) -> None:
        """End the sessions of a server that ran before, wherever it did. NFS-Ganesha ends those that are left one after the
        other, and the cluster agrees on each before the next.
        """
        try:
            self._evict_host(self.host_name)
        except (Refused, Away) as bad:
            LOG.warning('The sessions of the former NFS server cannot be ended all at once: %s', bad)

    def _mounts(self) -> Iterator[Sequence[str]]:
        """Yield id, key and path of each export, and the name of its session, as NFS-Ganesha makes it."""
        node = self._node if self._records else self.host_name
        for file in sorted((self._home / SERVED).glob('*.conf')):
            text = file.read_text()
            key, export = key_in(text), _EXPORT.search(text)
            if key and export:
                yield key.auth_id, key.secret, export[2], f'ganesha-{node}-{int(export[1]):04x}'

    def wrap(self, words: Sequence[str]) -> list[str]:
        """Return the words that start the server with the name of the node as the name of its host.

        Without records in the cluster NFS-Ganesha takes no other name: two servers of a host would shut each other out.
        """
        return ['unshare', '--uts', sys.executable, '-I', '-S', '-c', _NAMED, self.host_name, *words]

    def recovery(self, state_dir: Path) -> str:
        return (
            'RecoveryBackend = rados_ng;'
            if self._records
            else f'RecoveryBackend = fs; RecoveryRoot = "{state_dir}/recov";'
        )

    def block(self, name: str) -> str:
        key = self._key_of(name)
        return (
            f'FSAL {{ Name = CEPH; Filesystem = "{self._filesystem}"; User_Id = "{vet(key.auth_id)}"; '
            f'Secret_Access_Key = "{vet(key.secret)}"; }}'
        )

    def name_of(self, path: str) -> str:
        """Return '': the path in the file system is not named after the share."""
        return ''
