# SPDX-License-Identifier: Apache-2.0
"""Files of exports that are read again after a crash: complete ones count, others are deleted."""

from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.file_servers import ganesha_exports
from manila_lite.drivers.file_servers.ganesha_dbus import ExportManager
from manila_lite.drivers.linux.protocols.vfs import Vfs

_CLIENT = '  CLIENT { Clients = 10.0.0.1; Access_Type = RW; Protocols = 4; }\n'


def text(number, *clients, name='x'):
    return ganesha_exports._TEXT.format(
        number=number,
        path=f'/mnt/{name}',
        pseudo=f'/shares/{name}',
        fsal='FSAL { Name = VFS; }',
        clients=''.join(clients),
    )


class Files(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.exports = ganesha_exports.Exports(
            self.state, ExportManager(self.state / 'bus'), Vfs(self.state, 64)
        )
        self.exports.load()

    def write(self, place, name, content):
        (self.state / place / name).write_text(content)

    def test_numbers_and_clients_are_read_again(self):
        self.write('exports.d', 'a.conf', text(3, _CLIENT, _CLIENT))
        self.write('held', 'b.conf', text(7, _CLIENT))
        self.exports.load()
        self.assertEqual(['a'], self.exports.served())
        self.assertEqual([_CLIENT, _CLIENT], self.exports.clients_of('a'))
        self.assertEqual([_CLIENT], self.exports.clients_of('b'))
        self.assertEqual([], self.exports.clients_of('c'))
        self.assertEqual([3, 7, 8, 9], [self.exports._number(name) for name in 'abcd'])

    def test_clients_of_an_earlier_release_that_admit_everybody_are_removed(self):
        everybody = _CLIENT.replace('10.0.0.1', '0.0.0.0')
        self.write('exports.d', 'a.conf', text(3, everybody, _CLIENT))
        self.write('held', 'b.conf', text(7, everybody))
        self.exports.load()
        self.assertEqual([_CLIENT], self.exports.clients_of('a'))
        self.assertEqual(text(3, _CLIENT), (self.state / 'exports.d' / 'a.conf').read_text())
        self.assertEqual([], self.exports.clients_of('b'))
        self.assertEqual(7, self.exports._number('b'))

    def test_mount_names_are_read_again(self):
        self.write('exports.d', 'a.conf', text(3, _CLIENT, name='team_music'))
        self.write('held', 'b.conf', text(7, name='team_films'))
        self.exports.load()
        self.assertEqual(
            ['/shares/team_music', '/shares/team_films', '/shares/c', '/shares/other', '/volumes/x'],
            [
                self.exports._pseudo(*wanted)
                for wanted in (('a', None), ('b', None), ('c', None), ('a', 'other'), ('a', '/volumes/x'))
            ],
        )

    def test_incomplete_export_files_are_deleted(self):
        good = text(1, _CLIENT)
        self.write('exports.d', 'good.conf', good)
        for number, bad in enumerate(
            (
                good[:-2],
                '',
                good + good,
                good.replace('Export_Id = 1', 'Export_Id = 70000'),
                good.replace('CLIENT', 'CLIENTS'),
                good,
            )
        ):
            self.write('exports.d', f'z{number}.conf', bad)
        self.write('exports.d', 'good.new', text(2))
        self.exports.load()
        self.assertEqual(['good.conf'], [file.name for file in (self.state / 'exports.d').iterdir()])

    def test_held_export_is_not_served_and_keeps_its_clients_and_number(self):
        self.write('exports.d', 'a.conf', text(3, _CLIENT))
        self.exports.load()
        self.exports.suspend('a')
        self.exports.suspend('a')
        self.assertEqual([], self.exports.served())
        self.exports.load()
        self.assertEqual([_CLIENT], self.exports.clients_of('a'))
        self.assertEqual(3, self.exports._number('a'))

    def test_export_numbers_continue_after_the_highest_and_then_wrap(self):
        self.write('exports.d', 'last.conf', text(65534))
        self.write('exports.d', 'first.conf', text(1))
        self.exports.load()
        self.assertEqual([65535, 2, 3], [self.exports._number(name) for name in 'abc'])

    def test_clients_begin_at_the_expected_line(self):
        self.assertEqual(_CLIENT, text(1, _CLIENT).splitlines(keepends=True)[ganesha_exports._FIRST - 1])

    def test_room_for_exports_ends_at_the_largest_number_and_known_ones_keep_theirs(self):
        few = ganesha_exports.Exports(
            self.state, ExportManager(self.state / 'bus'), Vfs(self.state, 64), most=2
        )
        self.write('held', 'b.conf', text(7))
        few.load()
        few._number('a')
        few.vet_room('a')
        few.vet_room('b')
        refused = self.assertRaises(errors.Final, few.vet_room, 'c')
        self.assertIn('2 exports', str(refused))
        self.assertRaises(errors.Final, few._number, 'c')
        few.discard('b')
        few.vet_room('c')

    def test_file_of_an_export_is_readable_for_its_owner_only(self):
        file = self.state / 'x'
        file.write_text('old')
        file.chmod(0o644)
        ganesha_exports.write_privately(file, 'a key')
        self.assertEqual((0o600, 'a key'), (file.stat().st_mode & 0o777, file.read_text()))
