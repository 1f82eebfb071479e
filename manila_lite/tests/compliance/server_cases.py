# SPDX-License-Identifier: Apache-2.0
"""Every call about share servers: what there is before it, and what must be true after it, however often it was made.

``cases.py`` has those about shares; its rules hold here too.
"""

import dataclasses
from typing import Any

from manila_lite import errors, kinds
from manila_lite.drivers import interface
from manila_lite.tests.compliance.cases import Case


class _ServerCase(Case):
    """Beside the server there is another one, and a share on it, which no call is to harm."""

    ABILITY = interface.MakesServers

    def arrange(self) -> None:
        self.share = self.test.made_share(rules=self.test.GOOD)

    def verify_kept(self) -> None:
        self.test.assertEqual(self.test.planned(self.test.server), self.test.addresses(self.test.server) - self.new)
        self.test.assertEqual('first', self.test.read(self.share))
        self.test.assertEqual(set(self.test.GOOD), self.test.in_force(self.share))

    @property
    def new(self) -> set[str]:
        """Addresses that the share's server has got by the call."""
        return set()


class SetupServer(_ServerCase):
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


class TeardownServer(_ServerCase):
    METHOD = 'teardown_server'

    def arrange(self) -> None:
        super().arrange()
        self.server = self.test.made_server('four', 'more')
        self.args = (self.server,)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(set(), self.test.addresses(self.server))
        self.test.assertRaises(errors.Final, self.test.driver.create_share, self.test.a_share(server=self.server))


class EnsureServers(_ServerCase):
    """One server runs, one has an address that was given up, one was never heard of, one makes no sense."""

    METHOD = 'ensure_servers'

    def arrange(self) -> None:
        super().arrange()
        self.lost = self.test.a_server('four')
        self.grown = self.test.made_server()
        self.test.driver.setup_server(self.grown.joined(self.test.subnet('more')))
        self.odd = self.test.a_server('four', 'overlap')
        self.args = ([self.odd, self.lost, self.test.server, self.grown],)

    def verify(self, answer: Any) -> None:
        self.test.assertEqual({server.id: server is self.odd for server in self.args[0]},
                              {ident: bool(result.error) for ident, result in answer.items()})
        for server in self.args[0][1:]:
            self.test.assertEqual(self.test.planned(server), self.test.addresses(server))


class _Update(_ServerCase):
    ABILITY = interface.AddsSubnets


class CheckUpdate(_Update):
    METHOD = 'check_update_server_network'

    def arrange(self) -> None:
        super().arrange()
        targets = [kinds.EnsureTarget(self.share, tuple(self.test.rules(self.test.GOOD)))]
        self.args = (self.test.server, self.test.subnet('more', allocated=False), targets)

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)


class CheckDenied(CheckUpdate):
    RAISES = errors.Final

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.server, self.test.subnet('overlap', allocated=False), self.args[2])


class UpdateNetwork(_Update):
    METHOD = 'update_server_network'

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
        self.test.assertEqual(answer.export_locations[share.id],
                              tuple(self.test.ensured(share, self.test.GOOD).export_locations))
        again = self.test.driver.update_server_network(self.joined, *self.args[1:])
        self.test.assertEqual(answer, again, 'a server that has the subnet already gets another answer')
        self.test.driver.ensure_servers([self.test.server])
        self.test.assertEqual(self.test.planned(self.test.server), self.test.addresses(self.test.server))


class UpdateDenied(_Update):
    METHOD = 'update_server_network'
    RAISES = errors.Final

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.server, self.test.subnet('overlap'), [self.share], [])

    def verify(self, answer: Any) -> None:
        self.test.assertEqual(self.test.planned(self.test.server), self.test.addresses(self.test.server))


class UpdateSubnetMetadata(_ServerCase):
    METHOD = 'update_subnet_metadata'
    ABILITY = interface.TakesSubnetMetadata

    def arrange(self) -> None:
        super().arrange()
        self.args = (self.test.server, self.test.server.networks[0], {'quality': 'good'})

    def verify(self, answer: Any) -> None:
        self.test.assertIsNone(answer)
        self.test.assertRaises(errors.Final, self.test.driver.update_subnet_metadata, self.test.server,
                               self.test.subnet('more'), {})


SERVER_CASES = (SetupServer, TeardownServer, EnsureServers, UpdateNetwork, UpdateSubnetMetadata)
#: Those that change nothing, whatever happens to them.
QUESTIONS = (CheckUpdate, CheckDenied, UpdateDenied)
