# SPDX-License-Identifier: Apache-2.0
"""One NFS-Ganesha and its private D-Bus: exports come, change and go while clients work; it is never restarted.

Every export has a file, written before Ganesha is told, so that a restarted Ganesha serves the same.
"""

import asyncio
import hashlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbus_fast import BusType, Message, MessageType
from dbus_fast.aio import MessageBus

from manila_lite import errors
from manila_lite.drivers.linux.daemon import Daemon
from manila_lite.drivers.linux.run import CommandFailed

_CONF = """NFS_KRB5 {{ Active_krb5 = false; }}
NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = {port}; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }}
NFSv4 {{ Minor_Versions = 0,1,2; Graceless = {graceless}; Lease_Lifetime = 20; RecoveryBackend = fs;
  RecoveryRoot = "{state}/recov"; Only_Numeric_Owners = true; }}
LOG {{ Default_Log_Level = EVENT; }}
EXPORT_DEFAULTS {{ Protocols = 4; Transports = TCP; SecType = sys; Squash = No_Root_Squash; Access_Type = None; }}
%dir "{state}/exports.d"
"""

_EXPORT = """EXPORT {{
  Export_Id = {number}; Path = "{path}"; Pseudo = "{pseudo}"; Filesystem_Id = {number}.{number};
  Access_Type = None; Squash = No_Root_Squash; Protocols = 4; Transports = TCP; SecType = sys;
  FSAL {{ Name = VFS; }}
{clients}}}
"""

_BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy user="root"><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>
"""

_NUMBER = re.compile(r'Export_Id = (\d+);')
#: The answer to an update in which nothing was dropped. Others may say "updated" too.
_CLEAN_UPDATE = '1 exports updated'
_READY_SECONDS = 20.0
_CALL_SECONDS = 15.0
#: A Unix socket's path may not be longer.
_SOCKET_LENGTH = 100


class Ganesha:
    """The NFS server of one backend. Safe for threads."""

    def __init__(self, state: Path, port: int, *, netns: str | None, graceless: bool):
        self._state = state
        self._port = port
        self._netns = netns
        self._graceless = graceless
        self._server = Daemon(state / 'ganesha.json')
        self._bus = Daemon(state / 'bus.json')
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    # Life -------------------------------------------------------------------------------------

    @property
    def _socket(self) -> Path:
        path = self._state / 'bus'
        if len(str(path)) <= _SOCKET_LENGTH:
            return path
        name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f'manila_lite-{name}'

    def prepare(self) -> None:
        """The configuration is written and the exports of an earlier run are known."""
        for name in ('exports.d', 'recov'):
            (self._state / name).mkdir(parents=True, exist_ok=True)
        _write(self._state / 'ganesha.conf', _CONF.format(
            port=self._port, graceless=str(self._graceless).lower(), state=self._state))
        _write(self._state / 'bus.conf', _BUS.format(socket=self._socket))
        for file in (self._state / 'exports.d').glob('*.conf'):
            if found := _NUMBER.search(file.read_text()):
                self._numbers[file.stem] = int(found[1])

    def known(self) -> list[str]:
        """Return the names of the exports that have a file."""
        return sorted(self._numbers)

    @property
    def running(self) -> bool:
        """Say whether the server of this state directory runs, whoever started it."""
        return self._server.process() is not None and self._bus.process() is not None

    def start(self) -> None:
        """The server answers: the one that ran before if it still does, else a new one.

        :raises errors.Final: it does not come up; with the end of its log.
        """
        if not self.running:
            self._server.stop()
            self._bus.stop()
            self._socket.unlink(missing_ok=True)
            self._bus.start(['dbus-daemon', f'--config-file={self._state}/bus.conf', '--nofork', '--nopidfile'],
                            self._state / 'bus.log')
            self._wait(self._socket.exists)
            words = ['ganesha.nfsd', '-F', '-f', f'{self._state}/ganesha.conf', '-L', f'{self._state}/ganesha.log',
                     '-p', f'{self._state}/ganesha.pid', '-N', 'NIV_EVENT']
            if self._netns:
                # Not "ip netns exec": its private mount namespace would hide shares that are mounted later.
                words = ['nsenter', f'--net=/run/netns/{self._netns}', *words]
            self._server.start(words, self._state / 'ganesha.out', {
                'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={self._socket}'})
        self._wait(self._answers)

    def _wait(self, ready: Any) -> None:
        end = time.monotonic() + _READY_SECONDS
        while not ready():
            died = self._server.process() is None and (self._state / 'ganesha.json').exists()
            if time.monotonic() > end or died:
                log = self._state / 'ganesha.log'
                said = '\n'.join(log.read_text(errors='replace').splitlines()[-5:]) if log.exists() else 'it wrote no log'
                raise errors.Final(f'NFS-Ganesha does not come up (is port {self._port} in use?): {said}')
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            self._call('ShowExports')
        except (OSError, CommandFailed, TimeoutError, EOFError):
            return False
        return True

    def stop(self) -> None:
        """Server and bus have ended."""
        self._server.stop()
        self._bus.stop()
        self._socket.unlink(missing_ok=True)

    # Exports ----------------------------------------------------------------------------------

    def _file(self, name: str) -> Path:
        return self._state / 'exports.d' / f'{name}.conf'

    def export(self, name: str, path: Path, clients: str) -> None:
        """The directory is exported as ``/shares/name`` to exactly these clients, also for open sessions.

        :raises CommandFailed: Ganesha did not take it whole.
        """
        number = self._number(name)
        file = self._file(name)
        _write(file, _EXPORT.format(number=number, path=path, pseudo=f'/shares/{name}', clients=clients))
        selector = f'EXPORT(Export_Id={number})'
        if number in self._shown():
            said = str(self._call('UpdateExport', 'ss', [str(file), selector]))
            if said.strip() != _CLEAN_UPDATE:
                raise CommandFailed(f'UpdateExport of {name}: {said}')
        else:
            self._call('AddExport', 'ss', [str(file), selector])

    def clients_of(self, name: str) -> str | None:
        """Return the CLIENT blocks that the export has, or nothing if there is no export."""
        if not self._file(name).exists():
            return None
        return ''.join(line for line in self._file(name).read_text().splitlines(keepends=True) if 'CLIENT' in line)

    def withdraw(self, name: str, *, forget: bool) -> None:
        """The share is not exported and can be unmounted; with ``forget`` its file is gone too."""
        with self._lock:
            number = self._numbers.get(name)
        if number is not None and number in self._shown():
            self._call('RemoveExport', 'q', [number])
        if forget:
            self._file(name).unlink(missing_ok=True)
            with self._lock:
                self._numbers.pop(name, None)

    def _number(self, name: str) -> int:
        with self._lock:
            if name not in self._numbers:
                taken = set(self._numbers.values())
                self._numbers[name] = next(number for number in range(1, 65536) if number not in taken)
            return self._numbers[name]

    def _shown(self) -> set[int]:
        """Return the numbers of the exports that Ganesha serves."""
        return {int(entry[0]) for entry in self._call('ShowExports', position=1)}

    # D-Bus ------------------------------------------------------------------------------------

    def _call(self, member: str, signature: str = '', body: Sequence[Any] = (), *, position: int = 0) -> Any:
        """Call the export manager; returns the value at a position of its answer."""
        async def call() -> Any:
            bus = await MessageBus(f'unix:path={self._socket}', BusType.SYSTEM).connect()
            try:
                return await bus.call(Message(
                    destination='org.ganesha.nfsd', path='/org/ganesha/nfsd/ExportMgr', member=member,
                    interface='org.ganesha.nfsd.exportmgr', signature=signature, body=list(body)))
            finally:
                bus.disconnect()

        reply = asyncio.run(asyncio.wait_for(call(), _CALL_SECONDS))
        if reply.message_type is MessageType.ERROR:
            raise CommandFailed(f'{member}: {reply.error_name}: {" ".join(str(part) for part in reply.body)}')
        return reply.body[position] if len(reply.body) > position else ()


def _write(path: Path, text: str) -> None:
    """The file holds the text; a reader sees the old text or the new one."""
    draft = path.with_suffix('.new')
    draft.write_text(text)
    os.replace(draft, path)
