# SPDX-License-Identifier: Apache-2.0
"""One NFS-Ganesha and its private D-Bus: exports come, change and go while clients work.

Both outlive the share manager. They are started anew only if they died, or at ``start`` if their options
were changed. Under systemd that needs ``KillMode=process`` in the share manager's unit.
"""

import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oslo_log import log

from manila_lite.drivers.linux import halting, ip
from manila_lite.drivers.linux.daemon import Daemon
from manila_lite.drivers.linux.exportmgr import ExportManager
from manila_lite.drivers.linux.exports import Exports
from manila_lite.drivers.linux.run import CommandFailed

LOG = log.getLogger(__name__)

_CONF = """NFS_KRB5 {{ Active_krb5 = false; }}
NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = {port}; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }}
NFSv4 {{ Minor_Versions = 0,1,2; Graceless = {graceless}; Grace_Period = {grace}; Lease_Lifetime = 20;
  RecoveryBackend = fs; RecoveryRoot = "{state}/recov"; Only_Numeric_Owners = true; }}
LOG {{ Default_Log_Level = EVENT; }}
EXPORT_DEFAULTS {{ Protocols = 4; Transports = TCP; SecType = sys; Squash = No_Root_Squash; Access_Type = None; }}
%dir "{state}/exports.d"
"""

_BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy user="root"><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>
"""

_READY_SECONDS = 20.0
#: A Unix socket's path may not be longer.
_SOCKET_LENGTH = 100


class Ganesha:
    """The NFS server of one backend or share server. Safe for threads."""

    def __init__(self, state: Path, port: int, *, netns: str | None, graceless: bool, grace: int):
        self._state = state
        self._port = port
        self._netns = netns
        self._socket = _socket(state)
        self._conf = _CONF.format(port=port, graceless=str(graceless).lower(), grace=grace, state=state)
        self._server = Daemon(state / 'ganesha.json')
        self._bus = Daemon(state / 'bus.json')
        self._manager = ExportManager(self._socket)
        self._life = threading.Lock()
        self._stopped = False
        self._remount: Callable[[], None] = lambda: None
        self.exports = Exports(state, self._manager)

    # Life -------------------------------------------------------------------------------------

    @property
    def _bus_words(self) -> list[str]:
        return ['dbus-daemon', f'--config-file={self._state}/bus.conf', '--nofork', '--nopidfile']

    @property
    def _server_words(self) -> list[str]:
        return ['ganesha.nfsd', '-F', '-f', f'{self._state}/ganesha.conf', '-L', f'{self._state}/ganesha.log',
                '-p', f'{self._state}/ganesha.pid', '-N', 'NIV_EVENT']

    @property
    def _mark(self) -> str:
        """What tells whether a running server was started with the options of now."""
        place = f'{self._netns} {ip.identity(self._netns)}' if self._netns else ''
        return hashlib.sha256(f'{self._conf} {place} {self._socket}'.encode()).hexdigest()

    @property
    def fits(self) -> bool:
        """Say whether the server, if it runs, was started with the options of now, in the namespace of now."""
        return self._server.mark == self._mark

    @property
    def running(self) -> bool:
        """Say whether the server of this state directory runs, whoever started it."""
        return self._server.process() is not None and self._bus.process() is not None

    def start(self, remount: Callable[[], None], *, even_if_stopped: bool = True) -> None:
        """The server answers: the one that ran before if it still does, else a new one.

        ``remount`` is called while no server runs: what a new one will export must be mounted by then.

        :raises CommandFailed: it does not come up; with the end of its log. Or it was stopped on purpose, and shall stay so.
        """
        with self._life:
            if self._stopped and not even_if_stopped:
                raise CommandFailed('the NFS server was stopped')
            self._stopped = False
            self._remount = remount
            self._find()
            self.exports.load()
            if self.running and not self.fits:
                LOG.warning('The options of the NFS server were changed; it is started anew')
                self._stop()
            if not self.running:
                self._stop()    # one of the two alone is of no use
                remount()
                self._launch()
            self._wait(self._answers)
            self.exports.adopt()

    def _find(self) -> None:
        self._bus.find(self._bus_words)
        self._server.find(self._server_words)

    def awake(self) -> bool:
        """The server runs; one that died is started anew with the exports it had. Says whether it died.

        :raises CommandFailed: it does not come up; with the end of its log. Or it was stopped on purpose.
        """
        return not self.running and self._revive()

    def _revive(self) -> bool:
        with self._life:
            if self._stopped:
                raise CommandFailed('the NFS server was stopped')
            self._find()
            if self.running:
                return False
            LOG.error('The NFS server died; it is started anew. See %s/ganesha.log', self._state)
            self._stop()
            self._remount()
            self._launch()
            self._wait(self._answers)
            return True

    def stop(self) -> None:
        """Server and bus have ended, and stay so until ``start``."""
        with self._life:
            self._stopped = True
            self._find()
            self._stop()

    def _stop(self) -> None:
        self._server.stop()
        self._bus.stop()
        self._socket.unlink(missing_ok=True)

    def _launch(self) -> None:
        with halting.alone(self._state):
            if halting.by(self._state):
                raise CommandFailed('the NFS server has moved away')
            self._spawn()

    def _spawn(self) -> None:
        (self._state / 'recov').mkdir(parents=True, exist_ok=True)
        (self._state / 'ganesha.conf').write_text(self._conf)
        (self._state / 'bus.conf').write_text(_BUS.format(socket=self._socket))
        self._bus.start(self._bus_words, self._state / 'bus.log', mark=self._mark, env={})
        self._wait(self._socket.exists)
        words = self._server_words
        if self._netns:
            # Not "ip netns exec": its private mount namespace would hide shares that are mounted later.
            words = ['nsenter', f'--net=/run/netns/{self._netns}', *words]
        self._server.start(words, self._state / 'ganesha.out', mark=self._mark,
                           env={'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={self._socket}'})

    def _wait(self, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + _READY_SECONDS
        while not ready():
            dead = [name for name, daemon in (('dbus-daemon', self._bus), ('ganesha.nfsd', self._server))
                    if daemon.record.exists() and daemon.process() is None]
            if dead or time.monotonic() > end:
                raise CommandFailed(f'NFS-Ganesha does not come up (is port {self._port} in use?): {self._last_words(dead)}')
            time.sleep(0.02)

    def _last_words(self, dead: Sequence[str]) -> str:
        said = f'{", ".join(dead)} ended' if dead else 'it does not answer'
        for name in ('bus.log', 'ganesha.out', 'ganesha.log'):
            file = self._state / name
            if file.exists() and (text := file.read_text(errors='replace').strip()):
                said += f'; {name}: ' + ' | '.join(text.splitlines()[-3:])
        return said

    def _answers(self) -> bool:
        try:
            self._manager.shown()
        except CommandFailed:
            return False
        return True

    # Exports ----------------------------------------------------------------------------------

    def export(self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None) -> Mapping[int, str]:
        """See ``Exports.put``."""
        self.awake()
        return self.exports.put(name, path, clients, mounted_as)

    def withdraw(self, name: str) -> None:
        """See ``Exports.withdraw``."""
        self.awake()
        self.exports.withdraw(name)

    def forget(self, name: str) -> None:
        """See ``Exports.forget``."""
        self.awake()
        self.exports.forget(name)

    def _call(self, member: str, signature: str = '', body: Sequence[Any] = (), *, position: int = 0) -> Any:
        return self._manager.call(member, signature, body, position=position)


def _socket(state: Path) -> Path:
    path = state / 'bus'
    if len(os.fsencode(path)) <= _SOCKET_LENGTH:
        return path
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f'manila_lite-{name}'
