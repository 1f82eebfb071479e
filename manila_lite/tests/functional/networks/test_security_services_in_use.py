# SPDX-License-Identifier: Apache-2.0
"""Security services of share networks in use: backends are asked first, then network and servers change together."""

import concurrent.futures
import types

from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.db.queries import operations, services, share_server_queries
from manila_lite.manager.plans import security_services
from manila_lite.operation_data.share_servers import NewSecurityService
from manila_lite.tests.functional import base, served

_CHECK = 'check_update_share_server_security_service'
_UPDATE = 'update_share_server_security_service'


class InUse(served.ServedTest):
    """Share servers of one share each."""

    def service_of(self, kind='ldap', caller=None, **more):
        """Make a security service; return its id."""
        return (caller or self.user).ok(
            'POST', '/security-services', {'security_service': {'type': kind, **more}}
        )['security_service']['id']

    def used(self, *services, shares=1):
        """Make a network with the services and so many shares; return its id and the shares' ids."""
        network = self.network()
        for service in services:
            self.assertEqual(200, self.add(network, service)[0])
        return network, [self.share(network)['id'] for _ in range(shares)]

    def add(self, network, service, **more):
        return self.act(network, 'add_security_service', {'security_service_id': service}, **more)

    def update(self, network, current, new, **more):
        return self.act(
            network, 'update_security_service', {'current_service_id': current, 'new_service_id': new}, **more
        )

    def services(self, network):
        """Return the ids of the network's security services, sorted."""
        found = self.user.ok('GET', f'/security-services/detail?share_network_id={network}')[
            'security_services'
        ]
        return sorted(service['id'] for service in found)

    def known(self, network):
        """Return the security services of each server at the backend."""
        return [self.record(server.id).services for server in self.servers(network)]

    def test_added_service_reaches_all_servers_of_the_network(self):
        network, _ = self.used(shares=2)
        service = self.service_of()
        status, document = self.add(network, service)
        self.assertEqual(200, status, document)
        self.assertEqual(network, document['share_network']['id'])
        self.settled(network)
        self.assertEqual([service], self.services(network))
        self.assertEqual([{'ldap': service}] * 2, self.known(network))
        self.assertEqual({'active'}, {server.status for server in self.servers(network)})
        self.assertLessEqual({server.id for server in self.servers(network)}, set(self.calls(_UPDATE)))

    def test_network_and_servers_are_network_change_during_an_update(self):
        network, _ = self.used()
        self.fault(f'{_UPDATE}:hang')
        status, document = self.add(network, self.service_of())
        self.assertEqual((200, 'network_change'), (status, document['share_network']['status']))
        self.assertEqual(['network_change'], [server.status for server in self.servers(network)])
        self.assertEqual(409, self.add(network, self.service_of('kerberos'))[0])
        self.service.knob('alpha', '')
        self.settled(network)

    def test_replaced_service_is_known_to_servers_and_the_old_can_be_deleted(self):
        old, new = self.service_of(), self.service_of()
        network, _ = self.used(old)
        self.assertEqual([{'ldap': old}], self.known(network))
        status, document = self.update(network, old, new)
        self.assertEqual((202, network), (status, document['share_network']['id']))
        self.settled(network)
        self.assertEqual([new], self.services(network))
        self.assertEqual([{'ldap': new}], self.known(network))
        self.user.ok('DELETE', f'/security-services/{old}')

    def test_network_without_servers_changes_without_a_backend_check(self):
        network = self.network()
        old, new = self.service_of(), self.service_of()
        self.assertEqual(200, self.add(network, old)[0])
        self.assertEqual(202, self.update(network, old, new)[0])
        self.assertEqual('active', self.shown(network)['status'])
        self.assertEqual([new], self.services(network))
        with self.service.services.db.reader() as conn:
            self.assertEqual([], operations.list_of_resource(conn, network, 'security_service.check'))
        status, document = self.act(
            network, 'add_security_service_check', {'security_service_id': self.service_of('kerberos')}
        )
        self.assertEqual((202, True), (status, document['compatible']))

    def test_check_returns_the_answer_of_each_backend(self):
        network, _ = self.used()
        service = self.service_of()
        body = {'security_service_id': service, 'reset_operation': False}
        status, document = self.act(network, 'add_security_service_check', body)
        self.assertEqual(202, status, document)
        self.assertEqual(
            {
                'operation': 'add_security_service',
                'current_security_service': None,
                'new_security_service': service,
            },
            document['requested_operation'],
        )
        self.assertNotIn('hosts_check_result', document)
        base.eventually(
            lambda: self.act(network, 'add_security_service_check', body)[1]['compatible'] is True,
            'no answer',
        )
        document = self.act(network, 'add_security_service_check', body, self.admin)[1]
        self.assertEqual({'test@alpha': True}, document['hosts_check_result'])
        self.assertEqual([], self.services(network))
        self.assertEqual(200, self.add(network, service)[0])
        self.settled(network)

    def test_check_of_a_replacement_is_repeated_only_after_a_reset(self):
        old, new = self.service_of(), self.service_of()
        network, _ = self.used(old)
        self.fault(f'{_CHECK}:deny')
        body = {'current_service_id': old, 'new_service_id': new, 'reset_operation': False}

        def answer(**more):
            return self.act(network, 'update_security_service_check', {**body, **more})[1]

        self.assertEqual(
            {
                'operation': 'update_security_service',
                'current_security_service': old,
                'new_security_service': new,
            },
            answer()['requested_operation'],
        )
        base.eventually(lambda: answer()['compatible'] is False, 'no answer')
        self.service.knob('alpha', '')
        self.assertIs(False, answer()['compatible'])
        self.assertIsNot(False, answer(reset_operation=True)['compatible'])
        base.eventually(lambda: answer()['compatible'] is True, 'no answer')

    def test_check_of_one_service_does_not_answer_for_another(self):
        network, _ = self.used()
        first, second = self.service_of(), self.service_of('kerberos')
        self.act(network, 'add_security_service_check', {'security_service_id': first})
        base.eventually(
            lambda: self.act(network, 'add_security_service_check', {'security_service_id': first})[1][
                'compatible'
            ],
            'no answer',
        )
        self.fault(f'{_CHECK}:hang')
        self.assertIsNone(
            self.act(network, 'add_security_service_check', {'security_service_id': second})[1]['compatible']
        )

    def test_check_of_a_replacement_does_not_answer_for_another_current_service(self):
        first, second, new = (self.service_of() for _ in range(3))
        network, _ = self.used(first)

        def answer(current):
            return self.act(
                network,
                'update_security_service_check',
                {'current_service_id': current, 'new_service_id': new},
            )[1]['compatible']

        base.eventually(lambda: answer(first), 'no answer')
        self.assertEqual(202, self.update(network, first, second)[0])
        self.settled(network)
        self.fault(f'{_CHECK}:hang')
        self.assertIsNone(answer(second))

    def test_update_denied_by_the_backend_is_refused(self):
        old, new = self.service_of(), self.service_of()
        network, _ = self.used(old)
        self.fault(f'{_CHECK}:deny')
        status, document = self.update(network, old, new)
        self.assertEqual(409, status, document)
        self.assertIn('told to deny', str(document))
        self.assertIn(self.servers(network)[0].id, str(document))
        self.assertEqual('active', self.shown(network)['status'])
        self.assertEqual([old], self.services(network))
        self.assertEqual(
            [('011', '022')], [(told['action_id'], told['detail_id']) for told in self.messages(network)]
        )

    def test_update_is_refused_when_the_backend_does_not_answer(self):
        network, _ = self.used()
        self.fault(f'{_CHECK}:hang')
        self.service.conf.set_override('subnet_check_timeout', 1, 'api')
        self.addCleanup(self.service.conf.clear_override, 'subnet_check_timeout', 'api')
        status, document = self.add(network, self.service_of())
        self.assertEqual((409, 'active'), (status, self.shown(network)['status']))
        self.assertIn('did not answer', str(document))
        self.assertEqual([], self.services(network))

    def test_update_is_refused_when_the_backend_is_down(self):
        network, _ = self.used()
        [server] = self.servers(network)
        with self.service.services.db.writer() as conn:
            services.heartbeat(conn, 'test@gone', 'manila-share', 'nova', stopped=True)
            share_server_queries.update(conn, server.id, host='test@gone')
        status, document = self.add(network, self.service_of())
        self.assertEqual(409, status)
        self.assertIn('down', str(document))

    def test_servers_and_access_rules_are_in_error_after_a_failed_update(self):
        old, new = self.service_of(), self.service_of()
        network, [share] = self.used(old)
        self.fault(f'{_UPDATE}:fail_final')
        self.assertEqual(202, self.update(network, old, new)[0])
        self.settled(network)
        self.assertEqual(['error'], [server.status for server in self.servers(network)])
        shown = self.user.ok('GET', f'/shares/{share}')['share']
        self.assertEqual(('available', 'error'), (shown['status'], shown['access_rules_status']))
        self.assertEqual([new], self.services(network))
        self.assertEqual(
            [('011', '903')], [(told['action_id'], told['detail_id']) for told in self.messages(network)]
        )

    def test_failure_on_one_server_leaves_the_other_active(self):
        network, _ = self.used(shares=2)
        self.fault(f'{_UPDATE}:fail_final@once')
        self.assertEqual(200, self.add(network, self.service_of())[0])
        self.settled(network)
        self.assertEqual(['active', 'error'], sorted(server.status for server in self.servers(network)))

    def test_update_is_refused_for_servers_without_the_capability(self):
        """Refuse to change servers that were made by a backend without the capability."""
        network, _ = self.used()
        self.assertTrue(self.shown(network)['security_service_update_support'])
        self.cannot(network)
        self.assertFalse(self.shown(network)['security_service_update_support'])
        for action in ('add_security_service', 'add_security_service_check'):
            status, document = self.act(network, action, {'security_service_id': self.service_of()})
            self.assertEqual(409, status, document)
            self.assertIn('security_service_update_support', str(document))

    def cannot(self, network):
        found = self.servers(network)
        with self.service.services.db.writer() as conn:
            for server in found:
                share_server_queries.update(conn, server.id, security_service_update_support=False)

    def test_invalid_changes_are_refused(self):
        old, kerberos, other = self.service_of(), self.service_of('kerberos'), self.service_of()
        theirs = self.service_of(caller=self.caller('q'))
        network, _ = self.used(old)
        for found, status, word in (
            (self.add(network, other), 409, old),
            (self.add(network, old), 409, old),
            (self.add(network, theirs), 404, theirs),
            (self.add(network, other, caller=self.caller('q')), 404, network),
            (self.add(network, kerberos, version='2.62'), 403, network),
            (self.update(network, other, kerberos), 409, other),
            (self.update(network, old, kerberos), 409, 'kerberos'),
            (self.update(network, old, old), 409, old),
            (self.update(network, old, theirs), 404, theirs),
            (self.update(network, old, other, version='2.62'), 404, ''),
            (
                self.act(network, 'update_security_service', {'new_service_id': other}),
                400,
                'current_service_id',
            ),
            (self.act(network, 'remove_security_service', {'security_service_id': old}), 403, network),
        ):
            self.assertEqual(status, found[0], found)
            self.assertIn(word, str(found))
        self.assertEqual([old], self.services(network))
        self.assertEqual('active', self.shown(network)['status'])

    def test_update_is_refused_with_a_share_server_or_network_in_error(self):
        network, [share] = self.used()
        [server] = self.servers(network)
        service = self.service_of()
        for path, resource_id in (
            (f'/shares/{share}', share),
            (f'/share-servers/{server.id}', server.id),
            (f'/share-networks/{network}', network),
        ):
            self.admin.ok('POST', f'{path}/action', {'reset_status': {'status': 'error'}})
            status, document = self.add(network, service)
            self.assertEqual(409, status, document)
            self.assertIn(resource_id, str(document))

    def test_only_name_and_description_of_a_used_service_can_be_changed(self):
        service = self.service_of(domain='old')
        self.used(service)
        path = f'/security-services/{service}'
        self.user.ok('PUT', path, {'security_service': {'name': 'n', 'description': 'd'}})
        for values in ({'domain': 'new'}, {'name': 'm', 'password': 'new'}):
            self.assertEqual(403, self.user.call('PUT', path, {'security_service': values})[0])
        self.assertEqual(
            ('n', 'old'),
            tuple(self.user.ok('GET', path)['security_service'][key] for key in ('name', 'domain')),
        )
        self.assertEqual(403, self.user.call('DELETE', path)[0])

    def test_replaced_service_cannot_be_deleted_until_servers_are_updated(self):
        old, new = self.service_of(), self.service_of()
        network, _ = self.used(old)
        self.fault(f'{_UPDATE}:hang')
        self.assertEqual(202, self.update(network, old, new)[0])
        path = f'/security-services/{old}'
        self.assertEqual(403, self.user.call('DELETE', path)[0])
        self.assertEqual(403, self.user.call('PUT', path, {'security_service': {'password': 'p'}})[0])
        self.user.ok('PUT', path, {'security_service': {'name': 'n'}})
        self.service.knob('alpha', '')
        self.settled(network)
        self.user.ok('DELETE', path)

    def test_unused_service_can_be_deleted_while_a_server_is_created(self):
        self.fault('setup_server:hang')
        network = self.network()
        share = self.user.ok(
            'POST',
            '/shares',
            {'share': {'size': 1, 'share_proto': 'NFS', 'share_type': 'served', 'share_network_id': network}},
        )['share']
        base.eventually(lambda: self.calls('setup_server'), 'no server is created')
        self.user.ok('DELETE', f'/security-services/{self.service_of()}')
        self.service.knob('alpha', '')
        self.user.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_missing_service_is_named_in_the_error(self):
        there, gone = self.service_of(), uuidutils.generate_uuid()
        for new, current in ((there, gone), (gone, None)):
            work = types.SimpleNamespace(data=NewSecurityService(new_id=new, current_id=current))
            with self.service.services.db.reader() as conn:
                error = self.assertRaises(errors.Final, security_services._services, conn, work)
            self.assertEqual(f'Security service {gone} is gone.', str(error))

    def test_only_one_of_several_concurrent_updates_succeeds(self):
        """Let one of several concurrent changes succeed, and refuse the others."""
        old, *others = (self.service_of() for _ in range(4))
        network, _ = self.used(old)
        with concurrent.futures.ThreadPoolExecutor(3) as executor:
            found = list(executor.map(lambda new: self.update(network, old, new)[0], others))
        self.assertEqual([202, 409, 409], sorted(found))
        self.settled(network)
        [left] = self.services(network)
        self.assertEqual([{'ldap': left}], self.known(network))
        with self.service.services.db.reader() as conn:
            self.assertEqual([], operations.list_of_resource(conn, network, 'security_service.check'))


class CannotBeTold(served.ServedTest):
    """A backend that cannot change the security services of its servers, and reports so."""

    BACKENDS = {
        'alpha': 'driver_handles_share_servers = true\ndummy_capabilities = security_service_update_support:false\n'
    }

    def test_pools_report_no_support_and_types_that_need_it_find_no_backend(self):
        pools = self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools']
        self.assertEqual([False], [pool['capabilities']['security_service_update_support'] for pool in pools])
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'wants',
                    'extra_specs': {
                        'driver_handles_share_servers': 'True',
                        'security_service_update_support': '<is> True',
                    },
                }
            },
        )
        share = self.user.share(share_type='wants', share_network_id=self.network(), wait='error')
        self.assertTrue(self.messages(share['id']))
