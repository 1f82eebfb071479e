# SPDX-License-Identifier: Apache-2.0
"""The configuration of Samba's smbd as text, and what is read from it. Pure.

Whoever is let in works as root there, as over NFS: what a user may do is said by the rules of the share, not by the modes of
files. That is by ``admin users`` and not by ``force user``: with that one smbd, when it closes what is denied, would take
everybody for root, and close the sessions of those who are still let in, too.

Beside files smbd offers nothing. Its calls to ask who else there is would tell each user of every project the names of all.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

_GLOBAL = """# Written by manila_lite, which writes it anew when anything changes.
[global]
  server role = standalone server
  disable netbios = yes
  smb ports = {port}
  server min protocol = SMB2_10
  passdb backend = smbpasswd:{state}/private/smbpasswd
  private dir = {run}/private
  state directory = {run}
  cache directory = {run}
  lock directory = {run}
  pid directory = {run}
  ncalrpc dir = {run}/ncalrpc
  log file = {state}/samba.log
  max log size = 1000
  load printers = no
  printcap name = /dev/null
  disable spoolss = yes
  rpc start on demand helpers = no
  multicast dns register = no
  map to guest = never
  restrict anonymous = 2
  access based share enum = yes
  check password script = /bin/false
"""
#: With nobody in ``valid users`` everybody would be let in; root is none of the users, and so nobody.
_NOBODY = 'root'
_MARK = '# share '
_SECTION = _MARK + """{ident}
[{name}]
  path = {path}
  read only = no
  available = {available}
  valid users = {users}
  admin users = {users}
  read list = {readers}
"""
_VALUE = r'^  {} = (.*)$'
#: Sections that mean something else to Samba.
_RESERVED = frozenset({'global', 'homes', 'printers', 'print$', 'ipc$', 'admin$'})
_NAME = re.compile(r'[A-Za-z0-9_.-]+')
_LONGEST = 80


def main(state: Path, run: Path, port: int) -> str:
    """Return what does not depend on shares. Nothing of addresses: smbd listens on all that there are, also on later ones."""
    return _GLOBAL.format(state=state, run=run, port=port)


def whole(first: str, sections: Iterable[str]) -> str:
    """Return the file."""
    return ''.join((first, *sections))


def section(ident: str, name: str, path: Path, clients: Sequence[str]) -> str:
    """Return the section of a share that clients know by a name. ``clients`` are levels and users, as ``rw alice``."""
    levels = dict(client.split(' ', 1)[::-1] for client in clients)
    readers = [user for user, level in levels.items() if level == 'ro']
    return _SECTION.format(ident=ident, name=name, path=path, available='yes' if levels else 'no',
                           users=' '.join(levels) or _NOBODY, readers=' '.join(readers) or _NOBODY)


def objection(name: str) -> str:
    """Return why no share can have the name, or nothing."""
    if name.casefold() in _RESERVED or not _NAME.fullmatch(name):
        return 'the CIFS server would take it for something else'
    return f'clients know no share whose name has more than {_LONGEST} characters' if len(name) > _LONGEST else ''


def sections(text: str) -> dict[str, str]:
    """Return the sections of a file, by the ids of their shares."""
    parts = text.split(f'\n{_MARK}')[1:]
    return {part.partition('\n')[0]: f'{_MARK}{part.rstrip()}\n' for part in parts}


def name_of(text: str) -> str:
    """Return by what name clients know the share of a section; '' if the text is no section."""
    found = re.search(r'^\[([^]\n]+)\]$', text, re.MULTILINE)
    return found[1] if found else ''


def path_of(text: str) -> str:
    """Return what directory a section shares."""
    return _value(text, 'path')


def clients_of(text: str) -> list[str]:
    """Return whom a section lets in, and how, as ``section`` takes it."""
    if _value(text, 'available') != 'yes':
        return []
    readers = _value(text, 'read list').split()
    return [f'{"ro" if user in readers else "rw"} {user}' for user in _value(text, 'valid users').split()]


def _value(text: str, key: str) -> str:
    found = re.search(_VALUE.format(key), text, re.MULTILINE)
    return found[1] if found else ''
