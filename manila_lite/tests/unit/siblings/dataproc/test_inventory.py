# SPDX-License-Identifier: Apache-2.0
"""An inventory reports its mistakes, and gives each node once."""

from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

from manila_lite import errors
from manila_lite.siblings.dataproc import node_conf
from manila_lite.siblings.dataproc.infra import inventory
from manila_lite.siblings.dataproc.interface import Node, Wanted

ONE = {'name': 'one', 'address': '10.0.0.1', 'host_key': 'ssh-ed25519 AAAA'}
TWO = {
    'name': 'two',
    'address': 'FD00::0:2',
    'host_key': 'ssh-ed25519 BBBB',
    'port': 2222,
    'user': 'debian',
    'key_file': '/k',
}
WANTED = Wanted('i', 'c-workers-0', 'c', 'workers')


class Read(testtools.TestCase):
    def test_values_and_defaults_are_read(self):
        self.assertEqual(
            {
                'one': Node('one', 'one', '10.0.0.1', 22, 'root', 'ssh-ed25519 AAAA', ''),
                'two': Node('two', 'two', 'fd00::2', 2222, 'debian', 'ssh-ed25519 BBBB', '/k'),
            },
            inventory.read({'nodes': [ONE, TWO]}, 'root'),
        )

    def test_error_names_the_mistake_and_the_node(self):
        for entries, why in (
            (None, 'a list "nodes"'),
            ({}, 'a list "nodes"'),
            (['one'], 'node 1'),
            ([{**ONE, 'pasword': 'x'}], 'nothing else'),
            ([{**ONE, 'host_key': ''}], 'needs host_key'),
            ([{'name': 'one', 'address': '10.0.0.1'}], 'needs host_key'),
            ([{**ONE, 'address': 'one.example.org'}], 'not an address'),
            ([{**ONE, 'port': '22'}], 'not a port'),
            ([{**ONE, 'port': True}], 'not a port'),
            ([{**ONE, 'port': 0}], 'not a port'),
            ([{**ONE, 'user': 5}], 'are text'),
            ([ONE, ONE], 'node 2.*twice'),
            ([ONE, {**TWO, 'address': '10.0.0.1', 'port': 22}], 'node 2.*twice'),
        ):
            bad = self.assertRaises(errors.Invalid, inventory.read, {'nodes': entries}, 'root')
            self.assertRegex(str(bad), why)


class Pool(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.file = Path(self.useFixture(fixtures.TempDir()).path, 'inventory')
        conf = cfg.ConfigOpts()
        node_conf.register_opts(conf)
        conf([])
        conf.set_override('inventory_file', str(self.file), 'dataproc_nodes')
        self.infra = inventory.Inventory(conf)

    def test_first_free_node_is_offered(self):
        self.file.write_text(f'nodes: [{ONE}, {TWO}]')
        self.assertEqual('one', self.infra.offer(WANTED, frozenset()))
        self.assertEqual('two', self.infra.offer(WANTED, frozenset({'one', 'gone'})))
        self.assertIn(
            'has 2', str(self.assertRaises(errors.Final, self.infra.offer, WANTED, frozenset({'one', 'two'})))
        )

    def test_unusable_file_is_a_final_error(self):
        self.assertIn(
            'cannot be used', str(self.assertRaises(errors.Final, self.infra.offer, WANTED, frozenset()))
        )
        for text in ('nodes: [', 'nodes: 5', '\x00'):
            self.file.write_text(text)
            self.assertIn(
                'cannot be used', str(self.assertRaises(errors.Final, self.infra.offer, WANTED, frozenset()))
            )

    def test_node_missing_in_the_file_is_a_final_error(self):
        self.file.write_text(f'nodes: [{ONE}]')
        self.assertIn('no longer', str(self.assertRaises(errors.Final, self.infra.ready, 'two', WANTED)))
