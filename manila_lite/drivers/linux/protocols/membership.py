# SPDX-License-Identifier: Apache-2.0
"""The membership of a CIFS server in an Active Directory domain: it joins, and leaves at its end.

A file in the server's folder says so. It is there before the domain is told anything, and goes after the domain has deleted the
computer account. So each step can be repeated, whenever the process died.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from oslo_log import log

from manila_lite import errors
from manila_lite.drivers.linux.protocols import active_directory, private_etc, samba_config
from manila_lite.drivers.linux.protocols.active_directory import Domain
from manila_lite.drivers.linux.protocols.domain_net import LATE, Net
from manila_lite.drivers.linux.protocols.samba_users import replace
from manila_lite.host import durable

LOG = log.getLogger(__name__)

_NSSWITCH = 'passwd: files\ngroup: files\nhosts: files dns\n'


@dataclasses.dataclass(frozen=True)
class Member:
    """A computer account of a domain. ``joined`` is false while nobody knows whether the domain has it."""

    computer: str
    realm: str
    workgroup: str
    dns: tuple[str, ...]
    server: str
    joined: bool = False

    def is_of(self, domain: Domain) -> bool:
        """Say whether it is an account of this domain, found by the same servers."""
        return (self.realm, self.dns, self.server) == (domain.realm, domain.dns, domain.server)

    def domain(self, user: str | None, password: str | None) -> Domain | None:
        """Return the domain, to leave it with this user and password; None without them."""
        return (
            Domain(self.realm, self.dns, self.server, '', user, password, '') if user and password else None
        )


class Membership:
    """The membership of the CIFS server whose folder is ``state``, in the network namespace ``netns``."""

    def __init__(self, state_dir: Path, netns: str | None):
        self._state_dir = state_dir
        self._netns = netns
        self._run = samba_config.run_place(state_dir)
        self._file = state_dir / 'domain.json'
        self._conf = state_dir / 'domain.conf'
        self._etc = state_dir / 'etc'
        self._net = Net(self.inside('net', f'--configfile={self._conf}'), state_dir / 'domain.lock')

    @property
    def noted(self) -> Member | None:
        """Return the account, also one that the domain may not have yet, or None."""
        try:
            known = json.loads(self._file.read_text())
        except FileNotFoundError:
            return None
        return Member(**{**known, 'dns': tuple(known['dns'])})

    @property
    def member(self) -> Member | None:
        """Return the account, if the server is a member of its domain."""
        noted = self.noted
        return noted if noted and noted.joined else None

    def settings(self, member: Member) -> str:
        """Return the settings of Samba for a member."""
        return samba_config.member(
            self._state_dir,
            self._run,
            computer=member.computer,
            realm=member.realm,
            workgroup=member.workgroup,
            server=member.server,
        )

    def inside(self, *words: str) -> list[str]:
        """Return the words that start a program in the server's namespace, which asks the domain for names of hosts."""
        space = ('nsenter', f'--net=/run/netns/{self._netns}') if self._netns else ()
        return [*space, sys.executable, '-I', '-S', private_etc.__file__, str(self._etc), *words]

    # Changes ----------------------------------------------------------------------------------

    def join(self, owner: str, domain: Domain) -> bool:
        """Join the domain, unless the server is a member. Returns whether it was none before.

        :raises errors.Final: the domain cannot be reached or refuses it; with the reason, and what to do.
        """
        noted = self.noted
        if noted and noted.realm != domain.realm:
            self.leave(owner, domain)
            noted = None
        if noted and self._is_valid(noted, domain):
            return False
        member = Member(
            noted.computer if noted else active_directory.computer(owner),
            domain.realm,
            '',
            domain.dns,
            domain.server,
        )
        self._prepare(member)
        member = dataclasses.replace(member, workgroup=self._find(member, domain.remedy))
        self._note(member)
        self._configure(member)
        words = ['ads', 'join', '--no-dns-updates', f'--user={domain.user}', *self._where(domain)]
        worked, said = self._net.run(words, domain.password)
        if not worked:
            LOG.warning('%s: the computer %s cannot join %s: %s', owner, member.computer, member.realm, said)
            if said != LATE and noted is None:
                self._drop()  # the domain did nothing, now or before
            raise errors.Final(
                f'The CIFS server cannot join the domain {domain.realm.lower()} as {domain.user}: '
                f'{active_directory.reason(said, domain.remedy)}.'
            )
        self._register(owner, member)
        self._note(dataclasses.replace(member, joined=True))
        LOG.info('%s: joined the domain %s as %s', owner, member.realm, member.computer)
        return True

    def _is_valid(self, noted: Member, domain: Domain) -> bool:
        return noted.joined and noted.is_of(domain) and (self._state_dir / 'private' / 'secrets.tdb').exists()

    def _where(self, domain: Domain) -> list[str]:
        return [
            *([f'--server={domain.server}'] if domain.server else []),
            *([f'createcomputer={domain.ou}'] if domain.ou else []),
        ]

    def _register(self, owner: str, member: Member) -> None:
        """Put the name into the DNS of the domain. The join itself would wait minutes for a server out of reach."""
        worked, said = self._net.run(['ads', 'dns', 'register', self._name(member), '--machine-pass'])
        if not worked:
            LOG.warning(
                '%s: the DNS of the domain does not take the name %s, so clients can use addresses only: %s',
                owner, self._name(member), said,
            )  # fmt: skip

    def leave(self, owner: str, domain: Domain | None) -> None:
        """Have the domain delete the computer account. If it does not, the log says so: the server goes all the same."""
        noted = self.noted
        if noted is None:
            return
        said = 'nothing has the password for that any more'
        if domain is not None and noted.is_of(domain):
            self._prepare(noted)
            if noted.joined:  # the name in its DNS; what stays there is no account
                self._net.run(['ads', 'dns', 'unregister', self._name(noted), '--machine-pass'])
            worked, said = self._net.run(['ads', 'leave', f'--user={domain.user}'], domain.password)
            said = '' if worked else said
        if said:
            LOG.warning(
                '%s: the computer account %s may still be in the domain %s. Delete it there. Its deletion failed: %s',
                owner, noted.computer, noted.realm, said,
            )  # fmt: skip
        else:
            LOG.info(
                '%s: left the domain %s, which has no computer %s now', owner, noted.realm, noted.computer
            )
        self._drop()

    def _find(self, member: Member, remedy: str) -> str:
        """Return the short name of the domain, asked of one of its controllers."""
        # It has the controllers that did not answer a minute ago.
        (self._run / 'gencache.tdb').unlink(missing_ok=True)
        _, said = self._net.run(['ads', 'lookup', *([f'--server={member.server}'] if member.server else [])])
        if short := active_directory.workgroup(said):
            return short
        LOG.warning('%s: no domain controller answers: %s', member.realm, said)
        raise errors.Final(
            f'No domain controller of {member.realm.lower()} answers'
            f'{f" at {member.server}" if member.server else ""}. Its network must have a way to the DNS '
            f'servers {", ".join(member.dns)} and to the domain controllers. '
            f'{remedy}, if these are wrong.'
        )

    # Files ------------------------------------------------------------------------------------

    def _prepare(self, member: Member) -> None:
        for folder in (
            self._state_dir,
            self._run,
            self._run / 'private',
            self._state_dir / 'private',
            self._etc,
        ):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._etc.chmod(0o755)
        for name, text in self._files(member).items():
            (self._etc / name).write_text(text)
        self._configure(member)

    def _files(self, member: Member) -> Mapping[str, str]:
        servers = ''.join(f'nameserver {address}\n' for address in member.dns)
        return {
            'resolv.conf': f'{servers}options timeout:3 attempts:2\n',
            'nsswitch.conf': _NSSWITCH,
            'hosts': f'127.0.0.1 localhost\n127.0.1.1 {self._name(member)} {member.computer.lower()}\n',
        }

    def _name(self, member: Member) -> str:
        return f'{member.computer}.{member.realm}'.lower()

    def _configure(self, member: Member) -> None:
        """Write the configuration of "net": that of the server, without its shares."""
        role = self.settings(member)
        if not member.workgroup:
            role = ''.join(
                line for line in role.splitlines(True) if 'idmap' not in line and 'workgroup' not in line
            )
        replace(self._conf, samba_config.main(self._state_dir, self._run, 445, 1, role))

    def _note(self, member: Member) -> None:
        durable.replace(self._file, json.dumps(dataclasses.asdict(member)))

    def _drop(self) -> None:
        durable.remove(self._file)
