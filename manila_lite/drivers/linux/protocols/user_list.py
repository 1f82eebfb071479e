# SPDX-License-Identifier: Apache-2.0
"""``manila-linux-user``: edit the users that can log in to the CIFS servers of a linux backend.

The list is the file of ``linux_cifs_users``. The command asks for the password, or reads it from the first line of standard
input. The file keeps its NTLM hash. With the hash a reader of the file can log in, so only root may read the file.
"""

import argparse
import fcntl
import getpass
import os
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

from manila_lite import release
from manila_lite.drivers.linux.protocols import samba_users
from manila_lite.host.commands import ENV, CommandFailed

#: Longest password, in bytes, that smbpasswd does not cut off.
_LONGEST = 254
_CONF = """[global]
passdb backend = smbpasswd:{folder}/smbpasswd
private dir = {folder}
state directory = {folder}
cache directory = {folder}
lock directory = {folder}
pid directory = {folder}
"""


def entry(name: str, password: str) -> str:
    """Return the line of a user.

    :raises CommandFailed: Samba makes none; with its error message.
    """
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path).resolve()
        (folder / 'conf').write_text(_CONF.format(folder=folder))
        samba_users.give_accounts(folder, [name])
        try:
            done = subprocess.run(
                ('smbpasswd', '-c', f'{folder}/conf', '-s', '-a', name),
                check=False,
                timeout=60,
                input=f'{password}\n{password}\n',
                capture_output=True,
                encoding='utf-8',
                errors='replace',
                env={**ENV, **samba_users.wrapped(folder)},
            )
        except (OSError, subprocess.TimeoutExpired) as bad:
            raise CommandFailed(f'smbpasswd, of the package samba-common-bin: {bad}') from bad
        made = (
            list(samba_users.read((folder / 'smbpasswd').read_text()))
            if (folder / 'smbpasswd').exists()
            else []
        )
        if done.returncode or not made:
            raise CommandFailed(f'smbpasswd: {done.stderr.strip() or done.stdout.strip()}')
    return f'{name}:0:{made[0].rest}\n'


def put(file: Path, name: str, line: str) -> bool:
    """Replace the user's line in the list, or remove it if ``line`` is empty. Returns whether there was one before."""
    with (file.parent / f'{file.name}.lock').open('a') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lines = file.read_text().splitlines() if file.exists() else []
        others = [f'{known}\n' for known in lines if known.partition(':')[0].casefold() != name.casefold()]
        samba_users.replace(file, ''.join([*others, line]))
    return len(others) < len(lines)


def _password() -> str:
    """Return the password that was typed, or read from standard input.

    :raises ValueError: it is no valid password; the message never has its text.
    """
    try:
        given = getpass.getpass() if sys.stdin.isatty() else sys.stdin.buffer.readline().decode()
        password = given.removesuffix('\n').removesuffix('\r')
        size = len(password.encode())
    except UnicodeError:
        raise ValueError('a password has to be UTF-8') from None
    if not 0 < size <= _LONGEST or any(unicodedata.category(one) == 'Cc' for one in password):
        # An empty password is a mistake. smbpasswd would cut longer ones off.
        raise ValueError(f'a password has 1 to {_LONGEST} bytes and no control characters')
    return password


def main() -> None:
    """Change one user, and exit with the status."""
    os.umask(0o077)
    parser = argparse.ArgumentParser(prog='manila-linux-user', description=__doc__)
    parser.add_argument('--version', action='version', version=release.FULL)
    parser.add_argument('--delete', action='store_true', help='delete the user from the list')
    parser.add_argument('file', type=Path, help='path of the list, as in linux_cifs_users of the backend')
    parser.add_argument('name', help='user name: 4 to 63 letters, digits, _, . or -')
    arguments = parser.parse_args()
    sys.exit(_change(arguments))


def _change(arguments: argparse.Namespace) -> str | None:
    """Change one user. Returns an error message, or None."""
    name = arguments.name
    if not samba_users.NAME.fullmatch(name) or len(name) < 4 or name.casefold() in samba_users.TAKEN:
        return f'{arguments.name!r} is not a valid user name'
    try:
        if arguments.delete:
            return (
                None
                if put(arguments.file, arguments.name, '')
                else f'{arguments.name} is not in {arguments.file}'
            )
        put(arguments.file, arguments.name, entry(arguments.name, _password()))
    except (CommandFailed, OSError, ValueError) as bad:
        return str(bad)
    return None


if __name__ == '__main__':
    main()
