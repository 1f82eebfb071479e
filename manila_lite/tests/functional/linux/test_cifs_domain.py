# SPDX-License-Identifier: Apache-2.0
"""CIFS shares for users of Active Directory: a real domain controller, share servers that join, and real clients."""

import contextlib
import dataclasses
import subprocess
import sys
import unittest
from pathlib import Path

import psutil
from oslo_utils import units, uuidutils

from manila_lite import values
from manila_lite.tests import domain_controller, smb_client, waiting
from manila_lite.tests.domain_controller import ADMIN, GROUP, PASSWORD, REALM, SHORT
from manila_lite.tests.functional.linux import api_base, base, server_base
from manila_lite.tests.functional.linux.cifs_base import LACKS, Cifs, processes
from manila_lite.tests.services import groups

DC = server_base.address('four', 20)


def need():
    """Skip the tests where a program is missing."""
    groups.want('domains')
    if lacks := LACKS or domain_controller.missing():
        raise unittest.SkipTest(f'users of a domain need {lacks}')


#: A share manager of a backend, until its file servers run.
_SETUP = """import sys
from pathlib import Path
import manila_lite.cmd
from oslo_config import cfg
from manila_lite.drivers import load
conf = cfg.ConfigOpts()
conf([], default_config_files=[sys.argv[1]])
load.make('linux', 'linux', 'test@linux', conf, Path(sys.argv[2])).setup()
"""


def nets(state, verb):
    """Return the processes of Samba's "net" that join or leave a domain for servers below a folder."""
    found = []
    for one in psutil.process_iter(['name']):
        with contextlib.suppress(psutil.Error):
            words = one.cmdline() if one.info['name'] == 'net' else []
            if verb in words and any(str(state) in word for word in words):
                found.append(one)
    return found


def begun(state, verb):
    """Wait until "net" runs; return its process."""
    return waiting.until(lambda: nets(state, verb), f'net ads {verb} runs', pause=0.005)[0]


def _end(net):
    """Kill the program. It is gone then: the next look for one must not find it while it dies."""
    net.kill()
    net.wait(waiting.LIMIT)


def half_way(state):
    """Wait until "net" checks the account that it has just created; return its process, which stands still.

    It goes there in small steps, behind all others: on a busy machine it would be over before this process looks again.
    """
    net = begun(state, 'join')
    net.suspend()
    net.nice(19)
    conf = next(word.partition('=')[2] for word in net.cmdline() if word.startswith('--configfile='))
    file = Path(conf).with_name('private') / 'netlogon_creds_cli.tdb'

    def written():
        return file.stat().st_mtime_ns if file.exists() else None

    def reached():
        net.suspend()
        if written() != before:
            return True
        net.resume()
        return False

    before = written()
    waiting.until(reached, 'the domain has the computer', pause=0.001)
    return net


class Domain(api_base.ApiTest):
    CONFIG = f'{api_base.CONFIG}linux_cifs_active_directory = true\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        need()
        cls.dc = domain_controller.Controller(DC)
        cls.dc.setUp()
        cls.addClassCleanup(cls.dc.cleanUp)

    def setUp(self):
        super().setUp()
        # The domain is there before the first share server: its network is as an operator makes it.
        base.ip('netns', 'add', self.machine.fabric)
        base.ip('-n', self.machine.fabric, 'link', 'add', 'vlan11', 'type', 'bridge', 'mcast_snooping', '0')
        base.ip('-n', self.machine.fabric, 'link', 'set', 'vlan11', 'up')
        self.machine.client('dc', 'four', 20)
        self.machine.client('friend', 'four', 101)
        self.addCleanup(self.dc.stop)
        self.dc.start(self.machine.space('dc'))
        self.lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'windows',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'storage_protocol': '<in> CIFS'},
                }
            },
        )

    # What users do ----------------------------------------------------------------------------

    def domain(self, **changes):
        """Return a share network with a security service for the domain."""
        values = {
            'type': 'active_directory',
            'dns_ip': DC,
            'domain': REALM.lower(),
            'ou': f'OU={domain_controller.OU}',
            'user': ADMIN,
            'password': PASSWORD,
        } | changes
        service = self.lite.ok('POST', '/security-services', {'security_service': values})
        network = self.network()
        self.lite.ok(
            'POST',
            f'/share-networks/{network}/action',
            {'add_security_service': {'security_service_id': service['security_service']['id']}},
        )
        return network

    def allow(self, share, to, level='rw', ends='active'):
        """Add an access rule for a user or a group, and check that it ends in the given state. Return its id."""
        rule = {'access_type': 'user', 'access_to': to, 'access_level': level}
        rule_id = self.lite.ok('POST', f'/shares/{share}/action', {'allow_access': rule})['access']['id']
        found = self.lite.wait(f'/share-access-rules/{rule_id}', 'access', ('active', 'error'), field='state')
        self.assertEqual(ends, found['state'], self.lite.tail())
        return rule_id

    def deny(self, share, rule_id):
        """Delete an access rule."""
        self.lite.ok('POST', f'/shares/{share}/action', {'deny_access': {'access_id': rule_id}})
        self.lite.wait(f'/share-access-rules/{rule_id}', 'access', 'gone', field='state')

    def smb(self, path, user, command, text=None):
        """Run a command of a client as a user of the domain; return (success, output)."""
        space = self.machine.space('friend')
        return smb_client.call(space, path, f'{SHORT}\\{user}', PASSWORD, command, text=text)

    def denied(self, path, user, command='ls', text=None):
        """Check that the user is refused."""
        worked, said = self.smb(path, user, command, text)
        self.assertFalse(worked, said)
        self.assertIn('NT_STATUS_ACCESS_DENIED', said)

    def writes(self, path, user, name='f'):
        """Check that the user can write a file, and read it."""
        worked, said = self.smb(path, user, f'put local {name}', 'hello')
        self.assertTrue(worked, said)
        self.assertEqual((True, 'hello'), self.smb(path, user, f'get {name} there'))

    def messages(self):
        """Return the texts of all user messages."""
        return ' '.join(found['user_message'] for found in self.lite.ok('GET', '/messages')['messages'])

    # Tests ------------------------------------------------------------------------------------

    def test_users_and_groups_of_a_domain_have_exactly_the_access_of_their_rules(self):
        network = self.domain()
        share, server = self.share(network, share_proto='CIFS', share_type='windows')
        [computer] = self.dc.computers()
        self.assertTrue(computer.startswith('ML') and len(computer) == 16, computer)
        self.assertIn(f'OU={domain_controller.OU}', self.dc.tool('computer', 'show', computer))
        path = self.locations(share)[0][0]
        for user in ('alice', 'bobby'):
            self.assertFalse(self.smb(path, user, 'ls')[0])
        rule = self.allow(share, 'alice')
        self.writes(path, 'alice')
        self.denied(path, 'bobby')
        group = self.allow(share, GROUP, 'ro')
        self.assertEqual((True, 'hello'), self.smb(path, 'bobby', 'get f there'))
        self.denied(path, 'bobby', 'put local g', 'no')
        self.denied(path, 'carol')
        self.allow(share, 'nobody-there', ends='error')
        self.assertIn('has no user or group nobody-there', self.messages())
        self._by_name(computer, share)
        self._restarted(path)
        self._without_domain(path, share, rule)
        self.deny(share, group)
        self.assertFalse(self.smb(path, 'bobby', 'ls')[0])
        self._secret()
        self.remove(network, share, servers=(server,))
        self.until(lambda: not self.dc.computers(), 'the computer account is gone')
        self.until(lambda: not processes(self.machine.state), 'nothing of the server runs')

    def _by_name(self, computer, share):
        """Check that a client of the domain can use Kerberos, by the name that the server has in the DNS of the domain."""
        etc = self.machine.state / 'client'
        etc.mkdir()
        (etc / 'resolv.conf').write_text(f'nameserver {DC}\n')
        name = f'{computer.rstrip("$").lower()}.{REALM.lower()}'
        said = base.command(
            *('nsenter', f'--net=/run/netns/{self.machine.space("friend")}', 'python3', '-I'),
            *(str(Path(domain_controller.winbind.__file__).with_name('private_etc.py')), str(etc)),
            *(
                'smbclient',
                '-s',
                '/dev/null',
                f'//{name}/{self.locations(share)[0][0].rpartition(chr(92))[2]}',
            ),
            *('--use-kerberos=required', f'--option=realm={REALM}', f'--option=workgroup={SHORT}'),
            *('-U', f'alice@{REALM}%{PASSWORD}', '-c', 'ls'),
        )
        self.assertRegex(said, r'\bf +A +5 ')

    def _restarted(self, path):
        """Check that a new share manager changes nothing, and that dead daemons come back."""
        before = self._daemons()
        self.lite.kill()
        self.lite.start()
        self.writes(path, 'alice', 'after')
        self.assertEqual(before, self._daemons())
        psutil.Process(before['winbindd']).kill()
        self.until(lambda: self.smb(path, 'alice', 'ls')[0] and self._daemons() != before, 'it runs again')
        self.writes(path, 'alice', 'again')

    def _daemons(self):
        """Return the oldest process of each daemon, by its name."""
        found = sorted(processes(self.machine.state), key=lambda one: one.create_time(), reverse=True)
        return {one.name(): one.pid for one in found}

    def _without_domain(self, path, share, rule):
        """Check that a rule can be closed while no domain controller answers, and a new one is refused in words."""
        self.dc.stop()
        self.deny(share, rule)
        self.allow(share, 'carol', ends='error')
        self.assertIn('answers; create the rule again later', self.messages())
        self.dc.start(self.machine.space('dc'))
        self.until(lambda: 'ACCESS_DENIED' in self.smb(path, 'alice', 'ls')[1], 'alice is refused')
        self.until(lambda: self.smb(path, 'bobby', 'get f there') == (True, 'hello'), 'bobby reads')

    def _secret(self):
        """Check that the password is in no log and no file of the service."""
        self.assertNotIn(PASSWORD, self.lite.tail())
        for file in self.machine.state.rglob('*'):
            if file.is_file() and file.suffix != '.img':
                self.assertNotIn(PASSWORD.encode(), file.read_bytes(), str(file))

    def test_wrong_password_and_absent_domain_end_in_an_error_with_the_remedy(self):
        for changes, why in (
            ({'password': 'not-that-one'}, 'refuses the user or the password. Create a security service'),
            ({'user': 'carol'}, 'may not add computers'),
            ({'ou': 'OU=nowhere'}, 'organizational unit does not exist'),
            ({'dns_ip': server_base.address('four', 30)}, 'No domain controller of ad.example.org answers'),
            ({'domain': 'a.b\n[global]'}, 'domain: it must be the DNS name'),
        ):
            network = self.domain(**changes)
            body = {'size': 1, 'share_proto': 'CIFS', 'share_network_id': network, 'share_type': 'windows'}
            share = self.lite.ok('POST', '/shares', {'share': body})['share']['id']
            made = self.lite.wait(f'/shares/{share}', 'share', ('available', 'error'))
            self.assertEqual('error', made['status'])
            self.assertIn(why, self.messages())
            self.lite.ok('DELETE', f'/shares/{share}')
        servers = self.lite.ok('GET', '/share-servers')['share_servers']
        self.assertEqual(['error'] * 5, [server['status'] for server in servers])
        self.assertEqual([], self.dc.computers())
        self.assertNotIn('not-that-one', self.lite.tail())

    def test_join_that_was_cut_off_is_repeated_with_the_same_computer(self):
        network = self.domain()
        share, server = self.share(network, share_proto='CIFS', share_type='windows')
        before = self.dc.computers()
        [note] = self.machine.state.rglob('domain.json')
        self.lite.kill()
        note.write_text(note.read_text().replace('"joined": true', '"joined": false'))
        self.lite.start()
        self.until(lambda: '"joined": true' in note.read_text(), 'it has joined again')
        self.assertEqual(before, self.dc.computers())
        self.allow(share, 'alice')
        self.writes(self.locations(share)[0][0], 'alice')
        self.remove(network, share, servers=(server,))
        self.until(lambda: not self.dc.computers(), 'the computer account is gone')

    def test_join_and_leave_heal_from_a_kill_at_any_moment(self):
        network, state = self.domain(), self.machine.state
        body = {'size': 1, 'share_proto': 'CIFS', 'share_network_id': network, 'share_type': 'windows'}
        share = self.lite.ok('POST', '/shares', {'share': body})['share']['id']
        for net in (lambda: begun(state, 'join'), lambda: half_way(state)):
            self._die_with(net())
        [server] = [found['id'] for found in self.lite.ok('GET', '/share-servers')['share_servers']]
        self.machine.spaces.append(f'manila-{server}')
        [computer] = self.dc.computers()
        self._die_alone()
        made = self.lite.wait(f'/shares/{share}', 'share', ('available', 'error'))
        self.assertEqual('available', made['status'], self.lite.tail())
        self.assertEqual([computer], self.dc.computers())
        self.allow(share, 'alice')
        self.writes(self.locations(share)[0][0], 'alice')
        self.lite.ok('DELETE', f'/shares/{share}')
        self.lite.ok('DELETE', f'/share-servers/{server}', wait=False)
        self._die_with(begun(state, 'leave'))
        self.until(lambda: self.lite.call('GET', f'/share-servers/{server}')[0] == 404, 'the server is gone')
        self.assertEqual([], self.dc.computers())

    def _die_with(self, net):
        """Kill the share manager, then the program that it had started; start the share manager again."""
        self.lite.kill()
        _end(net)
        self.lite.start()

    def _die_alone(self):
        """Kill the share manager only: the next one waits for the end of the program, and then joins by itself."""
        net = begun(self.machine.state, 'join')
        net.suspend()
        self.addCleanup(_kill, net)
        self.lite.kill()
        self.lite.start()
        self.until(self._waits, 'the share manager waits for the program that was left')
        self.assertEqual([net], nets(self.machine.state, 'join'))
        net.resume()

    def _waits(self):
        """Say whether the service has the lock of a membership open."""
        one = psutil.Process(self.lite.process.pid)
        for process in (one, *one.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(file.path.endswith('/domain.lock') for file in process.open_files()):
                    return True
        return False


def _kill(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()


class Backend(base.LinuxTest):
    """A backend without share servers."""

    DC = '10.99.0.12'
    OPTIONS = (
        f'linux_cifs_domain = {REALM.lower()}\nlinux_cifs_domain_dns = {DC}\nlinux_cifs_domain_user = {ADMIN}\n'
        f'linux_cifs_domain_password = {PASSWORD}\nlinux_cifs_domain_server = dc1.{REALM.lower()}\n'
    )
    rules, allow = Cifs.rules, Cifs.allow

    @classmethod
    def setUpClass(cls):
        need()
        cls.dc = domain_controller.Controller(cls.DC)
        cls.dc.setUp()
        cls.addClassCleanup(cls.dc.cleanUp)
        super().setUpClass()

    @classmethod
    def make(cls):
        """Start the domain controller first: the backend joins the domain when it starts."""
        if not cls.dc.runs:
            cls.dc.start(cls.fabric.name('two'))
        return super().make()

    def setUp(self):
        super().setUp()
        conf = self.state / 'conf'
        self.addCleanup(conf.write_text, conf.read_text())

    def leave(self):
        """Have a share manager start without the domain."""
        conf = self.state / 'conf'
        before = conf.read_text()
        conf.write_text(before.replace('linux_cifs_domain =', f'linux_cifs_users = {self.state}/users\n#'))
        self.make().setup()
        conf.write_text(before)
        self.assertEqual([], self.dc.computers())

    def smb(self, share, user, command, text=None):
        """Run a command of a client as a user of the domain; return (success, output)."""
        path = share.export_locations[0].path
        return smb_client.call(
            self.fabric.name('one'), path, f'{SHORT}\\{user}', PASSWORD, command, text=text
        )

    def served(self):
        """Return a share that alice writes to, and the group of bobby reads."""
        share = values.Share(uuidutils.generate_uuid(), 's', 'p', 1, 'CIFS', 'pool')
        share = dataclasses.replace(share, export_locations=tuple(self.driver.create_share(share)))
        self.allow(share, ('alice', 'rw'), (GROUP, 'ro'))
        worked, said = self.smb(share, 'alice', 'put local f', 'hello')
        self.assertTrue(worked, said)
        return share

    def test_backend_joins_serves_users_of_the_domain_and_leaves_it(self):
        [computer] = self.dc.computers()
        share = self.served()
        self.assertEqual((True, 'hello'), self.smb(share, 'bobby', 'get f there'))
        worked, said = self.smb(share, 'bobby', 'du')
        self.assertEqual((True, units.Gi), (worked, smb_client.space(said)[0]))
        for user, command in (('bobby', 'put local f'), ('carol', 'get f there')):
            _, said = self.smb(share, user, command, 'no')
            self.assertIn('NT_STATUS_ACCESS_DENIED', said)
        daemons = [one.pid for one in processes(self.state)]
        again = self.make()
        again.setup()
        self.assertEqual(daemons, [one.pid for one in processes(self.state)])
        self.assertEqual([computer], self.dc.computers())
        self.driver.delete_share(share)
        self.leave()
        self.assertEqual([], processes(self.state))

    def test_start_heals_from_a_kill_at_any_moment_of_joining(self):
        self.leave()
        for net in (lambda: begun(self.state, 'join'), lambda: half_way(self.state)):
            manager = subprocess.Popen(
                [sys.executable, '-c', _SETUP, str(self.state / 'conf'), str(self.state / 'state')]
            )
            self.addCleanup(manager.wait, waiting.LIMIT)
            self.addCleanup(manager.kill)
            left = net()
            manager.kill()
            _end(left)
        [computer] = self.dc.computers()
        type(self).driver = self.make()
        self.driver.setup()
        self.assertEqual([computer], self.dc.computers())
        share = self.served()
        self.assertEqual((True, 'hello'), self.smb(share, 'bobby', 'get f there'))
        self.driver.delete_share(share)
