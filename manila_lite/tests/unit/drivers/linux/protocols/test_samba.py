# SPDX-License-Identifier: Apache-2.0
"""The CIFS server's settings and state, without running it."""

import json
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.linux.protocols import samba


def server(state, **changes):
    return samba.Samba(
        Path(state),
        Path(state),
        changes.pop('port', 445),
        **{'netns': None, 'users': '/users', 'connections': 1000, 'per_address': 50} | changes,
    )


class Server(testtools.TestCase):
    def test_paths_of_sockets_are_never_too_long(self):
        self.assertEqual(Path('/var/lib/x/run'), server('/var/lib/x')._run)
        places = {server('/var/' + 'long' * length)._run for length in (30, 40, 50)}
        self.assertEqual(3, len(places))
        for place in places:
            self.assertLess(len(str(place / 'ncalrpc' / 'np' / 'a-name-of-a-pipe')), 108)

    def test_mark_differs_for_each_changed_option(self):
        marks = {
            server('/x', **change)._start_key
            for change in (
                {},
                {'port': 446},
                {'netns': 'blue'},
                {'lacks': 'smbd'},
                {'connections': 9},
                {'per_address': 9},
            )
        }
        self.assertEqual(6, len(marks))
        self.assertEqual(server('/x')._start_key, server('/x')._start_key)

    def test_server_without_shares_is_not_started_and_stop_is_no_error(self):
        state = self.useFixture(fixtures.TempDir()).path
        cifs = server(state)
        self.assertEqual((False, False, True), (cifs.running, cifs.missed, cifs.fits))
        cifs.start(lambda: None)
        self.assertEqual((False, False), (cifs.running, cifs.restart_if_dead()))
        cifs.forget('a-share')
        cifs.stop()
        cifs.stop()

    def test_member_of_a_domain_runs_without_shares_and_with_winbindd(self):
        state = Path(self.useFixture(fixtures.TempDir()).path)
        cifs = server(state, users=None)
        alone = cifs._start_key
        self.assertEqual((False, ['smbd']), (cifs.needed, list(cifs.daemons)))
        self.assertIn('no security service of type active_directory', cifs.lacks)
        known = {'computer': 'ML1', 'realm': 'A.B', 'workgroup': 'A', 'dns': ['10.0.0.1'], 'server': ''}
        for joined in (False, True):
            (state / 'domain.json').write_text(json.dumps({**known, 'joined': joined}))
            self.assertEqual(joined, cifs.needed)
        self.assertEqual(['winbindd', 'smbd'], list(cifs.daemons))
        self.assertEqual('', cifs.lacks)
        self.assertNotEqual(alone, cifs._start_key)
        self.assertIn('  security = ads\n', cifs._first())

    def test_export_without_smbd_is_refused_with_the_reason(self):
        state = self.useFixture(fixtures.TempDir()).path
        refused = self.assertRaises(
            errors.Final, server(state, lacks='smbd not installed').export, 'one', Path('/mnt'), []
        )
        self.assertIn('smbd not installed', str(refused))
