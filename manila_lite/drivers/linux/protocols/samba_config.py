# SPDX-License-Identifier: Apache-2.0
"""The configuration of Samba's smbd as text: written and read. Pure.

Every user with access works as root, as over NFS: the rules of the share decide about the access, not the modes of
files. That is done by ``admin users`` and not by ``force user``. With the latter, smbd would take every user for root
when it closes denied sessions, and would also close sessions of users who still have access.

smbd offers files only. Its other calls could tell each user the names of the users of all projects.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

_GLOBAL = """# Written by manila_lite, which writes it anew when anything changes.
[global]
{role}  disable netbios = yes
  smb ports = {port}
  server min protocol = SMB2_10
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
  max smbd processes = {connections}
  deadtime = {idle}
"""
_STANDALONE = """  server role = standalone server
  passdb backend = smbpasswd:{state}/private/smbpasswd
  private dir = {run}/private
  state directory = {run}
"""
#: Ids of users come from the domain alone, so that they stay the same. Those of trusted domains would not, and names could be
#: there twice. The password of the computer is below ``private``, and outlives a reboot.
_MEMBER = """  server role = member server
  security = ads
  realm = {realm}
  workgroup = {workgroup}
  netbios name = {computer}
{controller}  passdb backend = tdbsam:{state}/private/passdb.tdb
  private dir = {state}/private
  state directory = {run}
  winbindd socket directory = {run}/winbindd
  include system krb5 conf = no
  allow trusted domains = no
  idmap config * : backend = tdb
  idmap config * : range = 1048576-1058575
  idmap config {workgroup} : backend = rid
  idmap config {workgroup} : range = 2000000-1999999999
"""
#: Unix sockets are below this path, and their paths may not be longer than some hundred characters.
_RUN_LENGTH = 70
#: Minutes after which a connection ends that has no open file and does nothing. Clients then connect anew without notice.
_IDLE_MINUTES = 15
#: An empty ``valid users`` would grant access to all users. root is never a user here, so it stands for none.
NOBODY = 'root'
_MARK = '# share '
_SECTION = (
    _MARK
    + """{resource_id}
[{name}]
  path = {path}
  read only = no
  available = {available}
  valid users = {users}
  admin users = {users}
  read list = {readers}
"""
)
_VALUE = r'^  {} = (.*)$'
#: Section names with a special meaning to Samba.
_RESERVED = frozenset({'global', 'homes', 'printers', 'print$', 'ipc$', 'admin$'})
_NAME = re.compile(r'[A-Za-z0-9_.-]+')
_LONGEST = 80


def run_place(state_dir: Path) -> Path:
    """Return the folder of sockets, and of what need not outlive a reboot."""
    if len(os.fsencode(state_dir / 'run')) <= _RUN_LENGTH:
        return state_dir / 'run'
    name = hashlib.sha256(os.fsencode(state_dir)).hexdigest()[:16]
    return Path('/run', f'manila_lite-smb-{name}')


def main(state_dir: Path, run: Path, port: int, connections: int, role: str = '') -> str:
    """Return the part that does not depend on shares. It names no addresses: smbd listens on all, also on later ones.
    ``connections``: how many at most. ``role``: the text of ``member``; otherwise the server has a list of users.
    """
    return _GLOBAL.format(
        role=role or _STANDALONE.format(state=state_dir, run=run),
        state=state_dir,
        run=run,
        port=port,
        connections=connections,
        idle=_IDLE_MINUTES,
    )


def member(state_dir: Path, run: Path, *, computer: str, realm: str, workgroup: str, server: str) -> str:
    """Return the settings of a member of a domain. Its controllers are found by DNS, or ``server`` is the only one."""
    return _MEMBER.format(
        state=state_dir,
        run=run,
        computer=computer,
        realm=realm,
        workgroup=workgroup,
        controller=f'  password server = {server}\n' if server else '',
    )


def configuration(first: str, sections: Iterable[str]) -> str:
    """Return all of the file, which begins with ``first``."""
    return ''.join((first, *sections))


def section(resource_id: str, name: str, path: Path, clients: Sequence[str]) -> str:
    """Return the section of a share, under the name that clients know. ``clients`` are levels and users, as ``rw
    alice``.
    """
    levels = dict(client.split(' ', 1)[::-1] for client in clients)
    readers = [user for user, level in levels.items() if level == 'ro']
    return _SECTION.format(
        resource_id=resource_id,
        name=name,
        path=path,
        available='yes' if levels else 'no',
        users=' '.join(levels) or NOBODY,
        readers=' '.join(readers) or NOBODY,
    )


def objection(name: str) -> str:
    """Return the reason why no share can have the name, or ''."""
    if name.casefold() in _RESERVED or not _NAME.fullmatch(name):
        return 'the name has a special meaning for the CIFS server'
    return (
        f'clients support names of shares with at most {_LONGEST} characters' if len(name) > _LONGEST else ''
    )


def sections(text: str) -> dict[str, str]:
    """Return the sections of a file, by the ids of their shares."""
    parts = text.split(f'\n{_MARK}')[1:]
    return {part.partition('\n')[0]: f'{_MARK}{part.rstrip()}\n' for part in parts}


def name_of(text: str) -> str:
    """Return the name by which clients know the share of a section; '' if the text is no section."""
    match = re.search(r'^\[([^]\n]+)\]$', text, re.MULTILINE)
    return match[1] if match else ''


def path_of(text: str) -> str:
    """Return the directory that a section shares."""
    return _value(text, 'path')


def clients_of(text: str) -> list[str]:
    """Return the clients of a section, in the form that ``section`` takes."""
    if _value(text, 'available') != 'yes':
        return []
    readers = _value(text, 'read list').split()
    return [f'{"ro" if user in readers else "rw"} {user}' for user in _value(text, 'valid users').split()]


def _value(text: str, key: str) -> str:
    match = re.search(_VALUE.format(key), text, re.MULTILINE)
    return match[1] if match else ''
