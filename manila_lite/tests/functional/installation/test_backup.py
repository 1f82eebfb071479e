# SPDX-License-Identifier: Apache-2.0
"""doc/source/admin/backup.rst: restore a backup that was made while the service ran, and check the page's claims."""

import contextlib
import re
import shutil
import sqlite3
from pathlib import Path

import testtools

from manila_lite.tests import process
from manila_lite.tests.functional import base, manage

PAGE = Path(__file__).resolve().parents[4] / 'doc/source/admin/backup.rst'


class Backup(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.lite = self.useFixture(process.Lite())
        self.lite.start()
        self.lite.ok('POST', '/types', process.DEFAULT_TYPE)
        base.eventually(lambda: self.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'no pool')
        self.database = self.lite.state / 'manila_lite.sqlite'

    def share(self):
        return self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']

    def available(self, share_id):
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        return share_id

    def allow(self, share_id, address):
        body = {'allow_access': {'access_type': 'ip', 'access_to': address}}
        self.lite.ok('POST', f'/shares/{share_id}/action', body)

    def rules(self, share_id):
        found = self.lite.ok('GET', f'/share-access-rules?share_id={share_id}')['access_list']
        return {rule['access_to']: rule['state'] for rule in found}

    def back_up(self):
        """Copy the database as ``sqlite3 FILE ".backup COPY"`` does."""
        with (
            contextlib.closing(sqlite3.connect(self.database)) as source,
            contextlib.closing(sqlite3.connect(self.lite.state / 'copy')) as copy,
        ):
            source.backup(copy)

    def put_back(self):
        for tail in ('-wal', '-shm'):
            Path(f'{self.database}{tail}').unlink(missing_ok=True)
        shutil.copy(self.lite.state / 'copy', self.database)

    def manage(self, *words):
        status, out, err = manage.run(self.lite.config, 'manage', *words)
        self.assertIn(status, (0, 1), out + err)
        return status

    def test_documented_commands_restore_a_backup(self):
        kept = self.available(self.share())
        self.allow(kept, '192.0.2.1')
        base.eventually(lambda: self.rules(kept) == {'192.0.2.1': 'active'}, 'the rule is not in force')
        self.lite.knobs('create_share:hang')
        begun = self.share()
        base.eventually(lambda: self.lite.ok('GET', f'/shares/{begun}')['share']['host'], 'it is not placed')
        self.back_up()
        self.allow(kept, '192.0.2.2')
        later = self.share()
        self.lite.kill()
        self.lite.knobs()
        self.put_back()
        run = ('db version', 'db sync', 'secret list', 'doctor --fix')
        for words in run:
            self.manage(*words.split())
        self.lite.start()
        self.available(begun)
        self.assertEqual(404, self.lite.call('GET', f'/shares/{later}')[0])
        base.eventually(
            lambda: self.rules(kept) == {'192.0.2.1': 'active'}, 'the rules are not those of the backup'
        )
        base.eventually(lambda: self.manage('doctor') == 0, 'something is wrong still')
        self.assertEqual(
            {*run, 'doctor'},
            set(re.findall(r'^ *# manila-manage ([a-z -]+)$', PAGE.read_text(), re.MULTILINE)),
        )
