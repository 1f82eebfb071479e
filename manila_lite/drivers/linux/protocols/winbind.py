# SPDX-License-Identifier: Apache-2.0
"""The winbindd of one CIFS server, which asks the domain about its users and groups."""

import re
import subprocess
from pathlib import Path

from manila_lite.drivers.linux.protocols import samba_config, samba_users
from manila_lite.drivers.linux.protocols.membership import Membership
from manila_lite.host import waits
from manila_lite.host.commands import ENV, CommandFailed
from manila_lite.host.daemon import Daemon

#: Where winbindd logs.
LOGS = ('winbindd.out', 'samba.log')
LIBRARY = 'libnss_winbind.so.2'
_READY_SECONDS = 60.0
#: Seconds for one question: a domain that does not answer must not keep a rule from being closed for long.
_ASK_SECONDS = 15.0
#: What "wbinfo" prints for a user, a group of the domain, or one of its local groups. Only these are persons to give access to.
_FOUND = re.compile(r'(S-1-5-21-[0-9-]{5,60}) SID_(?:USER \(1\)|DOM_GROUP \(2\)|ALIAS \(4\))\n?')


def library() -> str:
    """Return the path of the library that finds accounts by winbindd, or ''."""
    return next((str(path) for path in sorted(Path('/usr/lib').glob(f'*/{LIBRARY}'))), '')


class Unreachable(Exception):
    """No domain controller answers now."""


class Winbind:
    """The winbindd of the CIFS server whose folder is ``state``."""

    def __init__(self, state_dir: Path, membership: Membership):
        self._state_dir = state_dir
        self._run = samba_config.run_place(state_dir)
        self._membership = membership
        self.daemon = Daemon(state_dir / 'winbindd.json')

    @property
    def env(self) -> dict[str, str]:
        """Return the environment in which a program sees the accounts of the domain, and no others but root and nobody."""
        return {
            **samba_users.wrapped(self._state_dir / 'private'),
            'NSS_WRAPPER_MODULE_SO_PATH': library(),
            'NSS_WRAPPER_MODULE_FN_PREFIX': 'winbind',
            # Samba reads it for its own tests. There is no other way to tell programs of the socket.
            'SELFTEST_WINBINDD_SOCKET_DIR': str(self._run / 'winbindd'),
        }

    @property
    def words(self) -> list[str]:
        """Return the command line of winbindd."""
        return ['winbindd', '--foreground', '--no-process-group', f'--configfile={self._state_dir}/smb.conf']

    def start(self, mark: str) -> None:
        """Start winbindd, and wait until it answers: without it, smbd does not start.

        :raises CommandFailed: it does not come up.
        """
        samba_users.give_accounts(self._state_dir / 'private', ())
        self.daemon.start(
            self._membership.inside(*self.words), self._state_dir / 'winbindd.out', start_key=mark, env={}
        )
        waits.until(lambda: self.answers() or not self.daemon.runs, _READY_SECONDS, 0.05)
        if not self.answers():
            raise CommandFailed(f'winbindd does not start: {self._last_words()}')

    def _last_words(self) -> str:
        texts = [
            (self._state_dir / name).read_text(errors='replace')
            for name in LOGS
            if (self._state_dir / name).exists()
        ]
        return ' | '.join(line for text in texts for line in text.strip().split('\n')[-3:])

    def answers(self) -> bool:
        """Say whether winbindd answers."""
        try:
            return self._ask('--ping')[0]
        except Unreachable:
            return False

    def sid(self, workgroup: str, name: str) -> str:
        """Return the security identifier of a user or group of the domain, or '' if there is none.

        :raises Unreachable: no domain controller answers, so nobody knows.
        """
        worked, said = self._ask('--name-to-sid', f'{workgroup}\\{name}')
        if worked:
            found = _FOUND.fullmatch(said)
            return found[1] if found else ''
        if not self._ask('--ping-dc')[0]:
            raise Unreachable
        return ''

    def _ask(self, *words: str) -> tuple[bool, str]:
        return _run('wbinfo', *words, env=self.env)


def _run(*words: str, env: dict[str, str]) -> tuple[bool, str]:
    """Return whether a command worked, and its output.

    :raises Unreachable: it does not end in time.
    """
    try:
        done = subprocess.run(
            words,
            env={**ENV, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors='backslashreplace',
            timeout=_ASK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unreachable from None
    except OSError as bad:
        raise CommandFailed(f'{words[0]}: {bad}') from bad
    return not done.returncode, done.stdout
