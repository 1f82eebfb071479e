# SPDX-License-Identifier: Apache-2.0
import testtools

from manila_lite import errors
from manila_lite.drivers.cephfs.nfs_cluster.exports import Exports
from manila_lite.tests.unit.drivers.cephfs.nfs_cluster.module import Cluster

CLIENTS = ((('10.0.0.1', '10.0.0.2'), 'rw'), (('fd00::/64',), 'ro'))


class ExportsTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster()
        self.exports = Exports(self.cluster, 'c', 'a')

    def test_new_export_is_found_with_its_clients(self):
        self.assertIsNone(self.exports.find('/shares/x'))
        made = self.exports.create('/shares/x', '/volumes/x', CLIENTS)
        self.assertEqual(made, self.exports.find('/shares/x'))
        self.assertEqual((CLIENTS, True), (made.clients, made.is_common))
        self.assertTrue(made.leads_to('a', '/volumes/x'))
        self.assertFalse(made.leads_to('b', '/volumes/x'))
        self.assertFalse(made.leads_to('a', '/volumes'))

    def test_changed_export_keeps_number_and_id(self):
        made = self.exports.create('/shares/x', '/volumes/x', CLIENTS)
        self.exports.change(made, CLIENTS[:1])
        found = self.exports.find('/shares/x')
        self.assertEqual((made.number, made.user, CLIENTS[:1]), (found.number, found.user, found.clients))

    def test_every_export_asks_for_a_mount_of_its_own(self):
        self.exports.create('/shares/x', '/volumes/x', ())
        self.assertEqual('/volumes/x', self.cluster.exports['/shares/x']['fsal']['cmount_path'])

    def test_numbers_are_not_taken_twice(self):
        made = [self.exports.create(f'/shares/{name}', '/volumes/x', ()).number for name in range(100)]
        self.assertEqual(100, len(set(made)))
        self.assertTrue(all(0 < number < 65536 for number in made))

    def test_removed_export_may_be_removed_again(self):
        self.exports.create('/shares/x', '/volumes/x', ())
        self.exports.remove('/shares/x')
        self.exports.remove('/shares/x')
        self.assertEqual({}, self.cluster.exports)

    def test_id_that_reaches_several_exports_is_refused_and_nothing_is_left(self):
        self.cluster.shared = True
        self.exports.create('/shares/x', '/volumes/x', ())
        refused = self.assertRaises(errors.Final, self.exports.create, '/shares/y', '/volumes/y', ())
        self.assertIn('nfs.c', str(refused))
        self.assertEqual({'/shares/x'}, set(self.cluster.exports))

    def test_settings_as_the_module_tells_them_after_it_has_read_its_pool(self):
        self.exports.create('/shares/x', '/volumes/x', ())
        told = self.cluster.exports['/shares/x']
        told |= {'sectype': 'sys', 'access_type': 'NONE', 'protocols': [4]}
        self.assertTrue(self.exports.find('/shares/x').is_common)
        for other in (
            {'access_type': 'RW'},
            {'squash': 'all_squash'},
            {'protocols': [3, 4]},
            {'transports': ['TCP', 'UDP']},
        ):
            self.cluster.exports['/shares/x'] = told | other
            self.assertFalse(self.exports.find('/shares/x').is_common, other)

    def test_list_of_all_exports_stays_below_what_the_module_reads(self):
        made = 0
        while True:
            try:
                self.exports.vet_room()
            except errors.Final as full:
                self.assertIn(str(made), str(full))
                break
            self.cluster.exports[f'/{made}'] = {'export_id': made, 'fsal': {'name': 'CEPH'}}
            made += 1
        line = '%url "rados://nfs-ganesha/c/export-65535"\n\n'
        self.assertTrue(100 < made < 8192 // len(line), made)
