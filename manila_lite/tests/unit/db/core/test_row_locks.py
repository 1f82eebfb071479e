# SPDX-License-Identifier: Apache-2.0
"""Locks of rows: each that a SELECT takes is one between nodes of Galera, too."""

import pathlib
import re

import testtools

import manila_lite

#: Files whose locks need not exclude other nodes, and why.
_ALONE = {
    'db/core/row_locks.py': 'It says how.',
    'db/queries/share_usage.py': 'It keeps shares from going, as the foreign key of what it writes does on other nodes.',
}


class TestRowLocks(testtools.TestCase):
    def test_53_each_lock_of_a_select_is_certified(self):
        root = pathlib.Path(manila_lite.__file__).parent
        for path in root.rglob('*.py'):
            name = str(path.relative_to(root))
            if name not in _ALONE and not name.startswith('tests/'):
                text = path.read_text()
                self.assertEqual(
                    len(re.findall(r'\.with_for_update\(', text)),
                    len(re.findall(r'row_locks\.certify\(', text)),
                    f'{name}: call row_locks.certify with each SELECT ... FOR UPDATE',
                )
