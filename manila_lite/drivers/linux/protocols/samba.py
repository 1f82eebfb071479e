# SPDX-License-Identifier: Apache-2.0
"""One smbd: shares are added, changed and removed while clients work. It runs as long as it has shares.

smbd has a process for each client. A change is complete when each of them has read the configuration. A process that
does not confirm it in time is killed, and its client connects anew.
"""

import contextlib
import hashlib
import re
import shutil
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import psutil
from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.file_servers.connection_guard import ConnectionGuard
from manila_lite.drivers.file_servers.file_server import FileServer
from manila_lite.drivers.file_servers.ganesha_clients import Block
from manila_lite.drivers.file_servers.ganesha_exports import Mirror
from manila_lite.drivers.linux.protocols import membership, samba_config, samba_users
from manila_lite.drivers.linux.protocols.domain_users import DomainUsers
from manila_lite.drivers.linux.protocols.preloaded import SHARE_SIZE, Preloaded
from manila_lite.drivers.linux.protocols.samba_shares import Closing, SmbShares
from manila_lite.drivers.linux.protocols.winbind import Winbind
from manila_lite.host import programs
from manila_lite.host.commands import CommandFailed, run
from manila_lite.host.daemon import Daemon

LOG = log.getLogger(__name__)

_NOBODY = 'the backend has no list of users, and the share network of the share no security service of type active_directory'
_ANSWER_SECONDS = '10'
_END_SECONDS = 10.0
#: From so many client processes on, all are asked at once, which takes a second for any number.
_MANY = 16
_PONG = re.compile(r'^PONG from pid (\d+)$', re.MULTILINE)
#: Processes of smbd that serve no client.
_HOUSEKEEPERS = ('smbd-notifyd', 'smbd-cleanupd', 'notifyd', 'cleanupd')


class Samba(FileServer):
    """The CIFS server of one backend or share server. Safe for threads."""

    NAME = 'CIFS server'
    LOGS = ('smbd.out', 'samba.log')

    def __init__(
        self,
        state_dir: Path,
        home: Path,
        port: int,
        *,
        netns: str | None,
        connections: int,
        per_address: int,
        users: str | None = None,
        lacks: str = '',
        mirror: Mirror | None = None,
    ):
        """Remember the options. ``connections``: most connections, in all and ``per_address``. ``lacks`` is the reason why CIFS
        cannot be served here, or ''; ``mirror``: see ``SmbShares``.
        """
        super().__init__(state_dir, home, netns)
        self._port = port
        self._lacks = lacks
        self._connections = connections
        self._run = samba_config.run_place(state_dir)
        self._membership = membership.Membership(state_dir, netns)
        self._winbind = Winbind(state_dir, self._membership)
        self._guard = ConnectionGuard(state_dir, per_address)
        self._share_size = Preloaded(state_dir, SHARE_SIZE)
        self._server = Daemon(state_dir / 'smbd.json')
        self._has_users = bool(users)
        self._users = samba_users.Users(users, state_dir / 'private')
        self._domain_users = DomainUsers(state_dir / 'private' / 'names.json')
        self._change = threading.RLock()
        self._shares = SmbShares(state_dir, self._first, self._reload, mirror)
        self.exports = self._shares

    def blocks(self, rules: Iterable[values.AccessRule]) -> tuple[list[Block], dict[str, values.RuleResult]]:
        """Return levels and users, and a result for every rule. In a domain, users and groups are security identifiers."""
        if not (member := self._member):
            return self._users.blocks(rules)
        return self._domain_users.blocks(
            rules, member.realm, lambda name: self._winbind.sid(member.workgroup, name)
        )

    @property
    def _member(self) -> membership.Member | None:
        return self._membership.member

    def _first(self) -> str:
        """Return the configuration without shares."""
        role = self._membership.settings(self._member) if self._member else ''
        return samba_config.main(self._state_dir, self._run, self._port, self._connections, role)

    @property
    def lacks(self) -> str:
        """Return the reason why CIFS cannot be served here, or ''."""
        return self._lacks or ('' if self._has_users or self._member else _NOBODY)

    # Life -------------------------------------------------------------------------------------

    @property
    def daemons(self) -> Mapping[str, Daemon]:
        """Return smbd, and in a domain its winbindd."""
        return {**({'winbindd': self._winbind.daemon} if self._member else {}), 'smbd': self._server}

    @property
    def needed(self) -> bool:
        """Say whether the server has shares, and CIFS can be served here. In a domain it runs without shares, too: names in
        access rules are looked up before the first share is served.
        """
        return not self.lacks and (self._member is not None or bool(self.exports.served()))

    @property
    def _words(self) -> list[str]:
        return ['smbd', '--foreground', '--no-process-group', f'--configfile={self._state_dir}/smb.conf']

    @property
    def _start_key(self) -> str:
        return hashlib.sha256(
            f'{self._first()} {self._space} {self._lacks} {self._guard.start_key}'.encode()
        ).hexdigest()

    @property
    def fits(self) -> bool:
        """Say whether the server does not run, or was started with the present options in the present namespace."""
        return self._server.start_key == self._start_key or not (self.running or self.needed)

    def restart_if_dead(self) -> bool:
        """Bring the user list up to date, then see ``FileServer.restart_if_dead``."""
        if self.needed and not self._member:
            self._users.copy()
        return super().restart_if_dead()

    def _find(self) -> None:
        for daemon, words in ((self._server, self._words), (self._winbind.daemon, self._winbind.words)):
            with contextlib.suppress(OSError, ValueError):
                daemon.adopt(int((self._run / f'{words[0]}.pid').read_text()), words)

    def _spawn(self) -> None:
        self._run.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._run.chmod(0o700)
        (self._run / 'private').mkdir(mode=0o700, exist_ok=True)
        if not self._member:
            self._users.copy()
        self._shares.write()
        self._shares.note()
        for library in (self._guard, self._share_size):
            library.install()
        if self._member:
            self._winbind.start(self._start_key)
        self._server.start(
            self.inside(self._words), self._state_dir / 'smbd.out', start_key=self._start_key, env=self._env
        )

    @property
    def _env(self) -> dict[str, str]:
        users = self._winbind.env if self._member else samba_users.wrapped(self._state_dir / 'private')
        guard = self._guard.env
        preloaded = f'{users["LD_PRELOAD"]}:{guard["LD_PRELOAD"]}:{self._share_size.library}'
        return {**users, **guard, 'LD_PRELOAD': preloaded}

    def _stop(self) -> None:
        self._server.stop()
        self._winbind.daemon.stop()
        if not self._run.exists():
            return  # smbd was never started
        for process in self._others():
            # The processes outlive a killed smbd, and serve clients whose access was revoked.
            _end(process)
        if self._run.parent != self._state_dir:
            shutil.rmtree(self._run, ignore_errors=True)

    def _others(self) -> Iterable[psutil.Process]:
        """Return the processes that this smbd, or an earlier one of this directory, started."""
        return (
            process
            for program in (self._words[0], self._winbind.words[0])
            for process in programs.running(program, lambda words: self._words[-1] in words)
        )

    @property
    def _trouble(self) -> str:
        return f'Samba does not start (is port {self._port} in use?)'

    def _answers(self) -> bool:
        process = self._server.process()
        return process is not None and self._control(process.pid, 'ping')

    def _control(self, pid: int, *words: str, seconds: str = _ANSWER_SECONDS) -> bool:
        """Say whether a process of smbd accepted a message."""
        try:
            run('smbcontrol', '-s', f'{self._state_dir}/smb.conf', '-t', seconds, str(pid), *words)
        except CommandFailed as bad:
            LOG.debug('%s', bad)
            return False
        return True

    # Shares -----------------------------------------------------------------------------------

    def export(
        self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None
    ) -> Mapping[int, str]:
        """See ``FileServer.export``. The first share starts the server."""
        if self.lacks:
            raise errors.Final(f'CIFS is not served here: {self.lacks}.')
        with self._change:
            refused = super().export(name, path, clients, mounted_as)
            self.restart_if_dead()
        return refused

    def forget(self, name: str) -> None:
        """See ``FileServer.forget``. The last share stops the server."""
        with self._change:
            super().forget(name)
            with self._life:
                if not self.needed and self._server.record.exists():
                    self._stop()

    def _reload(self, closings: AbstractSet[Closing]) -> None:
        """Make all processes of smbd read the configuration, and close sessions.

        :raises CommandFailed: smbd does not confirm it.
        """
        process = self._server.process()
        if process is None:
            return
        self._wait(self._answers)
        # smbd answers messages in order, so it has passed the others on when it answers the ping.
        if not all(
            [
                self._control(process.pid, 'reload-config'),
                *(
                    self._control(process.pid, 'close-share' if everybody else 'close-denied-share', called)
                    for called, everybody in sorted(closings)
                ),
                self._control(process.pid, 'ping'),
            ]
        ):
            raise CommandFailed(f'the CIFS server does not answer; see {self._state_dir}/samba.log')
        with contextlib.suppress(psutil.NoSuchProcess):
            children = process.children()
            settled = self._answering() if len(children) >= _MANY else frozenset()
            for child in children:
                if child.pid not in settled:
                    self._settle(child)

    def _answering(self) -> Collection[int]:
        """Return the ids of the processes that answered within a second."""
        with contextlib.suppress(CommandFailed):
            said = run('smbcontrol', '-s', f'{self._state_dir}/smb.conf', '-t', '1', 'all', 'ping')
            return frozenset(map(int, _PONG.findall(said)))
        return frozenset()

    def _settle(self, child: psutil.Process) -> None:
        """Wait until a client's process has read its messages, or kill it. A process that is just ending does not
        answer.
        """
        end = time.monotonic() + _END_SECONDS
        with contextlib.suppress(psutil.NoSuchProcess):
            while child.name() not in _HOUSEKEEPERS and child.status() != psutil.STATUS_ZOMBIE:
                if self._control(child.pid, 'ping', seconds='1'):
                    return
                if time.monotonic() > end + _END_SECONDS:
                    raise CommandFailed(f'process {child.pid} of the CIFS server does not end')
                if time.monotonic() > end:
                    child.kill()


def _end(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()
        end = time.monotonic() + _END_SECONDS
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < end:
            time.sleep(0.02)
