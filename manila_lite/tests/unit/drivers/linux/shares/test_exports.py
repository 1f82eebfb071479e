# SPDX-License-Identifier: Apache-2.0
from manila_lite import errors, values
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.tests.unit.drivers.linux.shares import base


class _ShareServers:
    """The share servers of a backend, each with one protocol server, which is its name."""

    def __init__(self):
        self.forgotten = []

    def protocol_server(self, server_id, proto):
        return f'{server_id}/{proto}'

    def forget(self, server_id, resource_id):
        self.forgotten.append((server_id, resource_id))


def _server():
    allocation = values.Allocation('i', '10.5.0.1', '10.5.0.0/24', 4)
    return values.ShareServer(
        'server', (values.ServerNetwork('subnet', '10.5.0.0/24', 4, allocations=(allocation,)),)
    )


class WithoutShareServersTest(base.ServiceTest):
    def test_unsupported_shares_are_refused(self):
        self.exports.vet(base.share())
        self.assertRaisesRegex(errors.Final, 'no pool', self.exports.vet, base.share(pool='other'))
        self.assertRaisesRegex(errors.Final, 'does not serve NFS', self.exports.vet, base.share(proto='NFS'))
        self.assertRaisesRegex(errors.Final, 'not an id', self.exports.vet, base.share('a/b'))

    def test_all_shares_are_on_the_servers_of_the_backend(self):
        self.assertIs(self.server, self.exports.protocol_server_of(base.share()))
        self.assertEqual(
            [r'\\10.0.0.1\a'], [location.path for location in self.exports.locations(base.share())]
        )
        self.exports.forget(base.share())
        self.exports.forget(base.share(), 'snapshot')
        self.assertEqual([('forget', 'a'), ('forget', 'snapshot')], self.server.calls)


class WithShareServersTest(base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.share_servers = _ShareServers()
        self.exports = ShareExports(
            frozenset({'CIFS'}), lambda: ['10.0.0.1'], self.server, {'CIFS': 445}, self.share_servers
        )

    def test_each_share_is_on_its_share_server(self):
        share = base.share(server=_server())
        self.assertEqual('server/CIFS', self.exports.protocol_server_of(share))
        self.assertEqual([r'\\10.5.0.1\a'], [location.path for location in self.exports.locations(share)])
        self.assertEqual(['10.5.0.1'], self.exports.addresses(share))
        self.exports.forget(share, 'snapshot')
        self.assertEqual([('server', 'snapshot')], self.share_servers.forgotten)

    def test_share_without_a_share_server_has_no_protocol_server(self):
        self.assertRaisesRegex(errors.Final, 'no share server', self.exports.protocol_server_of, base.share())
        self.exports.forget(base.share())
        self.assertEqual([], self.share_servers.forgotten + self.server.calls)
