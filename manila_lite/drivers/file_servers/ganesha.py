# SPDX-License-Identifier: Apache-2.0
"""One NFS-Ganesha with its private D-Bus: exports are added, changed and removed while clients work."""

import hashlib
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.file_servers import ganesha_clients
from manila_lite.drivers.file_servers.file_server import FileServer
from manila_lite.drivers.file_servers.ganesha_clients import Block
from manila_lite.drivers.file_servers.ganesha_dbus import ExportManager
from manila_lite.drivers.file_servers.ganesha_exports import NUMBERS, Exports, Mirror
from manila_lite.drivers.file_servers.ganesha_fsal import Fsal
from manila_lite.host.commands import CommandFailed
from manila_lite.host.daemon import Daemon

_CONF = """NFS_KRB5 {{ Active_krb5 = false; }}
NFS_CORE_PARAM {{ Plugins_Dir = "{plugins}"; Protocols = 4; NFS_Port = {port}; Enable_NLM = false; Enable_RQUOTA = false;
  Enable_UDP = false; RPC_Max_Connections = 10000; }}
NFSv4 {{ Minor_Versions = 0,1,2; Graceless = {graceless}; Grace_Period = {grace}; Lease_Lifetime = 20;
  {recovery} Only_Numeric_Owners = true; }}
LOG {{ Default_Log_Level = EVENT; }}
EXPORT_DEFAULTS {{ Protocols = 4; Transports = TCP; SecType = sys; Squash = No_Root_Squash; Access_Type = None; {defaults}}}
{more}%dir "{state}/exports.d"
"""

_BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy user="root"><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>
"""

#: Longest path of the Unix socket.
_SOCKET_LENGTH = 100


class Ganesha(FileServer):
    """The NFS server of one backend or share server. Safe for threads."""

    NAME = 'NFS server'
    LOGS = ('bus.log', 'ganesha.out', 'ganesha.log')
    exports: Exports

    def __init__(
        self,
        state_dir: Path,
        port: int,
        fsal: Fsal,
        *,
        netns: str | None,
        graceless: bool,
        grace: int,
        lacks: str = '',
        mirror: Mirror | None = None,
        most: int = NUMBERS,
        patience: float = 0.0,
    ):
        """Remember the options. ``lacks`` is the reason why NFS cannot be served here, or ''; ``mirror`` and ``most``:
        see ``Exports``; ``patience``: see ``FileServer``.
        """
        super().__init__(state_dir, state_dir, netns)
        self.fsal = fsal
        self.patience = patience
        self._lacks = lacks
        self._port = port
        self._socket = _socket(state_dir)
        self._conf = _CONF.format(
            port=port,
            graceless=str(graceless).lower(),
            grace=grace,
            state=state_dir,
            plugins=fsal.plugins,
            recovery=fsal.recovery(state_dir),
            defaults=fsal.defaults,
            more=fsal.conf,
        )
        self._server = Daemon(state_dir / 'ganesha.json')
        self._bus = Daemon(state_dir / 'bus.json')
        self._manager = ExportManager(self._socket)
        self.exports = Exports(state_dir, self._manager, fsal, mirror, most)

    def blocks(self, rules: Iterable[values.AccessRule]) -> tuple[list[Block], dict[str, values.RuleResult]]:
        return ganesha_clients.blocks(rules)

    # Life -------------------------------------------------------------------------------------

    @property
    def daemons(self) -> Mapping[str, Daemon]:
        return {'dbus-daemon': self._bus, 'ganesha.nfsd': self._server}

    @property
    def _bus_words(self) -> list[str]:
        return ['dbus-daemon', f'--config-file={self._state_dir}/bus.conf', '--nofork', '--nopidfile']

    @property
    def _server_words(self) -> list[str]:
        return [
            'ganesha.nfsd',
            '-F',
            '-f',
            f'{self._state_dir}/ganesha.conf',
            '-L',
            f'{self._state_dir}/ganesha.log',
            '-p',
            f'{self._state_dir}/ganesha.pid',
            '-N',
            'NIV_EVENT',
        ]

    @property
    def _start_key(self) -> str:
        """A hash of the present options, which tells whether a running server was started with them."""
        return hashlib.sha256(f'{self._conf} {self._space} {self._socket}'.encode()).hexdigest()

    @property
    def needed(self) -> bool:
        return not self._lacks

    @property
    def fits(self) -> bool:
        return self._server.start_key == self._start_key if self.needed else not self.running

    def _find(self) -> None:
        self._bus.find(self._bus_words)
        self._server.find(self._server_words)

    def _stop(self) -> None:
        self._server.stop()
        self._bus.stop()
        self._socket.unlink(missing_ok=True)
        if self._socket.parent != self._state_dir and self._socket.parent.exists():
            self._socket.parent.rmdir()

    def _spawn(self) -> None:
        (self._state_dir / 'recov').mkdir(parents=True, exist_ok=True)
        self.fsal.install()
        if self._socket.parent != self._state_dir:
            self._socket.parent.mkdir(mode=0o700, exist_ok=True)
            self._socket.parent.chmod(0o700)
        (self._state_dir / 'ganesha.conf').write_text(self._conf)
        (self._state_dir / 'bus.conf').write_text(_BUS.format(socket=self._socket))
        self._bus.start(self._bus_words, self._state_dir / 'bus.log', start_key=self._start_key, env={})
        self._wait(self._is_open)  # NFS-Ganesha connects to the bus once, and never again if that is refused
        self._server.start(
            self.inside(self.fsal.wrap(self._server_words)),
            self._state_dir / 'ganesha.out',
            start_key=self._start_key,
            env={'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={self._socket}', **self.fsal.env},
        )

    def _is_open(self) -> bool:
        """Say whether the bus accepts connections."""
        with socket.socket(socket.AF_UNIX) as line:
            return line.connect_ex(str(self._socket)) == 0

    @property
    def _trouble(self) -> str:
        return f'NFS-Ganesha does not start (is port {self._port} in use?)'

    def _answers(self) -> bool:
        try:
            self._manager.shown()
        except CommandFailed:
            return False
        return True

    def _vet(self) -> None:
        if any(self._manager.shown()) and not self.fsal.safe:
            self._stop()
            raise CommandFailed(self.fsal.UNSAFE)

    def export(
        self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None
    ) -> Mapping[int, str]:
        """See ``Exports.put``.

        :raises errors.Final: NFS cannot be served here.
        :raises CommandFailed: clients could leave the export, so it is withdrawn.
        """
        if self._lacks:
            raise errors.Final(f'NFS is not served here: {self._lacks}.')
        refused = super().export(name, path, clients, mounted_as)
        if not self.fsal.safe:
            self.exports.withdraw(name)
            raise CommandFailed(self.fsal.UNSAFE)
        return refused

    def withdraw(self, name: str) -> None:
        if self.needed:
            super().withdraw(name)
        else:
            self.exports.suspend(name)

    def forget(self, name: str) -> None:
        if self.needed:
            super().forget(name)
        else:
            self.exports.discard(name)


def _socket(state_dir: Path) -> Path:
    path = state_dir / 'bus'
    if len(os.fsencode(path)) <= _SOCKET_LENGTH:
        return path
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return Path('/run', f'manila_lite-nfs-{name}', 'bus')
