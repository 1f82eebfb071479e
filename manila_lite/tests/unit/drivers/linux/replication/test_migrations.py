# SPDX-License-Identifier: Apache-2.0
import contextlib
import types

import testtools

from manila_lite import errors
from manila_lite.drivers.linux.replication import migrations
from manila_lite.host.commands import CommandFailed


class _Copy:
    """A copy of one GiB, from a source that may be away."""

    total = 1 << 30

    def __init__(self, away=None):
        self.away = away
        self.begun = True
        self.cleared = []

    def session(self):
        if self.away:
            raise self.away
        return contextlib.nullcontext('session')

    def inspect_source(self, session):
        """Do nothing: ``total`` is known."""

    def clear(self, session):
        self.cleared.append(session)

    def clear_here(self):
        self.cleared.append('here')


class MigrationsTest(testtools.TestCase):
    def objection(self, free, copy):
        pool = types.SimpleNamespace(capacity=lambda: (9.0, free))
        mine = types.SimpleNamespace(_copy=lambda _: copy, _storage=types.SimpleNamespace(pool=pool))
        return migrations.Migrations._objection(mine, types.SimpleNamespace(source_host='h@b'))

    def test_missing_space_or_a_missing_source_is_an_objection(self):
        self.assertEqual('', self.objection(1.5, _Copy()))
        self.assertEqual('There are 1.00 GiB to copy, and 0.50 free.', self.objection(0.5, _Copy()))
        self.assertEqual('h@b: gone', self.objection(1.5, _Copy(errors.Final('gone'))))

    def test_data_here_is_deleted_even_if_the_source_is_away(self):
        for away, cleared in ((None, ['session', 'here']), (CommandFailed('away'), ['here'])):
            copy = _Copy(away)
            migrations.tidy(copy)
            self.assertEqual(cleared, copy.cleared)
        copy = _Copy()
        copy.begun = False
        migrations.tidy(copy)
        self.assertEqual([], copy.cleared)
