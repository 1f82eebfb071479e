# SPDX-License-Identifier: Apache-2.0
"""Export locations of a backend on another port say how to mount: over all ways in which a share gets its locations."""

import sqlite3

from manila_lite.tests import process
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.linux import test_host_assisted

_PORT = 'port=12049'


class MountOptions(test_host_assisted.HostAssisted):
    """``alpha`` gets another port."""

    def locations(self, share):
        return self.lite.ok('GET', f'/shares/{share}/export_locations', version='2.90')['export_locations']

    def say(self, share, options, what):
        def told():
            return [location['metadata'].get('mount_options') for location in self.locations(share)] == [
                options
            ]

        process.until(told, what, lambda: f'{self.locations(share)}\n{self.lite.tail()}')

    def doctor(self, *words, ends=(1,)):
        status, said, err = manage.run(self.lite.config, 'manage', 'doctor', *words)
        self.assertIn(status, ends, said + err)
        return said + err

    def needed(self):
        pools = self.lite.ok('GET', '/scheduler-stats/pools/detail')['pools']
        return {pool['name']: pool['capabilities']['mount_options'] for pool in pools}

    def test_49_14_locations_say_the_port_and_the_doctor_compares(self):
        share = self.granted()
        self.say(share, None, 'the usual port needs no option')
        self.config('[alpha]', 'linux_nfs_port = 12049')
        self.say(share, _PORT, 'shares that are there follow the option')
        kept = [location['id'] for location in self.locations(share)]
        self.say(self.granted(), _PORT, 'new shares have it')
        process.until(
            lambda: self.needed() == {'test@alpha#pool': {'NFS': _PORT}, 'test@beta#pool': {}},
            'pools report it',
            self.lite.tail,
        )
        self.doctor(ends=(0,))
        for planted in 'port=1', None:
            self.plant(share, planted)
            said = self.doctor()
            for word in (
                share,
                f'its export locations say {planted or "none"}, and its backend serves with {_PORT}',
            ):
                self.assertIn(word, said)
            # What it begins may have ended before it looks once more.
            self.assertIn('service.ensure was begun for test@alpha', self.doctor('--fix', ends=(0, 1)))
            self.say(share, _PORT, 'the doctor mended it')
        self.config('[alpha]', 'linux_nfs_port = 2049')
        self.say(share, None, 'the usual port again')
        self.assertEqual(kept, [location['id'] for location in self.locations(share)])

    def plant(self, share, options):
        """Write other options into the database."""
        [location] = self.locations(share)
        with sqlite3.connect(self.state / 'lib' / 'manila_lite.sqlite') as conn:
            conn.execute(
                "DELETE FROM export_location_metadata WHERE owner_id = ? AND key = 'mount_options'",
                (location['id'],),
            )
            if options:
                conn.execute(
                    "INSERT INTO export_location_metadata (owner_id, key, value) VALUES (?, 'mount_options', ?)",
                    (location['id'], options),
                )
        conn.close()
