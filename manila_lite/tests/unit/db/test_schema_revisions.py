# SPDX-License-Identifier: Apache-2.0
"""The numbers of the files are the revisions, in the order in which alembic runs them."""

from pathlib import Path
from types import SimpleNamespace

import testscenarios
import testtools
from alembic.script import ScriptDirectory

import manila_lite
from manila_lite.db.maintenance import schema_revisions

_SIBLINGS = Path(manila_lite.__file__).parent / 'siblings'


class Revisions(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (name, {'folder': folder})
        for name, folder in (
            ('shares', schema_revisions.FOLDER),
            ('compute', _SIBLINGS / 'compute' / 'migrations'),
            ('dataproc', _SIBLINGS / 'dataproc' / 'migrations'),
        )
    ]

    def test_they_are_those_of_alembic(self):
        known = [script.revision for script in ScriptDirectory(str(self.folder)).walk_revisions()]
        database = SimpleNamespace(migrations=self.folder)
        self.assertEqual(known[::-1], schema_revisions.revisions(database))
        self.assertEqual(known[0], schema_revisions.head(database))
