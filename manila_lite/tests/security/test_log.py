# SPDX-License-Identifier: Apache-2.0
"""Only the service writes lines of the log, and no line affects a terminal that shows it."""

import re
import sqlite3
import urllib.parse

import testtools

from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base

_LINE = re.compile(r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ (DEBUG|INFO|WARNING|ERROR|CRITICAL) \S+ ')
_FORGED = '2026-01-01 00:00:00.000 1 ERROR root [req-a b c] forged'
_ODD = ('\n', '\r\n', '\x1b[2J\x1b]0;a\x07', '\x7f', '\x85', '\x9b31m', '\u2028', '\u2029', '\u202e')
EVIL = ''.join(f'{odd}{_FORGED}' for odd in _ODD)


class Log(testtools.TestCase):
    def test_text_of_others_is_escaped_in_the_log(self):
        """Text of callers, of a share type's specs in the scheduler's message, and of a database error in a traceback."""
        lite = self.useFixture(process.Lite('[alpha]\ndriver = dummy\n[DEFAULT]\ndebug = true\n'))
        lite.start()
        evil = urllib.parse.quote(EVIL)
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'evil',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'evil': f'<is> {EVIL[:200]}'},
                }
            },
        )
        share = {'size': 1, 'share_proto': 'NFS'}
        refused = lite.ok('POST', '/shares', {'share': {**share, 'share_type': 'evil', 'name': EVIL[:255]}})[
            'share'
        ]['id']
        lite.wait(f'/shares/{refused}', 'share', 'error')
        for path in (
            f'/shares/{evil}',
            f'/{evil}/shares',
            f'/{evil}',
            f'/shares?name={evil}',
            f'/shares/{refused}/metadata/{evil}',
            f'/share-access-rules?share_id={evil}',
            f'/messages?resource_id={evil}',
        ):
            self.assertLess(lite.call('GET', path)[0], 500, path)
        lite.call(
            'POST',
            f'/shares/{refused}/action',
            {'allow_access': {'access_type': 'user', 'access_to': EVIL[:200]}},
        )
        with sqlite3.connect(lite.state / 'manila_lite.sqlite', timeout=waiting.LIMIT) as database:
            database.execute('ALTER TABLE share_metadata RENAME TO "gone"')
            database.execute(f'CREATE VIEW share_metadata AS SELECT * FROM "nothing{EVIL}"')
        self.assertEqual(500, lite.call('POST', '/shares', {'share': {**share, 'metadata': {'a': 'b'}}})[0])
        base.eventually(lambda: 'Traceback' in lite.log.read_text(), 'the failure is not logged')
        lines = lite.log.read_bytes().decode().split('\n')
        self.assertEqual('', lines.pop())
        for line in lines:
            self.assertRegex(line, _LINE)
            self.assertNotRegex(line, '[\x00-\x1f\x7f-\x9f\u2028-\u202e]')
        for text in ('the share type asks', 'Traceback', 'share_metadata'):
            self.assertTrue(any(text in line for line in lines), text)
        # The text was logged, and is escaped.
        self.assertTrue(any(f'\\n{_FORGED}' in line for line in lines))
