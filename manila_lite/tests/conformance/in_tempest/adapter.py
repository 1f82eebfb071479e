# SPDX-License-Identifier: Apache-2.0
"""Clients of the published scenario tests without Nova, Neutron and Glance: machines that the harness lends.

It runs in the environment of the published tests, and knows of the harness only the socket in ``$GUESTS``.
"""

import json
import os
import socket

from manila_tempest_tests.tests.scenario import manager as plugin
from tempest import config
from tempest.lib import exceptions
from tempest.scenario import manager as tempest

CONF = config.CONF
#: The network of all machines, and its subnets by family.
_NETWORK, _SUBNETS = 'guests', {4: 'four', 6: 'six'}
#: More extra specs, by whether there are share servers and by family: without, tests over IPv6 need a backend without IPv4.
_SPECS = {(False, 4): {'ipv4_support': '<is> True'}, (False, 6): {'ipv4_support': '<is> False'}}


def ask_for_no_neutron():
    """Let tests begin without Neutron; they would be skipped."""
    for package in (plugin, tempest):
        del package.NetworkScenarioTest.skip_checks


def call(*words):
    """Ask the harness; see ``conformance/lending.py``."""
    with socket.socket(socket.AF_UNIX) as line, line.makefile('rw') as file:
        line.connect(os.environ['GUESTS'])
        file.write(json.dumps(words) + '\n')
        file.flush()
        answer = json.loads(file.readline())
    if 'error' in answer:
        raise exceptions.TempestException(f'{words}: {answer["error"]}')
    return answer['value']


class Shell:
    """A client machine's shell, in place of an SSH client."""

    def __init__(self, number):
        self._number = number

    def exec_command(self, command):
        """Run a command; return its output.

        :raises SSHExecCommandFailed: its exit status is not 0.
        """
        done = call('run', self._number, command)
        if done['status']:
            raise exceptions.SSHExecCommandFailed(
                command=command, exit_status=done['status'], stderr=done['stderr'], stdout=done['stdout']
            )
        return done['stdout']


class Servers:
    """The calls of Nova's client that tests make themselves. A machine is given back once."""

    def __init__(self):
        self._lent = {}

    def lend(self, family):
        """Return a machine as Nova shows it, with its address of a family first."""
        lent = call('lend')
        lent['addresses'].sort(key=lambda address: (':' in address) != (family == 6))
        server = {
            'id': f'guest-{lent["number"]}',
            'status': 'ACTIVE',
            'addresses': {
                _NETWORK: [
                    {'addr': address, 'version': 6 if ':' in address else 4} for address in lent['addresses']
                ]
            },
        }
        self._lent[server['id']] = lent['number']
        return server

    def shell(self, server_id):
        """Return the shell of a machine."""
        return Shell(self._lent[server_id])

    def delete_server(self, server_id):
        """Give a machine back."""
        if server_id in self._lent:
            call('give_back', self._lent.pop(server_id))


class Clients:
    """A base for each scenario test, before its own: where its networks and its client machines come from."""

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.servers_client = Servers()

    def create_security_group(self, **about):
        return {'id': _NETWORK, 'name': _NETWORK}

    create_network = get_router = create_security_group

    def create_subnet(self, ip_version=4, **about):
        return {'id': _SUBNETS[ip_version]}

    def _create_router_interface(self, **about):
        """All machines are on one bridge."""

    def get_share_type(self, extra_specs=None):
        more = _SPECS.get((CONF.share.multitenancy_enabled, self.ip_version), {})
        return super().get_share_type({**more, **(extra_specs or {})})

    def boot_instance(self, wait_until='ACTIVE'):
        self.servers = getattr(self, 'servers', {})
        server = self.servers_client.lend(self.ip_version)
        self.servers[server['id']] = server
        self.addCleanup(self.servers_client.delete_server, server['id'])
        return server

    def wait_for_active_instance(self, instance_id):
        return self.servers[instance_id]

    def init_remote_client(self, instance):
        """Return the shell of a machine, and note the address from which the tests expect it to come."""
        self.floating_ips[instance['id']] = {'floating_ip_address': self._get_server_ip(instance)}
        return self.servers_client.shell(instance['id'])
