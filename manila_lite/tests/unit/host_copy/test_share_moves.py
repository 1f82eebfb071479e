# SPDX-License-Identifier: Apache-2.0
"""Moves of shares between directories: passes, the comparison, and what is told of failures."""

import os
import types
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors, values
from manila_lite.host_copy import messages, share_moves
from manila_lite.host_copy.clients import Admitted, Side
from manila_lite.tests import waiting

_CONF = types.SimpleNamespace(
    data_node_access_ips=[],
    data_node_access_admin_user=None,
    data_node_mount_options={},
    data_node_local_exports=[],
    mount_tmp_location=None,
    check_hash=False,
    data_check_sample=3,
    data_copy_bandwidth_limit=0.0,
    data_copy_apparent_ratio=64.0,
)
_SECTION = types.SimpleNamespace(migration_ignore_files=['lost+found'])


def share(name, location='192.0.2.7:/shares/s', proto='NFS'):
    exports = (values.ExportLocation(location, True),) if location else ()
    return values.Share(name, 's', 'p', 1, proto, 'pool', export_locations=exports)


def broken(error, failed):
    """Return a copy that has ended so."""
    return types.SimpleNamespace(error=error, messages=types.SimpleNamespace(failed=failed))


class Folders(share_moves.ShareMoves):
    """Moves between the folders ``a`` and ``b``, which need no mount."""

    def mount_points(self, copy_id):
        return self.folder.parent / 'a', self.folder.parent / 'b'

    def _mount(self, side, place, level, directory):
        """Return the folder itself."""
        return place

    def unmount(self, place):
        """Do nothing: nothing is mounted."""


class Moves(testtools.TestCase):
    def setUp(self):
        super().setUp()
        state = Path(self.useFixture(fixtures.TempDir()).path)
        self.source, self.target = state / 'a', state / 'b'
        for place in (self.source, self.target):
            place.mkdir()
        self.moves = Folders(state, _CONF, _SECTION)

    def ends(self, call):
        """Wait for the end of a pass or comparison, and forget it. Return it."""
        sides = Side(share('a')), Side(share('b'))
        run = waiting.until(lambda: (run := call(*sides)).is_complete and run, 'it ends', pause=0.01)
        self.moves.forget('b')
        return run

    def test_a_second_pass_brings_the_changes(self):
        (self.source / 'f').write_text('before')
        (self.source / 'gone').write_text('gone')
        first = self.ends(self.moves.copy)
        self.assertEqual((first.messages.files_total, {}), (first.messages.files_done, first.messages.failed))
        (self.source / 'f').write_text('changed')
        (self.source / 'gone').unlink()
        self.ends(self.moves.copy)
        self.assertEqual(
            [('f', 'changed')], [(path.name, path.read_text()) for path in self.target.iterdir()]
        )

    def test_comparison_names_what_differs(self):
        for name in ('content', 'mode', 'extra', 'same', 'lost+found'):
            (self.source / name).write_text(name)
        self.ends(self.moves.copy)
        self.assertEqual([], self.ends(self.moves.compare).messages.differing)
        self.assertFalse((self.target / 'lost+found').exists())
        (self.target / 'mode').chmod(0o600)
        (self.target / 'content').write_text('other')
        (self.source / 'extra').unlink()
        os.utime(self.target / 'same')
        self.assertEqual(
            ['content', 'extra', 'mode'], sorted(self.ends(self.moves.compare).messages.differing)
        )
        self.assertEqual('other', (self.target / 'content').read_text())

    def test_comparison_by_checksum_finds_content_that_looks_unchanged(self):
        (self.source / 'f').write_text('before')
        self.ends(self.moves.copy)
        was = os.stat(self.target / 'f')
        (self.target / 'f').write_text('behind')
        os.utime(self.target / 'f', ns=(was.st_atime_ns, was.st_mtime_ns))
        self.assertEqual([], self.ends(self.moves.compare).messages.differing)
        self.moves._conf = types.SimpleNamespace(**{**vars(_CONF), 'check_hash': True})
        self.assertEqual(['f'], self.ends(self.moves.compare).messages.differing)

    def test_comparison_of_a_sample_finds_content_that_looks_unchanged(self):
        self.assertEqual([], self.ends(self.moves.compare_some).messages.differing)
        for number in range(3):
            (self.source / f'odd \n {number}').write_text('before')
        self.ends(self.moves.copy)
        self.assertEqual([], self.ends(self.moves.compare_some).messages.differing)
        for number in range(3):
            place = self.target / f'odd \n {number}'
            was = os.stat(place)
            place.write_text('behind')
            os.utime(place, ns=(was.st_atime_ns, was.st_mtime_ns))
        self.assertEqual(3, len(self.ends(self.moves.compare_some).messages.differing))
        for number in range(100):
            for name in (str(number), f'#{number}', f';{number}'):  # rsync has comments in lists of names
                (self.source / name).write_text('new')
                (self.target / name).write_text('old')
        self.assertEqual(3, len(self.ends(self.moves.compare_some).messages.differing))

    def test_failure_names_the_first_paths(self):
        text = self.moves._explain(
            broken(messages.NoRoom('x'), {'a': 'No space left on device', 'b' * 200: 'why'}), 3
        )
        self.assertEqual(
            'There is not enough space for all files: the destination is full. Not copied: a (No space left on '
            f'device); {"b" * 100} (why).',
            text,
        )
        self.assertEqual('The copy broke 3 times.', self.moves._explain(broken(None, {}), 3))
        self.assertEqual(f'Differing: {"a" * 100}; b.', share_moves.differing(['a' * 5000, 'b']))

    def test_names_that_rsync_would_skip_in_a_list_are_compared(self):
        for place, text in ((self.source, 'new'), (self.target, 'old')):
            for name in ('#1', ';2'):
                (place / name).write_text(text)
        self.assertEqual(['#1', ';2'], sorted(self.ends(self.moves.compare_some).messages.differing))


class Before(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.moves = share_moves.ShareMoves(Path('/nowhere'), _CONF, _SECTION)

    def test_only_shares_of_known_protocols_with_an_export_can_be_copied(self):
        self.assertIn('NFS, CIFS, CEPHFS shares only', self.moves.objection(share('a', proto='MAPRFS')))
        self.assertIn('no export location', self.moves.objection(share('a', None)))
        self.assertEqual('', self.moves.objection(share('a', '127.0.0.1:/s')))

    def test_cifs_needs_a_user_unless_this_host_serves_the_share(self):
        cifs = share('a', r'\\192.0.2.7\s', 'CIFS')
        self.assertIn('set data_node_access_admin_user', self.moves.objection(cifs))
        conf = types.SimpleNamespace(
            **{**vars(_CONF), 'data_node_local_exports': ['//192.0.2.7=/pool/shares']}
        )
        self.assertEqual(
            ('', ()),
            (
                (moves := share_moves.ShareMoves(Path('/nowhere'), conf, _SECTION)).objection(cifs),
                moves.clients_of(cifs),
            ),
        )
        conf = types.SimpleNamespace(**{**vars(_CONF), 'data_node_access_admin_user': 'mover'})
        moves = share_moves.ShareMoves(Path('/nowhere'), conf, _SECTION)
        self.assertEqual((Admitted('user', 'mover'),), moves.clients_of(cifs))

    def test_configured_addresses_are_admitted(self):
        self.assertEqual((Admitted('ip', '127.0.0.1'),), self.moves.clients_of(share('a', '127.0.0.1:/s')))
        bad = self.assertRaises(errors.Final, self.moves.clients_of, share('a', 'no.such.host.invalid:/s'))
        self.assertIn('no route to no.such.host.invalid', str(bad))
        conf = types.SimpleNamespace(**{**vars(_CONF), 'data_node_access_ips': ['192.0.2.1', '2001:db8::1']})
        self.assertEqual(
            (Admitted('ip', '192.0.2.1'), Admitted('ip', '2001:db8::1')),
            share_moves.ShareMoves(Path('/nowhere'), conf, _SECTION).clients_of(share('a')),
        )

    def test_each_process_has_ids_of_ceph_of_its_own(self):
        others = share_moves.ShareMoves(Path('/nowhere'), _CONF, _SECTION)
        [mine], [again], [theirs] = (
            moves.clients_of(share('a', 'mon:/v/a', 'CEPHFS')) for moves in (self.moves, self.moves, others)
        )
        self.assertEqual((mine, 'cephx'), (again, mine.type))
        self.assertNotEqual(mine, theirs)
        self.assertRegex(mine.to, '^move-[0-9a-f]{12}-a$')

    def test_directory_of_an_export_that_this_host_serves(self):
        local = ('192.0.2.7:/shares=/pool/shares/', 'broken', '//192.0.2.8=/cifs')
        for location, found in (
            ('192.0.2.7:/shares/s', '/pool/shares/s'),
            ('192.0.2.7:/shares/', ''),
            ('192.0.2.7:/other/s', ''),
            ('192.0.2.7:/shares/../etc', ''),
            ('192.0.2.7:/shares/a/./b', ''),
            ('broken/s', ''),
            ('192.0.2.70:/shares/s', ''),
            (r'\\192.0.2.8\s', '/cifs/s'),
            (r'\\192.0.2.8\..', ''),
        ):
            self.assertEqual(found, share_moves.directory_of(location, local), location)

    def test_directory_of_one_side_is_used_only_if_a_mount_shows_the_same(self):
        conf = types.SimpleNamespace(
            **{**vars(_CONF), 'data_node_local_exports': ['192.0.2.7:/=/pool', '//192.0.2.7=/pool']}
        )
        moves = share_moves.ShareMoves(Path('/nowhere'), conf, _SECTION)
        for proto, here, there in (
            ('NFS', '192.0.2.7:/s', '192.0.2.8:/s'),
            ('CIFS', r'\\192.0.2.7\s', r'\\192.0.2.8\s'),
        ):
            mine, other = Side(share('a', here, proto)), Side(share('b', there, proto))
            self.assertEqual(['/pool/s', '/pool/s'], moves._directories(mine, mine))
            self.assertEqual(['/pool/s', ''] if proto == 'NFS' else ['', ''], moves._directories(mine, other))
