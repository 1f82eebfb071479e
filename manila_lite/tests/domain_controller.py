# SPDX-License-Identifier: Apache-2.0
"""A domain controller of Active Directory: Samba's, in a network namespace, with two users and a group."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import fixtures

from manila_lite.drivers.linux.protocols import samba_users, winbind
from manila_lite.host import namespaces
from manila_lite.tests import process, smb_client, waiting

REALM, SHORT = 'AD.EXAMPLE.ORG', 'EXAMPLE'
ADMIN, PASSWORD = 'Administrator', 'Let-me-in-4711'
#: The users, and the group with the second one.
USERS, GROUP = ('alice', 'bobby', 'carol'), 'Staff Engineers'
OU = 'servers'
_PORTS = (53, 88, 389, 445)
_SETUP = Path('/usr/share/samba/setup/provision.ldif')
_CONF = """[global]
  server role = active directory domain controller
  server services = s3fs, rpc, ldap, cldap, kdc, dns, winbindd
  realm = {realm}
  workgroup = {short}
  netbios name = DC1
  private dir = {place}/private
  state directory = {place}/state
  cache directory = {place}/cache
  lock directory = {place}
  pid directory = {place}
  binddns dir = {place}/bind-dns
  ncalrpc dir = {place}/ncalrpc
  ntp signd socket directory = {place}/ntp
  winbindd socket directory = {place}/winbindd
  log file = {place}/log
  bind interfaces only = yes
  interfaces = {address} 127.0.0.1
  disable netbios = yes
  load printers = no
[sysvol]
  path = {place}/state/sysvol
[netlogon]
  path = {place}/state/sysvol/{domain}/scripts
"""


def missing():
    """Return the names of missing programs and packages, or ''."""
    lacks = {
        'samba': shutil.which('samba') and shutil.which('samba-tool'),
        'samba-ad-provision': _SETUP.exists(),
        'winbind': shutil.which('winbindd') and shutil.which('wbinfo'),
        'libnss-winbind': winbind.library(),
        'samba-dsdb-modules': any(Path('/usr/lib').glob('*/samba/ldb/samldb.so')),
        'samba-vfs-modules': any(Path('/usr/lib').glob('*/samba/vfs/acl_xattr.so')),
    }
    return ' '.join(name for name, there in lacks.items() if not there)


class Controller(fixtures.Fixture):
    """The controller with its data. It runs in any namespace that has its address, as often as it is started."""

    def __init__(self, address):
        super().__init__()
        self.address = address
        self._process = None

    def _setUp(self):
        # In memory: it writes each change out to the disk. The paths of sockets are limited.
        self.place = Path(tempfile.mkdtemp(prefix='ml-dc-', dir='/dev/shm'))
        self.place.chmod(0o711)  # its users read what it shares
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.addCleanup(self.stop)
        self._tool(
            *('domain', 'provision', '--server-role=dc', '--dns-backend=SAMBA_INTERNAL', '--host-name=dc1'),
            *(
                f'--realm={REALM}',
                f'--domain={SHORT}',
                f'--host-ip={self.address}',
                f'--targetdir={self.place}',
            ),
            f'--adminpass={PASSWORD}',
            '--option=interfaces=lo',  # else its name has the IPv6 address of this machine, too
        )
        (self.place / 'conf').write_text(
            _CONF.format(
                realm=REALM, short=SHORT, place=self.place, domain=REALM.lower(), address=self.address
            )
        )
        (self.place / 'ncalrpc').mkdir()
        samba_users.give_accounts(self.place, ())
        for name in USERS:
            self.tool('user', 'create', name, PASSWORD)
        self.tool('group', 'add', GROUP)
        self.tool('group', 'addmembers', GROUP, USERS[1])
        self.tool('ou', 'add', f'OU={OU}')
        # Another service of the controller would do so after minutes.
        self.tool('spn', 'add', f'ldap/dc1.{REALM.lower()}', 'DC1$')

    def tool(self, *words):
        """Run a command of samba-tool on the data; return its output."""
        return self._tool(*words, f'--configfile={self.place}/conf', '-H', f'{self.place}/private/sam.ldb')

    def _tool(self, *words):
        done = subprocess.run(
            ['samba-tool', *words], capture_output=True, text=True, timeout=waiting.LIMIT, check=False
        )
        if done.returncode:
            raise AssertionError(f'samba-tool {words}: {done.stdout}{done.stderr}')
        return done.stdout

    def computers(self):
        """Return the names of all computers but the controller."""
        return sorted(set(self.tool('computer', 'list').split()) - {'DC1$'})

    @property
    def runs(self):
        """Say whether it was started."""
        return self._process is not None

    def start(self, netns):
        """Run in this namespace until ``stop``."""
        env = {
            **os.environ,
            **samba_users.wrapped(self.place),
            'NSS_WRAPPER_MODULE_SO_PATH': winbind.library(),
            'NSS_WRAPPER_MODULE_FN_PREFIX': 'winbind',
            'SELFTEST_WINBINDD_SOCKET_DIR': f'{self.place}/winbindd',
        }
        with (self.place / 'out').open('ab') as out:
            self._process = subprocess.Popen(
                [
                    *('nsenter', f'--net=/run/netns/{netns}', 'samba', '--foreground', '--no-process-group'),
                    f'--configfile={self.place}/conf',
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=env,
            )
        process.until(lambda: self._answers(netns), 'the domain controller answers', self._said)

    def _answers(self, netns):
        def connect():
            for port in _PORTS:
                socket.create_connection((self.address, port), waiting.LIMIT).close()

        try:
            namespaces.inside(Path('/run/netns', netns), connect)
        except OSError:
            return False
        user = f'{SHORT}\\{USERS[0]}'
        return smb_client.call(netns, f'\\\\{self.address}\\netlogon', user, PASSWORD, 'ls')[0]

    def _said(self):
        return (self.place / 'out').read_text() + ''.join(
            file.read_text(errors='replace')[-3000:] for file in self.place.glob('log*') if file.is_file()
        )

    def stop(self):
        """End all processes of the controller."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(waiting.LIMIT)
            self._process = None
