# SPDX-License-Identifier: Apache-2.0
"""Mounts by clients with secrets: these are in files that only root can read, and are no arguments of programs."""

import dataclasses
import os
import types
from pathlib import Path

import fixtures
import testtools

from manila_lite import values
from manila_lite.host.commands import CommandFailed
from manila_lite.host_copy import ceph_client, clients, copies, exports, private_files

_PLACE = 'x.from'


def share(proto, location):
    return values.Share(
        'x', 's', 'p', 1, proto, 'pool', export_locations=(values.ExportLocation(location, True),)
    )


class Mounts(testtools.TestCase):
    """The mount itself is replaced by a look at its arguments and files."""

    def setUp(self):
        super().setUp()
        self.place = Path(self.useFixture(fixtures.TempDir()).path, 'moves', _PLACE)
        self.seen = []

    def client(self, kind, **options):
        conf = {
            'data_node_access_ips': [],
            'data_node_access_admin_user': 'mover',
            'data_node_mount_options': {},
            **options,
        }
        return kind(types.SimpleNamespace(**conf), 'me')

    def replace_mount(self):
        """Have mounts looked at. ``patch`` would leave a method in place of the static one."""
        self.useFixture(fixtures.MonkeyPatch(f'{copies.__name__}.Copies.mount', self.look))

    def look(self, *words, seconds=0):
        """Note the arguments, and the text and mode of each file beside the mount point."""
        self.seen.append(
            (
                words,
                {
                    file.name: (file.read_text(), oct(file.stat().st_mode & 0o777))
                    for file in self.place.parent.glob(f'{_PLACE}.*')
                },
            )
        )
        return '[{"name": "a"}, {"name": "b"}]' if words[0] == 'ceph' else ''

    def test_password_of_cifs_is_in_a_file_during_the_mount(self):
        self.replace_mount()
        client = self.client(
            clients.Cifs, data_node_mount_options={'cifs': 'vers=3.1.1,password=sesame,domain=d'}
        )
        client.mount(clients.Side(share('CIFS', r'\\nas\s')), r'\\nas\s', self.place, 'ro')
        [(words, files)] = self.seen
        self.assertEqual(
            ('//nas/s', self.place, 'cifs', f'ro,vers=3.1.1,credentials={self.place}.credentials'), words
        )
        self.assertEqual(
            {f'{_PLACE}.credentials': ('username=mover\npassword=sesame\ndomain=d\n', '0o600')}, files
        )
        self.assertEqual([], list(self.place.parent.iterdir()))

    def test_49_14_mount_options_of_the_export_location_are_given_before_those_of_the_operator(self):
        self.replace_mount()
        for kind, proto, path in (clients.Nfs, 'NFS', 'nas:/s'), (clients.Cifs, 'CIFS', r'\\nas\s'):
            location = values.ExportLocation(path, metadata={'mount_options': 'port=2050'})
            there = dataclasses.replace(share(proto, path), export_locations=(location,))
            client = self.client(kind, data_node_mount_options={proto.lower(): 'port=2051'})
            client.mount(clients.Side(there), path, self.place, 'ro')
            self.assertIn('ro,port=2050,port=2051', self.seen[-1][0][-1])

    def test_file_with_credentials_that_the_operator_names_is_used(self):
        self.replace_mount()
        client = self.client(clients.Cifs, data_node_mount_options={'cifs': 'credentials=/etc/secret'})
        client.mount(clients.Side(share('CIFS', r'\\nas\s')), r'\\nas\s', self.place, 'rw')
        self.assertEqual('rw,credentials=/etc/secret', self.seen[0][0][-1])

    def test_key_of_ceph_is_in_a_file_during_the_mount(self):
        self.patch(ceph_client, 'run', self.look)
        location = '10.0.0.1:6789,[fd00::1]:6789:/volumes/x'
        self.client(clients.Ceph).mount(
            clients.Side(share('CEPHFS', location), 'KEY'), location, self.place, 'rw'
        )
        (_, asked), (words, files) = self.seen
        self.assertEqual(asked, files)
        self.assertNotIn('KEY', ' '.join(words))
        self.assertEqual(
            ('a', '/volumes/x', 'move-me-x', 'nosuid,nodev,noexec,rw'),
            tuple(words[words.index(name) + 1] for name in ('--client_fs', '-r', '--id', '-o')),
        )
        self.assertEqual(('[client.move-me-x]\n\tkey = KEY\n', '0o600'), files[f'{_PLACE}.keyring'])
        self.assertIn('mon host = 10.0.0.1:6789,[fd00::1]:6789\n', files[f'{_PLACE}.conf'][0])
        self.assertEqual([_PLACE], [path.name for path in self.place.parent.iterdir()])

    def test_other_file_systems_are_tried_before_a_mount_of_ceph_fails(self):
        def run(*words, seconds=0):
            said = self.look(*words)
            if words[0] != 'ceph':
                raise CommandFailed('no such file or directory')
            return said

        self.patch(ceph_client, 'run', run)
        self.assertRaises(CommandFailed, ceph_client.mount, 'mon:/x', self.place, 'ro', 'id', 'KEY')
        self.assertEqual(['a', 'b'], [words[words.index('--client_fs') + 1] for words, _ in self.seen[1:]])
        self.assertEqual([_PLACE], [path.name for path in self.place.parent.iterdir()])

    def test_share_without_a_key_is_not_mounted(self):
        side = clients.Side(share('CEPHFS', 'mon:/x'))
        bad = self.assertRaises(
            CommandFailed, self.client(clients.Ceph).mount, side, 'mon:/x', self.place, 'ro'
        )
        self.assertIn('gave no key', str(bad))
        self.assertNotIn('KEY', repr(clients.Side(share('CEPHFS', 'mon:/x'), 'KEY')))

    def test_files_of_a_killed_process_are_deleted(self):
        self.place.parent.mkdir()
        for kind in ('keyring', 'conf'):
            private_files.beside(self.place, kind).touch()
        os.mkdir(self.place)
        self.client(clients.Ceph).unmount(self.place)
        self.assertEqual([], list(self.place.parent.iterdir()))

    def test_server_of_each_kind_of_location(self):
        for location, server in (
            (r'\\192.0.2.7\s', '192.0.2.7'),
            ('[fd00::1]:/s', 'fd00::1'),
            ('nas:/s', 'nas'),
        ):
            self.assertEqual(server, exports.server_of(location))
