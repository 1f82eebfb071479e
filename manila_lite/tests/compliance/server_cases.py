# SPDX-License-Identifier: Apache-2.0
"""Every call about share servers: preconditions and results, however often it is made.

``cases.py`` has those about shares; its rules apply here too.
"""

import dataclasses
from typing import Any

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.tests.compliance.cases import Case


class ServerCase(Case):
    """A call about share servers, beside another server with a share, which no call may harm."""

    ABILITY = interface.MakesServers

    def arrange(self) -> None:
        self.share = self.test.made_share(rules=self.test.GOOD)

    def verify_kept(self) -> None:
        self.test.assertEqual(
            self.test.planned(self.test.server), self.test.addresses(self.test.server) - self.new
        )
        self.test.assertEqual('first', self.test.read(self.share))
        self.test.assertEqual(set(self.test.GOOD), self.test.in_force(self.share))

    @property
    def new(self) -> set[str]:
        """Return the addresses that the call has added to the share's server."""
        return set()


class SetupServer(ServerCase):
    METHOD = 'setup_server'

    def arrange(self) -> None:
        super().arrange()
        self.server = self.test.a_server()
        self.args = (self.server,)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(self.test.planned(self.server), self.test.addresses(self.server))
        self.test.assertTrue(all(isinstance(text, str) for pair in answer.items() for text in pair))
        share = self.test.a_share(server=self.server)
        self.test.assert_serves(self.server, self.test.driver.create_share(share))
        self.test.driver.delete_share(share)


class TeardownServer(ServerCase):
    METHOD = 'teardown_server'

    def arrange(self) -> None:
        super().arrange()
        self.server = self.test.made_server('four', 'more')
        self.args = (self.server,)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(set(), self.test.addresses(self.server))
        self.test.assertRaises(
            errors.Final, self.test.driver.create_share, self.test.a_share(server=self.server)
        )


class EnsureServers(ServerCase):
    """One server runs, one has an address that was given up, one is unknown, one makes no sense."""

    METHOD = 'ensure_servers'

    def arrange(self) -> None:
        super().arrange()
        self.lost = self.test.a_server('four')
        self.grown = self.test.made_server()
        self.test.driver.setup_server(self.grown.joined(self.test.subnet('more')))
        self.odd = self.test.a_server('four', 'overlap')
        self.args = ([self.odd, self.lost, self.test.server, self.grown],)

    def lasting(self, answer: Any) -> Any:
        return {server_id: dataclasses.replace(result, repaired=()) for server_id, result in answer.items()}

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(
            {server.id: server is self.odd for server in self.args[0]},
            {server_id: bool(result.error) for server_id, result in answer.items()},
        )
        for server in self.args[0][1:]:
            self.test.assertEqual(self.test.planned(server), self.test.addresses(server))


class Readdress(ServerCase):
    """A server with a share gets other addresses, as when its copy takes over its own."""

    METHOD = 'ensure_servers'

    def arrange(self) -> None:
        super().arrange()
        before = self.test.made_server('four')
        self.moved = dataclasses.replace(before, networks=(self.test.subnet('four'),))
        self.there = self.test.a_share(server=before)
        self.test.driver.create_share(self.there)
        self.args = ([self.moved],)

    def lasting(self, answer: Any) -> Any:
        return {server_id: dataclasses.replace(result, repaired=()) for server_id, result in answer.items()}

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(
            {self.moved.id: None}, {server_id: result.error for server_id, result in answer.items()}
        )
        self.test.assertEqual(self.test.planned(self.moved), self.test.addresses(self.moved))
        ensured = self.test.ensured(dataclasses.replace(self.there, server=self.moved))
        self.test.assertIsNone(ensured.error)
        self.test.assert_serves(self.moved, ensured.export_locations)


class _Update(ServerCase):
    ABILITY = interface.AddsSubnets


class CheckUpdate(_Update):
    METHOD = 'check_update_share_server_network_allocations'

    def arrange(self) -> None:
        super().arrange()
        targets = [values.EnsureTarget(self.share, tuple(self.test.rules(self.test.GOOD)))]
        self.args = (self.test.server, self.test.subnet('more', allocated=False), targets, [])

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)


class CheckDenied(CheckUpdate):
    RAISES = errors.Final

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.server, self.test.subnet('overlap', allocated=False), *self.args[2:])


class UpdateNetwork(_Update):
    METHOD = 'update_share_server_network_allocations'

    def arrange(self) -> None:
        super().arrange()
        self.network = self.test.subnet('more')
        self.joined = self.test.server.joined(self.network)
        self.args = (self.test.server, self.network, [self.share], [])

    @property
    def new(self) -> set[str]:
        return {allocation.ip_address for allocation in self.network.allocations}

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(self.test.planned(self.joined), self.test.addresses(self.test.server))
        self.test.assertEqual({self.share.id}, set(answer.export_locations))
        self.test.assert_serves(self.joined, answer.export_locations[self.share.id])
        share = dataclasses.replace(self.share, server=self.joined)
        self.test.assertEqual(
            answer.export_locations[share.id],
            tuple(self.test.ensured(share, self.test.GOOD).export_locations),
        )
        again = self.test.driver.update_share_server_network_allocations(self.joined, *self.args[1:])
        self.test.assertEqual(answer, again, 'a server that has the subnet already gets another answer')
        self.test.driver.ensure_servers([self.test.server])
        self.test.assertEqual(self.test.planned(self.test.server), self.test.addresses(self.test.server))


class UpdateDenied(_Update):
    METHOD = 'update_share_server_network_allocations'
    RAISES = errors.Final

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.server, self.test.subnet('overlap'), [self.share], [])

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(self.test.planned(self.test.server), self.test.addresses(self.test.server))


class UpdateSubnetMetadata(ServerCase):
    METHOD = 'update_share_network_subnet_from_metadata'
    ABILITY = interface.TakesSubnetMetadata

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.server, self.test.server.networks[0], {'quality': 'good'})

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.assertRaises(
            errors.Final,
            self.test.driver.update_share_network_subnet_from_metadata,
            self.test.server,
            self.test.subnet('more'),
            {},
        )


class _SecurityService(ServerCase):
    """Two servers use the same security service, and one of them gets another."""

    ABILITY = interface.UpdatesSecurityServices

    def arrange(self) -> None:
        super().arrange()
        self.current, self.wanted = self.test.service(), self.test.service()
        self.server, self.other = (self.test.made_server(security_services=(self.current,)) for _ in range(2))
        self.share = self.test.a_share(server=self.server)
        self.locations = self.test.driver.create_share(self.share)
        self.test.driver.update_access(self.share, self.test.rules(self.test.GOOD))
        self.changed = dataclasses.replace(self.server, security_services=(self.wanted,))
        targets = [values.EnsureTarget(self.share, tuple(self.test.rules(self.test.GOOD)))]
        self.args = (self.changed, self.wanted, self.current, targets)

    def verify_kept(self) -> None:
        self.test.assertEqual({self.current.id}, self.test.services(self.other))
        self.test.assertEqual(self.test.planned(self.server), self.test.addresses(self.server))
        self.test.assertEqual(set(self.test.GOOD), self.test.in_force(self.share))


class CheckSecurityService(_SecurityService):
    METHOD = 'check_update_share_server_security_service'

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.assertEqual({self.current.id}, self.test.services(self.server))


class UpdateSecurityService(_SecurityService):
    METHOD = 'update_share_server_security_service'

    def verify(self, answer: Any) -> None:
        self.test.assertEqual({self.wanted.id}, self.test.services(self.server))
        self.test.assertEqual({}, dict(answer.lost))
        self.test.assert_serves(self.changed, answer.export_locations.get(self.share.id, self.locations))
        self.test.driver.ensure_servers([self.changed])
        self.test.assertEqual({self.wanted.id}, self.test.services(self.server))
        self.test.driver.update_share_server_security_service(
            self.server, self.current, self.wanted, self.args[3]
        )
        self.test.assertEqual({self.current.id}, self.test.services(self.server))
        self.test.driver.update_share_server_security_service(*self.args)


class AddSecurityService(_SecurityService):
    METHOD = 'update_share_server_security_service'

    def arrange(self) -> None:
        super().arrange()
        self.wanted = self.test.service('kerberos')
        server = dataclasses.replace(self.server, security_services=(self.current, self.wanted))
        self.args = (server, self.wanted, None, self.args[3])

    def verify(self, answer: Any) -> None:
        self.test.assertEqual({self.current.id, self.wanted.id}, self.test.services(self.server))


class UnmanageServer(ServerCase):
    """A share server of ours is unmanaged."""

    METHOD = 'unmanage_server'
    ABILITY = interface.ManagesServers

    def arrange(self) -> None:
        super().arrange()
        self.old = self.test.made_server('four')
        self.args = (self.old,)

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.assertEqual(self.test.planned(self.old), self.test.left_there(self.old))
        self.test.assertRaises(
            errors.Final, self.test.driver.create_share, self.test.a_share(server=self.old)
        )
        share_ids = self.test.driver.find_server(self.test.a_server(), self.old.id, {})
        self.test.assertEqual(self.test.planned(self.old), set(share_ids))


class ManageServer(UnmanageServer):
    """A share server that was unmanaged is managed again, with another id."""

    METHOD = 'manage_server'

    def arrange(self) -> None:
        super().arrange()
        self.test.driver.unmanage_server(self.old)
        self.server = self.test.a_server(networks=self.old.networks)
        self.args = (self.server, self.old.id, {})

    def verify(self, answer: Any) -> None:
        self.test.assertTrue(all(isinstance(text, str) for pair in answer.items() for text in pair))
        self.test.assertEqual(set(), self.test.addresses(self.old))
        self.test.assertEqual(self.test.planned(self.server), self.test.addresses(self.server))
        self.test.assertIsNone(self.test.driver.ensure_servers([self.server])[self.server.id].error)
        share = self.test.a_share(server=self.server)
        self.test.assert_serves(self.server, self.test.driver.create_share(share))
        self.test.assertRaises(errors.Final, self.test.driver.unmanage_server, self.server)
        self.test.driver.delete_share(share)
        for driver_call in (self.test.driver.find_server, self.test.driver.manage_server):
            self.test.assertRaises(errors.Final, driver_call, self.test.a_server(), self.old.id, {})


class FindServer(ManageServer):
    METHOD = 'find_server'

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(self.test.planned(self.old), set(answer))
        self.test.assertEqual(set(), self.test.addresses(self.server))


class FindUnknown(FindServer):
    RAISES = errors.Final

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.server, 'unknown', {})

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(set(), self.test.addresses(self.server))


class FindOurs(FindUnknown):
    def arrange(self) -> None:
        super().arrange()
        self.args = (self.server, self.test.server.id, {})


SERVER_CASES = (
    SetupServer,
    TeardownServer,
    EnsureServers,
    Readdress,
    UpdateNetwork,
    UpdateSubnetMetadata,
    UpdateSecurityService,
    AddSecurityService,
    UnmanageServer,
    ManageServer,
)
#: Calls that change nothing, whatever their result.
QUESTIONS = (CheckUpdate, CheckDenied, UpdateDenied, CheckSecurityService, FindServer, FindUnknown, FindOurs)
