# SPDX-License-Identifier: Apache-2.0
"""The gateways of an NFS cluster as Ceph runs them: each an NFS-Ganesha that reads its exports from a pool, and watches it."""

import socket
from collections.abc import Mapping
from pathlib import Path

from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.drivers.file_servers.ganesha_dbus import ExportManager
from manila_lite.tests.services.ceph import NFS_POOL, Ceph
from manila_lite.tests.services.daemon import Daemon, Missing, program

_CONF = """NFS_KRB5 {{ Active_krb5 = false; }}
NFS_CORE_PARAM {{ Plugins_Dir = "{plugins}"; NFS_Port = {port}; Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false;
  Enable_UDP = false; }}
NFSv4 {{ Minor_Versions = 0,1,2; Graceless = true; Lease_Lifetime = 20; RecoveryBackend = rados_ng;
  Only_Numeric_Owners = true; }}
MDCACHE {{ Dir_Chunk = 0; }}
RADOS_KV {{ ceph_conf = "{ceph_conf}"; userid = "{user}"; pool = "{pool}"; namespace = "{cluster}"; nodeid = "{node}"; }}
RADOS_URLS {{ ceph_conf = "{ceph_conf}"; userid = "{user}"; {watch}}}
%url {url}
"""


_BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={home}/socket</listen><auth>EXTERNAL</auth>
<policy user="root"><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>
"""
_PORT = 2049


class Bus(Daemon):
    """A private D-Bus, by which tests see what a gateway has in force. The service has no use for it."""

    PORTS = ()

    def need(self) -> None:
        """Need the program."""
        program('dbus-daemon')

    def prepare(self) -> None:
        """Write the configuration."""
        self.write('bus.conf', _BUS.format(home=self.home))

    def command(self) -> list[str]:
        """Return the command line."""
        return [program('dbus-daemon'), f'--config-file={self.home}/bus.conf', '--nofork', '--nopidfile']

    def answers(self) -> bool:
        """Say whether it accepts connections."""
        with socket.socket(socket.AF_UNIX) as line:
            return line.connect_ex(str(self.home / 'socket')) == 0


class NfsGateway(Daemon):
    """A gateway of the NFS cluster ``name``, in the network namespace ``netns``, or else at a free port.

    ``deaf``: it never hears of changes.
    """

    def __init__(self, ceph: Ceph, name: str, netns: str = '', *, deaf: bool = False):
        super().__init__()
        self._ceph = ceph
        self._name = name
        self._netns = netns
        self._deaf = deaf

    def need(self) -> None:
        """Need NFS-Ganesha with its part for CephFS."""
        program('ganesha.nfsd')
        if fsal.plugin() is None:
            raise Missing('nfs-ganesha-ceph is not installed (tools/setup-env --ceph does that)')

    def prepare(self) -> None:
        """Make its user at the cluster, and its bus."""
        self._bus = self.useFixture(Bus())
        self._user = f'nfs.{self._name}.{self._netns or "here"}'
        caps = 'mon', 'allow r', 'osd', f'allow rw pool={NFS_POOL} namespace={self._name}'
        key = self._ceph.ask('auth', 'get-or-create-key', f'client.{self._user}', *caps)['key']
        self._conf = self._ceph.client_conf(self._user, key)
        #: What it has in force, by its own account.
        self.manager = ExportManager(self._bus.home / 'socket')

    def command(self) -> list[str]:
        """Return the command line."""
        self.log.unlink(missing_ok=True)
        url = f'rados://{NFS_POOL}/{self._name}/conf-nfs.{self._name}'
        conf = self.write(
            'ganesha.conf',
            _CONF.format(
                plugins=fsal.plugin().parent,
                ceph_conf=self._conf,
                user=self._user,
                pool=NFS_POOL,
                cluster=self._name,
                node=self._netns or 'here',
                port=_PORT if self._netns else self.ports['port'],
                watch='' if self._deaf else f'watch_url = "{url}"; ',
                url=url,
            ),
        )
        inside = [program('nsenter'), f'--net=/run/netns/{self._netns}', '--'] if self._netns else []
        return [
            *inside,
            program('ganesha.nfsd'),
            '-F',
            '-f',
            str(conf),
            '-L',
            str(self.log),
            '-p',
            str(self.home / 'pid'),
            '-N',
            'NIV_EVENT',
        ]

    def environment(self) -> Mapping[str, str]:
        """Return where the cluster is, and the bus."""
        return {'CEPH_CONF': str(self._conf), 'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={self._bus.home}/socket'}

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
