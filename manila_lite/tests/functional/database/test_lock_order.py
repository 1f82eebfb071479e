# SPDX-License-Identifier: Apache-2.0
"""The order in which the transactions of a busy service take their locks (``db/core/lock_order.py``)."""

import collections
import re
import traceback

import sqlalchemy as sa

from manila_lite.db.core import lock_order
from manila_lite.tests.functional import served

#: The table of a statement that locks rows. SQLite has no words for that in a SELECT: that of ``access.lock`` is known.
_LOCKING = re.compile(
    r'(?:UPDATE|DELETE FROM|SELECT .*?\bFROM(?=.*(?:FOR UPDATE|\nWHERE share_instances.share_id = \?$)))'
    r' ["`]?(\w+)',
    re.DOTALL,
)


def _place():
    """Return the last lines of code that led here, without those of libraries, of queries and of this file."""
    return [
        f'{frame.filename}:{frame.lineno} {frame.name}'
        for frame in traceback.extract_stack()
        if '/manila_lite/' in frame.filename and '/db/' not in frame.filename and frame.filename != __file__
    ][-4:]


class Watch:
    """The pairs of tables, of those in the order, that a transaction locked one after the other, with a place in the code."""

    def __init__(self):
        self.pairs = {}
        self._held = collections.defaultdict(list)

    def saw(self, conn, cursor, text, *more):
        """Note the table of a statement, after those of its transaction."""
        locking = _LOCKING.match(text)
        if (
            locking
            and locking[1] in lock_order.ORDER
            and locking[1] not in self._held[id(conn.connection.dbapi_connection)]
        ):
            held = self._held[id(conn.connection.dbapi_connection)]
            for before in held:
                if (before, locking[1]) not in self.pairs:
                    self.pairs[before, locking[1]] = _place()
            held.append(locking[1])

    def ended(self, conn):
        """Forget the transaction."""
        self._held.pop(id(conn.connection.dbapi_connection), None)

    def wrong(self):
        """Return the pairs that are against the order."""
        place = lock_order.ORDER.index
        return {pair: where for pair, where in self.pairs.items() if place(pair[0]) > place(pair[1])}


class LockOrder(served.ServedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kind = cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'whole',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'snapshot_support': 'True'},
                }
            },
        )['share_type']['id']

    def setUp(self):
        super().setUp()
        self.watch, engine = Watch(), self.service.services.db.engine
        for event, call in (('before_cursor_execute', self.watch.saw), ('begin', self.watch.ended)):
            sa.event.listen(engine, event, call)
            self.addCleanup(sa.event.remove, engine, event, call)

    def share(self, network, **more):
        return self.user.share(share_type='whole', share_network_id=network, **more)

    def post(self, path, key, **values):
        return self.user.ok('POST', f'/{path}', {key: values})[key]

    def made(self, path, key, **values):
        return self.user.wait(f'/{path}/{self.post(path, key, **values)["id"]}', key, 'available')['id']

    def busy(self):
        """Let a tenant do many things, one after the other: the order of locks does not depend on others."""
        network = self.network()
        ldap = [
            self.post('security-services', 'security_service', type='ldap', name=name)['id'] for name in 'ab'
        ]
        self.act(network, 'add_security_service', {'security_service_id': ldap[0]})
        share = self.share(network)['id']
        self.act(
            network, 'update_security_service', {'current_service_id': ldap[0], 'new_service_id': ldap[1]}
        )
        self.settled(network)
        self.user.ok(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
        )
        self.settled(network)
        for action in ({'extend': {'new_size': 2}}, {'shrink': {'new_size': 1}}):
            self.user.ok('POST', f'/shares/{share}/action', action)
            self.user.wait(f'/shares/{share}', 'share', 'available')
        rule = self.user.ok(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.1'}},
        )['access']['id']
        self.user.ok('POST', f'/shares/{share}/action', {'deny_access': {'access_id': rule}})
        snapshot = self.made('snapshots', 'snapshot', share_id=share)
        self.user.ok('DELETE', f'/snapshots/{snapshot}')
        self.grouped(network)
        self.user.ok('DELETE', f'/shares/{share}')
        self.ended(network)

    def grouped(self, network):
        """Have a share group with a share and a snapshot, for some time."""
        group_type = self.admin.ok(
            'POST', '/share-group-types', {'share_group_type': {'name': network, 'share_types': [self.kind]}}
        )['share_group_type']['id']
        group = self.made(
            'share-groups',
            'share_group',
            share_group_type_id=group_type,
            share_types=[self.kind],
            share_network_id=network,
        )
        share = self.share(network, share_group_id=group)['id']
        taken = self.made('share-group-snapshots', 'share_group_snapshot', share_group_id=group)
        for path in (
            f'share-group-snapshots/{taken}',
            f'shares/{share}?share_group_id={group}',
            f'share-groups/{group}',
        ):
            self.user.ok('DELETE', f'/{path}')

    def ended(self, network):
        """Delete the network, subnet after subnet, and wait for its servers."""
        first, *_ = self.shown(network)['share_network_subnets']
        self.user.ok('DELETE', f'/share-networks/{network}/subnets/{first["id"]}')
        self.user.ok('DELETE', f'/share-networks/{network}')
        served.base.eventually(lambda: not self.servers(network), 'servers of a deleted network are there')

    def test_49_8_transactions_lock_rows_in_one_order(self):
        self.busy()
        wrong = self.watch.wrong()
        self.assertEqual(
            {}, {pair: where for pair, where in wrong.items() if pair not in lock_order.ELSEWHERE}
        )
        self.assertEqual(set(lock_order.ELSEWHERE), set(wrong), 'an exception that nobody needs')
        for pair in (
            ('share_networks', 'share_servers'),
            ('share_groups', 'share_instances'),
            ('share_instances', 'shares'),
        ):
            self.assertIn(pair, self.watch.pairs)
