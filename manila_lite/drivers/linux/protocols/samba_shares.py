# SPDX-License-Identifier: Apache-2.0
"""The shares of one smbd: each has a file with its section, and all sections together are smbd's configuration.

As with NFS, the file of a share that is not mounted is elsewhere ("held"). A fingerprint of the configuration is
written to a file once smbd and all its client processes have read that configuration.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from manila_lite import errors
from manila_lite.drivers.file_servers.ganesha_exports import Mirror, Seen, differences
from manila_lite.drivers.linux.protocols import samba_config
from manila_lite.drivers.linux.protocols.samba_users import replace

#: The name of a share, and whether all its sessions are to be closed, or only those that are denied now.
Closing = tuple[str, bool]
#: Makes a running smbd read its configuration, and close sessions.
Reload = Callable[[AbstractSet[Closing]], None]


class SmbShares:
    """The shares of one CIFS server. Safe for threads."""

    def __init__(
        self, state_dir: Path, first: Callable[[], str], reload: Reload, mirror: Mirror | None = None
    ):
        """Remember the state directory, and a function that returns the present part of the configuration before the shares.
        ``mirror`` is for a server that moves between machines.
        """
        self._mirror = mirror or Mirror()
        self._state_dir = state_dir
        self._first = first
        self._reload = reload
        self._served = state_dir / 'exports.d'
        self._held = state_dir / 'held'
        self._conf = state_dir / 'smb.conf'
        self._read = state_dir / 'read'
        self._lock = threading.RLock()

    # Present state ----------------------------------------------------------------------------

    def load(self) -> None:
        """Delete files that a power failure left incomplete."""
        for path in (self._served, self._held):
            for file in path.glob('*'):
                if file.suffix != '.conf' or self._section(file) is None:
                    file.unlink()

    def adopt(self) -> None:
        """Do nothing: smbd has no shares without files."""

    def _section(self, file: Path) -> str | None:
        """Return the section in a file; None if there is no file, or no valid section in it."""
        try:
            text = file.read_text(errors='replace')
        except FileNotFoundError:
            return None
        return (
            text
            if samba_config.sections(f'\n{text}') == {file.stem: text} and samba_config.name_of(text)
            else None
        )

    def served(self) -> list[str]:
        """Return the names of the shares that a starting smbd would serve."""
        return sorted(file.stem for file in self._served.glob('*.conf'))

    def _known(self, name: str) -> str:
        return (
            self._section(self._served / f'{name}.conf') or self._section(self._held / f'{name}.conf') or ''
        )

    def clients_of(self, name: str) -> list[str]:
        """Return the clients of the share, or those that it had when it was last served."""
        return samba_config.clients_of(self._known(name))

    def inspect(self, names: Sequence[str]) -> dict[str, Seen]:
        """Return the present state of each of these shares. A share is served if smbd has read the present
        configuration.
        """
        with self._lock:
            has = self._in_force() or {}
            return {
                name: self._seen(has.get(name), self._text(self._served / f'{name}.conf')) for name in names
            }

    def _seen(self, section: str | None, text: str | None) -> Seen:
        if section is None:
            return Seen(text=text)
        return Seen(samba_config.path_of(section), _pairs(samba_config.clients_of(section)), text)

    def _text(self, file: Path) -> str | None:
        try:
            return file.read_text(errors='replace')
        except FileNotFoundError:
            return None

    def _in_force(self) -> dict[str, str] | None:
        """Return the sections that smbd is known to have read; None if it may not have read all of them."""
        text = self._text(self._conf)
        is_read = text is not None and self._text(self._read) == _print(text)
        return samba_config.sections(text or '') if is_read else None

    def defects(
        self, name: str, path: Path, clients: Sequence[str], seen: Seen, mounted_as: str | None = None
    ) -> list[str]:
        """Return in words the differences between a share as it was seen and as ``put`` would make it."""
        wanted = samba_config.section(name, self._name(name, mounted_as), path, clients)
        return differences(seen, path, _pairs(clients), wanted, 'a CIFS server')

    def _name(self, name: str, wanted: str | None) -> str:
        """Return the name by which clients know the share: the wanted one, else the present one, else its own name."""
        return wanted or samba_config.name_of(self._known(name)) or name

    # Changes ----------------------------------------------------------------------------------

    def put(
        self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None
    ) -> Mapping[int, str]:
        """Share the directory with exactly these clients. Sessions of all others, and of those with fewer rights now,
        are closed.

        ``clients`` are levels and users. None is refused.

        :raises errors.Final: the share cannot have this name.
        """
        with self._lock:
            called = self._name(name, mounted_as)
            self._vet(name, called)
            text = samba_config.section(name, called, path, clients)
            for folder in (self._served, self._held):
                folder.mkdir(parents=True, exist_ok=True)
            replace(self._served / f'{name}.conf', text)
            (self._held / f'{name}.conf').unlink(missing_ok=True)
            self._apply(called, everybody=False)
            self._mirror.push(name, text)
        return {}

    def _vet(self, name: str, called: str) -> None:
        why = samba_config.objection(called)
        for other in self.served():
            if other != name and samba_config.name_of(self._known(other)).casefold() == called.casefold():
                why = 'another share has this name, and clients of CIFS ignore upper and lower case'
        if why:
            raise errors.Final(f'The share cannot be called {called}: {why}.')

    def suspend(self, name: str) -> None:
        """Keep a starting smbd from serving the share; its name and clients are remembered."""
        with self._lock:
            if (self._served / f'{name}.conf').exists():
                self._held.mkdir(parents=True, exist_ok=True)
                (self._served / f'{name}.conf').replace(self._held / f'{name}.conf')
                self._mirror.push(name, None)

    def withdraw(self, name: str) -> None:
        """Stop serving the share, and close its sessions; its name and clients are remembered."""
        with self._lock:
            self.suspend(name)
            if called := samba_config.name_of(self._known(name)):
                self._apply(called, everybody=True)

    def forget(self, name: str) -> None:
        """Stop serving the share, and delete its files."""
        with self._lock:
            self.withdraw(name)
            self.discard(name)

    def discard(self, name: str) -> None:
        """Delete the share's files. A running smbd is not changed."""
        with self._lock:
            for path in (self._held, self._served):
                (path / f'{name}.conf').unlink(missing_ok=True)
            self._mirror.push(name, None)

    def _apply(self, called: str, *, everybody: bool) -> None:
        """Put the present configuration in force, with the closings that an interrupted call left undone."""
        before = self._in_force()
        if self.write() and before is not None:
            return
        self._read.unlink(missing_ok=True)
        self._reload({(called, everybody)} | self._closings(before))
        self.note()

    def _closings(self, before: Mapping[str, str] | None) -> set[Closing]:
        """Return the sessions that the written configuration may deny, after ``before`` was in force."""
        now = samba_config.sections(self._text(self._conf) or '')
        held = {file.stem: self._section(file) or '' for file in self._held.glob('*.conf')}
        changed = (
            {**held, **now}
            if before is None
            else {name: text for name, text in before.items() if now.get(name) != text}
        )
        names = [
            (samba_config.name_of(text), samba_config.name_of(now.get(name, '')))
            for name, text in changed.items()
        ]
        return {(former, former != present) for former, present in names if former}

    def write(self) -> bool:
        """Write the present configuration. Returns whether it was unchanged."""
        with self._lock:
            files = [self._served / f'{name}.conf' for name in self.served()]
            text = samba_config.configuration(self._first(), filter(None, map(self._section, files)))
            if self._text(self._conf) == text:
                return True
            replace(self._conf, text)
            return False

    def note(self) -> None:
        """Record the fingerprint of the configuration, as read by smbd."""
        with self._lock:
            replace(self._read, _print(self._text(self._conf) or ''))


def _pairs(clients: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((user, level) for level, user in (client.split(' ', 1) for client in clients))


def _print(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
