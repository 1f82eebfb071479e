# SPDX-License-Identifier: Apache-2.0
"""The gateways of an NFS cluster as Ceph runs them: each an NFS-Ganesha that reads its exports from a pool, and watches it."""

from collections.abc import Mapping
from pathlib import Path

from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.tests.services.ceph import NFS_POOL, Ceph
from manila_lite.tests.services.daemon import Daemon, Missing, program

_CONF = """NFS_KRB5 {{ Active_krb5 = false; }}
NFS_CORE_PARAM {{ Plugins_Dir = "{plugins}"; Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }}
NFSv4 {{ Minor_Versions = 0,1,2; Graceless = true; Lease_Lifetime = 20; RecoveryBackend = rados_ng; Only_Numeric_Owners = true; }}
MDCACHE {{ Dir_Chunk = 0; }}
RADOS_KV {{ ceph_conf = "{ceph_conf}"; userid = "{user}"; pool = "{pool}"; namespace = "{cluster}"; nodeid = "{node}"; }}
RADOS_URLS {{ ceph_conf = "{ceph_conf}"; userid = "{user}"; {watch}}}
%url {url}
"""


class NfsGateway(Daemon):
    """A gateway of the NFS cluster ``name``, in the network namespace ``netns``. ``deaf``: it never hears of changes."""

    PORTS = ()

    def __init__(self, ceph: Ceph, name: str, netns: str, *, deaf: bool = False):
        super().__init__()
        self._ceph = ceph
        self._name = name
        self._netns = netns
        self._deaf = deaf

    def need(self) -> None:
        """Need NFS-Ganesha with its part for CephFS."""
        program('ganesha.nfsd')
        if fsal.plugin() is None:
            raise Missing('nfs-ganesha-ceph is not installed (tools/setup-env --tests does that)')

    def prepare(self) -> None:
        """Write the configuration."""
        user = f'nfs.{self._name}.{self._netns}'
        caps = 'mon', 'allow r', 'osd', f'allow rw pool={NFS_POOL} namespace={self._name}'
        self._conf = self._ceph.client_conf(user, self._ceph.ask('auth', 'get-or-create-key', f'client.{user}', *caps)['key'])
        url = f'rados://{NFS_POOL}/{self._name}/conf-nfs.{self._name}'
        self.write('ganesha.conf', _CONF.format(
            plugins=fsal.plugin().parent, ceph_conf=self._conf, user=user, pool=NFS_POOL, cluster=self._name, node=self._netns,
            watch='' if self._deaf else f'watch_url = "{url}"; ', url=url))

    def command(self) -> list[str]:
        """Return the command line."""
        self.log.unlink(missing_ok=True)
        return [program('nsenter'), f'--net=/run/netns/{self._netns}', '--', program('ganesha.nfsd'), '-F',
                '-f', str(self.home / 'ganesha.conf'), '-L', str(self.log), '-p', str(self.home / 'pid'), '-N', 'NIV_EVENT']

    def environment(self) -> Mapping[str, str]:
        """Return where the cluster is, and that there is no D-Bus."""
        return {'CEPH_CONF': str(self._conf), 'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={self.home}/none'}

    def answers(self) -> bool:
        """Say whether it has read its exports."""
        return self.log.exists() and 'NFS SERVER INITIALIZED' in self.log.read_text(errors='replace')

    @property
    def log(self) -> Path:
        """Its log."""
        return self.home / 'ganesha.log'

    def tail(self) -> str:
        """Return the end of its output and its log."""
        return super().tail() + (self.log.read_text(errors='replace')[-3000:] if self.log.exists() else '')
