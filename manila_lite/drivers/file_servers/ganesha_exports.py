# SPDX-License-Identifier: Apache-2.0
"""The exports of one NFS-Ganesha: each has a number and a file that a restarted server reads.

A file is moved to the server's folder only after the running server accepted all of it: one bad file would keep the
server from starting. The file of a share that is not mounted is elsewhere ("held"), because a server that starts then
would serve the empty directory below the mount point.
"""

import dataclasses
import os
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from oslo_log import log

from manila_lite import errors
from manila_lite.drivers.file_servers import ganesha_clients as blocks
from manila_lite.drivers.file_servers.ganesha_dbus import ExportManager
from manila_lite.drivers.file_servers.ganesha_fsal import Fsal
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)

_TEXT = """EXPORT {{
  Export_Id = {number}; Path = "{path}"; Pseudo = "{pseudo}"; Filesystem_Id = {number}.{number};
  Access_Type = None; Squash = No_Root_Squash; Protocols = 4; Transports = TCP; SecType = sys;
  {fsal}
{clients}}}
"""
#: The line of the first client, counted from 1.
_FIRST = _TEXT.partition('{clients}')[0].count('\n') + 1
_WHOLE = re.compile(
    r'EXPORT \{\n  Export_Id = (\d+); [^\n]*\n[^\n]*\n  (FSAL [^\n]*)\n((?:  CLIENT \{[^\n]*\}\n)*)\}\n'
)
_PSEUDO = re.compile(r'Pseudo = "([^"]*)"')
#: Folder of the files of exports that a server serves, in its own folder.
SERVED = 'exports.d'
#: Folder of the exports as clients see it, unless they mount one by another path.
_FOLDER = '/shares'

_COMPLAINT = re.compile(r':(\d+)\): ([^\n]*)')
#: Largest number of exports, and of one.
NUMBERS = 65535


@dataclasses.dataclass(frozen=True)
class Seen:
    """The present state of one export: its path and clients in the running server, and the file for a restarted one.

    ``path`` is None if the export is not served, and ``text`` if there is no file.
    """

    path: str | None = None
    clients: tuple[tuple[str, str], ...] = ()
    text: str | None = None


def differences(
    seen: Seen, path: Path, clients: Sequence[tuple[str, str]], text: str, server: str
) -> list[str]:
    """Return in words the differences from the wanted state: path, clients, and the file that ``server`` starts with."""
    repairs = []
    if seen.path != str(path):
        repairs.append('The share was not exported; it is again.')
    elif list(seen.clients) != list(clients):
        repairs.append('Other access rules were in force than there should be; those that should be are.')
    if seen.text is None:
        repairs.append(f'The file with the export for {server} that starts was missing; it is written again.')
    elif seen.text != text:
        repairs.append(f'The file with the export for {server} that starts was another; it is written again.')
    return repairs


class Mirror:
    """A copy of the files of exports at a place that other machines reach. This one keeps none."""

    def pull(self, path: Path) -> None:
        """Make the files in the folder those of the copy, if another machine may have changed them."""

    def push(self, name: str, text: str | None) -> None:
        """Change the text of an export in the copy; None deletes it."""


class Exports:
    """The exports of one server. Safe for threads, if no two change the same export at once."""

    def __init__(
        self,
        state_dir: Path,
        manager: ExportManager,
        fsal: Fsal,
        mirror: Mirror | None = None,
        most: int = NUMBERS,
    ):
        """Remember the folder of the server, and the largest number of exports. ``mirror`` is for a server that moves
        between machines.
        """
        self._served = state_dir / SERVED
        self._held = state_dir / 'held'
        self._drafts = state_dir / 'drafts'
        self._manager = manager
        self._fsal = fsal
        self._mirror = mirror or Mirror()
        self._most = most
        self._numbers: dict[str, int] = {}
        #: The FSAL blocks of exports that the server has, or will have.
        self.fsals: dict[str, str] = {}
        #: Exports whose file admits less than a server of an earlier run does.
        self._narrowed: set[str] = set()
        self._last = 0
        self._lock = threading.Lock()

    # Exports of an earlier run ----------------------------------------------------------------

    def load(self) -> None:
        """Load the exports of an earlier run, and delete files that a power failure left incomplete. Blocks of an earlier
        release that admit everybody for one address are removed.
        """
        self._make_folders()
        self._mirror.pull(self._served)
        numbers: dict[str, int] = {}
        fsals: dict[str, str] = {}
        for file in sorted([*self._served.iterdir(), *self._held.iterdir()]):
            match = _WHOLE.fullmatch(file.read_text(errors='replace'))
            number = int(match[1]) if match else 0
            if file.suffix != '.conf' or not 0 < number <= NUMBERS or number in numbers.values():
                file.unlink()
            elif match:
                numbers[file.stem], fsals[file.stem] = number, match[2]
                self._narrow(file, match[0])
        with self._lock:
            self._numbers, self.fsals = numbers, fsals
            self._last = max(numbers.values(), default=0)

    def _narrow(self, file: Path, text: str) -> None:
        narrow = blocks.without_everybody(text)
        if narrow != text:
            LOG.warning(
                'Export %s had a rule for the address 0.0.0.0 or ::, which admits everybody; it is removed',
                file.stem,
            )
            draft = self._drafts / file.name
            write_privately(draft, narrow)
            os.replace(draft, file)
            if file.parent == self._served:
                self._narrowed.add(file.stem)
                self._mirror.push(file.stem, narrow)

    def _make_folders(self) -> None:
        for path in (self._held, self._drafts, self._served):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def adopt(self) -> None:
        """Keep the numbers of exports that the server has, but whose files are lost. Those that cannot be told apart are
        not served until they are made again. Narrow those whose files were narrowed.

        :raises CommandFailed: the server does not do it.
        """
        with self._lock:
            for number, path in self._manager.shown().items():
                name = self._fsal.name_of(path)
                if number and name:
                    self._numbers[name] = number
                elif number and number not in self._numbers.values():
                    self._manager.call('RemoveExport', 'q', [number])
            for name in sorted(self._narrowed):
                self._update(name, self._numbers[name])

    def _update(self, name: str, number: int) -> None:
        if self._manager.displayed([number]) and (
            said := self._manager.apply('UpdateExport', self._served / f'{name}.conf', number)
        ):
            raise CommandFailed(f'UpdateExport {name}: {said}')
        self._narrowed.discard(name)

    def served(self) -> list[str]:
        """Return the names of the exports that a starting server would serve."""
        return sorted(file.stem for file in self._served.glob('*.conf'))

    def clients_of(self, name: str) -> list[str]:
        """Return the clients of the export, or those that it had when it was last served."""
        match = self._known(name)
        return match[3].splitlines(keepends=True) if match else []

    def _known(self, name: str) -> re.Match[str] | None:
        for path in (self._served, self._held):
            file = path / f'{name}.conf'
            if file.exists() and (match := _WHOLE.fullmatch(file.read_text())):
                return match
        return None

    def _pseudo(self, name: str, wanted: str | None) -> str:
        """Return the path by which clients mount the export: the wanted one, else the present one, else by its own name."""
        known = None if wanted else self._known(name)
        match = _PSEUDO.search(known[0]) if known else None
        return match[1] if match else os.path.join(_FOLDER, wanted or name)

    def inspect(self, names: Sequence[str]) -> dict[str, Seen]:
        """Return the present state of each of these exports, all from one connection to the server.

        :raises CommandFailed: the server does not answer.
        """
        with self._lock:
            numbers = {name: self._numbers[name] for name in names if name in self._numbers}
        displayed = self._manager.displayed(list(numbers.values()))
        nothing: tuple[None, tuple[()]] = (None, ())
        seen = {name: displayed.get(numbers.get(name, 0), nothing) for name in names}
        return {
            name: Seen(path, tuple(map(blocks.displayed, entries)), self._text(name))
            for name, (path, entries) in seen.items()
        }

    def _text(self, name: str) -> str | None:
        try:
            return (self._served / f'{name}.conf').read_text(errors='replace')
        except FileNotFoundError:
            return None

    def defects(
        self, name: str, path: Path, clients: Sequence[str], seen: Seen, mounted_as: str | None = None
    ) -> list[str]:
        """Return in words the differences between an export as it was seen and as ``put`` would make it."""
        text = ''.join(clients)
        wanted = _TEXT.format(
            number=self._number(name),
            pseudo=self._pseudo(name, mounted_as),
            path=path,
            fsal=self._fsal.block(name),
            clients=text,
        )
        return differences(seen, path, blocks.read(text), wanted, 'an NFS server')

    # Changes ----------------------------------------------------------------------------------

    def put(
        self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None
    ) -> Mapping[int, str]:
        """Export the directory to exactly these clients, also for open sessions.

        Clients mount it as ``/shares/mounted_as``, or by another path if ``mounted_as`` is absolute; without that, by its
        present name or else its own name. ``clients`` are CLIENT blocks of one line each. Returns the blocks that the
        server refuses, with its reasons, by their position; they grant nothing.

        :raises CommandFailed: the server refuses the export as a whole; the export is unchanged.
        """
        self._make_folders()
        number, pseudo, fsal = self._number(name), self._pseudo(name, mounted_as), self._fsal.block(name)
        self._drop_other(name, number, fsal)
        draft = self._drafts / f'{name}.conf'
        refused: dict[int, str] = {}
        while True:
            kept = [position for position in range(len(clients)) if position not in refused]
            text = _TEXT.format(
                number=number,
                pseudo=pseudo,
                path=path,
                fsal=fsal,
                clients=''.join(clients[position] for position in kept),
            )
            write_privately(draft, text)
            member = 'UpdateExport' if self._manager.displayed([number]) else 'AddExport'
            said = self._manager.apply(member, draft, number)
            if not said:
                break
            blamed = {
                kept[int(line) - _FIRST]: why
                for line, why in reversed(_COMPLAINT.findall(said))
                if 0 <= int(line) - _FIRST < len(kept)
            }
            if not blamed:
                raise CommandFailed(f'{member} {name}: {said}')
            refused.update(blamed)
        os.replace(draft, self._served / f'{name}.conf')
        (self._held / f'{name}.conf').unlink(missing_ok=True)
        self._mirror.push(name, text)
        return refused

    def _drop_other(self, name: str, number: int, fsal: str) -> None:
        """Stop serving the export by other means, such as another key: an update would not change them."""
        if self.fsals.get(name, fsal) != fsal and self._manager.displayed([number]):
            self._manager.call('RemoveExport', 'q', [number])
        self.fsals[name] = fsal

    def suspend(self, name: str) -> None:
        """Keep a starting server from serving the export. Its number and clients are remembered."""
        if (self._served / f'{name}.conf').exists():
            os.replace(self._served / f'{name}.conf', self._held / f'{name}.conf')
            self._mirror.push(name, None)

    def withdraw(self, name: str) -> None:
        """Stop serving the export, so that it can be unmounted. Its number and clients are remembered."""
        self.suspend(name)
        with self._lock:
            number = self._numbers.get(name)
        if number is not None and self._manager.displayed([number]):
            self._manager.call('RemoveExport', 'q', [number])

    def forget(self, name: str) -> None:
        """Stop serving the export, and delete its files and number."""
        self.withdraw(name)
        self.discard(name)

    def discard(self, name: str) -> None:
        """Delete the export's files and number. A running server is not changed."""
        for path in (self._held, self._drafts, self._served):
            (path / f'{name}.conf').unlink(missing_ok=True)
        self._mirror.push(name, None)
        with self._lock:
            self._numbers.pop(name, None)
            self.fsals.pop(name, None)

    def vet_room(self, name: str) -> None:
        """Check that the server can have this export.

        :raises errors.Final: it cannot, because it has as many exports as it may have.
        """
        if name not in self._numbers and len(self._numbers) >= self._most:
            raise errors.Final(f'The NFS server cannot have more than {self._most} exports.')

    def _number(self, name: str) -> int:
        with self._lock:
            if name not in self._numbers:
                self.vet_room(name)
                self._numbers[name] = self._last = self._unused()
            return self._numbers[name]

    def _unused(self) -> int:
        """Return a free number. The number of a deleted share is used last, as clients may still hold its files."""
        taken = set(self._numbers.values())
        return next(
            number for step in range(NUMBERS) if (number := (self._last + step) % NUMBERS + 1) not in taken
        )


def write_privately(file: Path, text: str) -> None:
    """Replace the file by one that only its owner can read: exports may name keys."""
    file.unlink(missing_ok=True)
    with open(file, 'w', opener=lambda path, flags: os.open(path, flags | os.O_EXCL, 0o600)) as out:
        out.write(text)
