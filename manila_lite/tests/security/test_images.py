# SPDX-License-Identifier: Apache-2.0
"""Images of the compute service: a project overwrites, boots, sees and deletes only its own, by any name."""

import concurrent.futures
import threading
from pathlib import Path

import fixtures
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.siblings.compute.drivers.interface import Server
from manila_lite.siblings.compute.drivers.qemu import QemuDriver
from manila_lite.tests.functional.base import eventually
from manila_lite.tests.functional.siblings.compute import driver_contract
from manila_lite.tests.functional.siblings.compute.base import ComputeTest

#: Names that no plain file can have, or that the service keeps for itself.
HOSTILE = (
    '../debian',
    '..',
    '.',
    '',
    '/etc/passwd',
    'a/b',
    'debian\n',
    '.half.new',
    'a\x00',
    'x' * 256,
    'trap.qcow2',
    '-v',
    'ä',
    None,
    7,
    ['a'],
    'projects/p',
)


class Names(ComputeTest):
    COMPUTE = 'max_images = 3\n[compute_fake]\nimages = debian,cirros'

    def image(self, caller, server, name):
        return caller.call('POST', f'/servers/{server}/action', {'createImage': {'name': name}})

    def images(self, caller):
        return {one['name']: one['public'] for one in caller.ok('GET', '/images/detail')['images']}

    def saved(self, caller, server, name):
        self.assertEqual(202, self.image(caller, server, name)[0])
        eventually(
            lambda: caller.ok('GET', f'/images/{name}')['image']['status'] == 'ACTIVE', f'{name} is not saved'
        )
        caller.wait(server, 'SHUTOFF')

    def test_image_with_a_taken_name_is_refused(self):
        server = self.me.off(imageRef='debian')
        self.saved(self.me, server, 'mine')
        for name in ('mine', 'debian', 'cirros'):
            status, document, _ = self.image(self.me, server, name)
            self.assertEqual((409, 'image_exists'), (status, document['conflictingRequest']['reason']), name)
        self.assertEqual({'mine': False, 'debian': True, 'cirros': True}, self.images(self.me))

    def test_one_of_many_concurrent_images_gets_the_name(self):
        servers = [self.me.off(imageRef='debian') for _ in range(4)]
        start = threading.Barrier(len(servers))

        def ask(server):
            start.wait()
            return self.image(self.me, server, 'same')[0]

        with concurrent.futures.ThreadPoolExecutor(len(servers)) as pool:
            self.assertEqual([202, 409, 409, 409], sorted(pool.map(ask, servers)))

    def test_names_of_projects_are_separate(self):
        stranger = self.on_compute(uuidutils.generate_uuid())
        mine, theirs = self.me.off(imageRef='debian'), stranger.off(imageRef='debian')
        self.saved(self.me, mine, 'golden')
        self.assertNotIn('golden', self.images(stranger))
        for method in ('GET', 'DELETE'):
            self.assertEqual((404, 'image_not_found'), stranger.refused(method, '/images/golden'))
        self.assertEqual(
            (404, 'server_not_found'),
            stranger.refused('POST', f'/servers/{mine}/action', {'createImage': {'name': 'stolen'}}),
        )
        self.saved(stranger, theirs, 'golden')
        self.assertEqual(
            {f'{one}/golden' for one in (self.project, stranger.token.split(':')[1])},
            {one for one in self.compute.records()['images'] if one.endswith('/golden')},
        )
        self.assertEqual(204, stranger.call('DELETE', '/images/golden')[0])
        eventually(lambda: 'golden' not in self.images(stranger), 'golden is still there')
        self.assertIn('golden', self.images(self.me))
        self.assertIn(f'{self.project}/golden', self.compute.records()['images'])

    def test_deleting_an_image_of_the_operator_is_refused(self):
        admin = self.on_compute(self.project, 'admin,member,reader')
        for caller in (self.me, admin):
            self.assertEqual((403, 'image_is_public'), caller.refused('DELETE', '/images/debian'))
        reader = self.on_compute(self.project, 'reader')
        self.assertIn('debian', self.images(reader))
        self.assertEqual(403, reader.refused('DELETE', '/images/debian')[0])

    def test_hostile_names_are_refused(self):
        server = self.me.off(imageRef='debian')
        for name in HOSTILE:
            self.assertEqual(400, self.image(self.me, server, name)[0], name)
            if name is not None and name != 'trap.qcow2':
                body = {'server': {'name': 'one', 'imageRef': name}}
                self.assertEqual(400, self.me.refused('POST', '/servers', body)[0], name)
        self.assertEqual({'debian', 'cirros'}, set(self.images(self.me)))

    def test_image_over_the_limit_is_refused_until_one_is_deleted(self):
        server = self.me.off(imageRef='debian')
        for number in range(3):
            self.saved(self.me, server, f'copy-{number}')
        self.assertEqual(413, self.image(self.me, server, 'one-more')[0])
        self.assertEqual(204, self.me.call('DELETE', '/images/copy-1')[0])
        eventually(lambda: 'copy-1' not in self.images(self.me), 'copy-1 is still there')
        self.saved(self.me, server, 'one-more')

    def test_failed_image_frees_its_name(self):
        server = self.me.off(imageRef='debian')
        self.knob('create_image final')
        self.assertEqual(202, self.image(self.me, server, 'name')[0])
        eventually(lambda: set(self.images(self.me)) == {'debian', 'cirros'}, 'the name is still taken')
        self.knob('create_image fail')
        self.me.wait(server, 'SHUTOFF')
        self.assertEqual(202, self.image(self.me, server, 'name')[0])
        self.me.ok('DELETE', f'/servers/{server}')
        self.me.wait(server, 'gone')
        self.assertEqual({'debian', 'cirros'}, set(self.images(self.me)))


class Files(fixtures.TestWithFixtures):
    """The same on a disk: a driver that keeps files, without a guest."""

    def setUp(self):
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.images = self.folder / 'images'
        self.images.mkdir()
        (self.images / 'debian').write_bytes(b'public')
        self.driver = QemuDriver(driver_contract.configured(QemuDriver, self.folder))

    def server(self, project, image='debian', write=None):
        """Return a server of a project, and the content of its disk."""
        server = Server(uuidutils.generate_uuid(), project, 'n', 64, 1, image=image)
        self.driver.spawn(server)
        disk = self.driver.files(server).disk
        if write is not None:
            disk.write_bytes(write)
        return server, disk.read_bytes()

    def test_each_project_boots_its_own_image(self):
        for project in ('p', 'q', '..', '../..', ''):
            server, _ = self.server(project, write=project.encode())
            for name in ('debian', 'own'):
                self.driver.create_image(server, name)
        for project in ('p', 'q', '..', '../..', ''):
            for name in ('debian', 'own'):
                self.assertEqual(project.encode(), self.server(project, name)[1])
        self.assertEqual(b'public', (self.images / 'debian').read_bytes())
        self.assertEqual(b'public', self.server('stranger')[1])
        self.assertRaises(errors.Final, self.server, 'stranger', 'own')
        self.assertEqual({'debian', 'projects'}, {path.name for path in self.images.iterdir()})
        self.assertEqual({'s', 'images'}, {path.name for path in self.folder.iterdir()})
        self.assertEqual({'debian'}, self.driver.capabilities().images)

    def test_image_cannot_be_the_kernel_of_another_project(self):
        server, _ = self.server('p', write=b'x')
        self.driver.create_image(server, 'kernel')
        self.assertRaises(
            errors.Final,
            self.driver.spawn,
            Server(uuidutils.generate_uuid(), 'q', 'n', 64, 1, kernel='kernel'),
        )

    def test_deleting_an_image_keeps_those_of_others_with_its_name(self):
        for project in ('p', 'q'):
            self.driver.create_image(self.server(project, write=project.encode())[0], 'debian')
        self.driver.delete_image('p', 'debian')
        self.assertEqual((b'public', b'q'), (self.server('p')[1], self.server('q')[1]))
        self.driver.delete_image('p', 'debian')
        self.assertEqual(b'public', (self.images / 'debian').read_bytes())
