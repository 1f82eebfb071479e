# SPDX-License-Identifier: Apache-2.0
"""A backend of the driver cephfs on the cluster of this process, and what the cluster and NFS-Ganesha hold of its shares."""

import contextlib
import dataclasses
import errno
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.drivers import load
from manila_lite.drivers.cephfs.cluster import bindings
from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.driver import CephfsDriver
from manila_lite.drivers.cephfs.volumes.auth_ids import noted
from manila_lite.drivers.cephfs.volumes.evictions import planned
from manila_lite.drivers.cephfs.volumes.subvolumes import GIB, NOTED, TO_EVICT
from manila_lite.drivers.file_servers import ganesha_clients
from manila_lite.tests import process
from manila_lite.tests.compliance.test_cephfs import admin, files
from manila_lite.tests.functional.ceph import doors
from manila_lite.tests.services import ceph

NAME, POOL, FOLDER = 'ceph', 'a.data', '/volumes/_nogroup'
#: Pool for exports.
SHARED = 'recovery'
_CAP = re.compile(rf'allow (rw|r) path={FOLDER}/([^,/ ]+)')
_COPY_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Held:
    """What is held of a share: its limit in GiB, the marks of its subvolume without the notes of ids, these ids, the ids with
    access and their levels, the clients of its export and their levels, and the marks of its snapshots.
    """

    limit: float | None
    marks: Mapping[str, str]
    noted: frozenset[str]
    keys: frozenset[tuple[str, str]]
    clients: frozenset[tuple[str, str]] = frozenset()
    snapshots: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)


def ask(verb, name, **arguments):
    """Do a command of ``fs subvolume`` as the administrator."""
    return admin().manager(f'fs subvolume {verb}', vol_name='a', sub_name=name, **arguments)


def entities():
    """Return the keys of all clients of the cluster, and their capabilities."""
    return {
        entry['entity'].removeprefix('client.'): entry
        for entry in admin().monitor('auth ls')['auth_dump']
        if entry['entity'].startswith('client.')
    }


class Record:
    """A file that managers of the cluster keep about access: of an auth id, or of a subvolume."""

    def __init__(self, name: str):
        self._path = f'/volumes/{name}'.encode()

    def change(self, change) -> None:
        """Replace the content by what the function makes of it; of a file that is empty or missing it gets an empty record."""
        _, mount = files()
        number = mount.open(self._path, os.O_CREAT | os.O_RDWR, 0o755)
        text = json.dumps(change(json.loads(mount.read(number, 0, 1 << 20) or '{}'))).encode()
        mount.ftruncate(number, 0)
        mount.write(number, text, 0)
        mount.fsync(number, 0)
        mount.close(number)


class World:
    """One backend with native clients. Each test of it has shares, and names of clients, of its own."""

    PROTO, TYPE = 'CEPHFS', 'cephx'
    OPTIONS: ClassVar[dict[str, str]] = {}

    def __init__(self, home: Path):
        home.mkdir()
        conf_file = home / 'conf'
        # A machine that is busy needs its time to start a manager.
        options = {
            'cephfs_conf_path': ceph.shared().conf,
            'cephfs_command_timeout': 300,
            **self.OPTIONS,
            **self.own_options(),
        }
        conf_file.write_text(
            f'[{NAME}]\n' + ''.join(f'{name} = {value}\n' for name, value in options.items())
        )
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[str(conf_file)])
        self.state = home / 'state'
        self._backend = load.check(
            CephfsDriver, NAME, f'{uuidutils.generate_uuid()}@{NAME}', conf, self.state
        )
        self.common = self.driver()

    def own_options(self) -> dict[str, object]:
        """Return options that no other backend has."""
        return {}

    def driver(self) -> CephfsDriver:
        """Return the driver of a process that has just started."""
        driver = CephfsDriver(self._backend)
        driver.parts.shares.COPY_SECONDS = _COPY_SECONDS
        doors.install(driver)
        driver.setup()
        return driver

    def restart(self) -> None:
        """Let go of the driver, and take that of the next process."""
        self.common.shutdown()
        self.common = self.driver()

    def close(self) -> None:
        """End all that the backend has running."""
        self.common.shutdown()

    # Names ------------------------------------------------------------------------------------

    def share(self, size=1, share_id=None) -> values.Share:
        """Return a share that is not made yet."""
        share_id = share_id or uuidutils.generate_uuid()
        return values.Share(share_id, share_id, 'p', size, self.PROTO, POOL)

    def client(self, name: str, share: values.Share) -> str:
        """Return the name by which a rule opens the share to this client."""
        return f'{name}-{share.id}'

    def rules(self, share: values.Share, **levels: str) -> list[values.AccessRule]:
        """Return rules for clients, by name."""
        return [
            values.AccessRule(name, self.TYPE, self.client(name, share), level)
            for name, level in levels.items()
        ]

    # What is held -----------------------------------------------------------------------------

    def held(self, share: values.Share, name: str | None = None) -> Held | None:
        """Return what is held of the share, whose subvolume may have another name; None if there is no subvolume."""
        name = name or share.id
        try:
            info = ask('info', name)
        except Refused as refused:
            if refused.number != errno.ENOENT:
                raise
            return None
        marks = ask('metadata ls', name) or {}
        keys = frozenset(
            (ident, level)
            for ident, entry in entities().items()
            for level, where in _CAP.findall(entry['caps'].get('mds', ''))
            if where == name
        )
        snapshots = {
            one['name']: ask('snapshot metadata ls', name, snap_name=one['name']) or {}
            for one in ask('snapshot ls', name)
        }
        aside = {NOTED} if planned(marks) else {NOTED, TO_EVICT}
        quota = info['bytes_quota']
        return Held(
            quota / GIB if isinstance(quota, int) else None,
            {key: value for key, value in marks.items() if key not in aside},
            noted(marks),
            keys,
            self.clients(share, info['path']),
            snapshots,
        )

    def clients(self, share: values.Share, path: str) -> frozenset[tuple[str, str]]:
        """Return the clients that an NFS server admits to the path."""
        return frozenset()

    def open_to(self, share: values.Share, **levels: str) -> dict[str, frozenset]:
        """Return the parts of ``Held`` of a share that is open to these clients."""
        ids = frozenset(
            (self.client(name, share), {'rw': 'rw', 'ro': 'r'}[level]) for name, level in levels.items()
        )
        return {'keys': ids, 'noted': frozenset(ident for ident, _ in ids)}

    def traces(self, share: values.Share) -> list[str]:
        """Return the names of all that is left of a share that was deleted: in the cluster, and here."""
        left = [one['name'] for one in ask('ls', None) if share.id in one['name']]
        left += [f'client.{ident}' for ident in entities() if share.id in ident]
        _, mount = files()
        with contextlib.closing(mount.opendir(b'/volumes')) as folder:
            while entry := mount.readdir(folder):
                # An empty one is nothing but a lock.
                if (
                    share.id.encode() in entry.d_name
                    and entry.d_name.startswith(b'$')
                    and (mount.stat(b'/volumes/' + entry.d_name).st_size)
                ):
                    left.append(entry.d_name.decode())
        return left

    # Sessions ---------------------------------------------------------------------------------

    def session(self, share: values.Share, name: str):
        """Have a client mount the share. Return what ends that."""
        ident = self.client(name, share)
        cluster = ceph.shared()
        conf = cluster.client_conf(ident, entities()[ident]['key'])
        mount = bindings.load('cephfs').LibCephFS(conffile=str(conf), auth_id=ident)
        mount.mount(mount_root=ask('getpath', share.id).encode(), filesystem_name=b'a')

        def end():
            mount.abort_conn()  # the cluster may have shut it out
            mount.shutdown()

        return end

    def sessions(self, share: values.Share, name: str) -> list:
        """Return the sessions of the client."""
        told = admin().metadata_server('a:0', 'client ls', filters=[f'auth_name={self.client(name, share)}'])
        return json.loads(told or '[]')


class NfsWorld(World):
    """A backend with an NFS gateway, which keeps its exports in the cluster, too."""

    PROTO, TYPE = 'NFS', 'ip'
    OPTIONS: ClassVar[dict[str, str]] = {
        'cephfs_protocol_helper_type': 'NFS',
        'cephfs_ganesha_export_ips': '127.0.0.1',
        'cephfs_nfs_graceless': 'true',
        'ganesha_rados_store_enable': 'true',
        'ganesha_rados_store_pool_name': SHARED,
    }
    _ADDRESSES: ClassVar[dict[str, str]] = {'alice': '10.1.0.5', 'bob': '10.2.0.0/24'}

    def own_options(self):
        return {'cephfs_nfs_port': process.free_port()}

    @property
    def _server(self):
        return self.common.parts.protocol.gateway.server

    def close(self):
        self.common.parts.protocol.gateway.stop()
        super().close()

    def client(self, name, share):
        return self._ADDRESSES[name]

    def clients(self, share, path):
        """Return what NFS-Ganesha admits, by its own account. The file for the next one must say the same, and its copy."""
        manager = self._server._manager
        found = [number for number, shown in manager.shown().items() if shown == path]
        if not found:
            return frozenset()
        [(_, entries)] = manager.displayed(found).values()
        now = [ganesha_clients.displayed(entry) for entry in entries]
        text = (self.state / 'exports.d' / f'{share.id}.conf').read_text()
        if sorted(now) != sorted(ganesha_clients.read(text)) or text != self._copies().get(share.id):
            raise AssertionError(
                f'NFS-Ganesha has {now}, the file has\n{text}, the copy has\n{self._copies().get(share.id)}'
            )
        levels = {level: name for name, level in ganesha_clients._LEVELS.items()}
        return frozenset((client.removesuffix('/32'), levels[level]) for client, level in now)

    def _copies(self):
        return json.loads(self.common.parts.protocol.gateway._objects.get('exports') or '{}')

    def open_to(self, share, **levels):
        return {
            'keys': frozenset({(f'nfs-{share.id}', 'rw')}),
            'noted': frozenset(),
            'clients': frozenset((self.client(name, share), level) for name, level in levels.items()),
        }

    def traces(self, share):
        left = super().traces(share)
        left += [str(file) for file in self.state.rglob(f'*{share.id}*')]
        left += [path for path in self._server._manager.shown().values() if share.id in path]
        return left + ['the copy of its export'] * (share.id in self._copies())

    def session(self, share, name):
        """Do nothing: sessions of NFS clients end with the rule."""
        return lambda: None

    def sessions(self, share, name):
        return []
