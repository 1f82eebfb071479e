# SPDX-License-Identifier: Apache-2.0
"""Sort keys: each list takes its own fields, those that the caller sees, and refuses any other key."""

from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.tests.functional import refused, sort_keys


class Refused(refused.Refusing):
    """Keys that are none, or none for the caller; the lists are empty."""

    def paths(self):
        """Yield each list, in short and in full, with the path of its keys."""
        for path in sort_keys.KEYS:
            for op in CALLS:
                if op.method == 'GET' and op.path in (path, f'{path}/detail') and op.lives(versions.MAX):
                    yield op.path, path

    def test_unknown_sort_key_is_refused(self):
        for path, _ in self.paths():
            self.no(
                400,
                'invalid_input',
                "sort_key: 'colour' is not a field to sort by.",
                f'{path}?sort_key=colour',
                caller=self.admin,
                method='GET',
            )

    def test_every_list_with_sort_keys_is_covered(self):
        sorted_by = {
            op.path.removesuffix('/detail')
            for op in CALLS
            if any(field.name == 'sort_key' for field in op.query)
        }
        self.assertEqual(sorted_by, set(sort_keys.KEYS))

    def test_sorting_by_hidden_fields_is_refused_for_members(self):
        for caller in (self.caller(), self.caller(roles='reader')):
            for path, plain in self.paths():
                hidden = sort_keys.FOR_ADMINISTRATORS.get(plain, '').split()
                for key in hidden:
                    self.no(
                        403,
                        'forbidden',
                        f'sort_key: only administrators may sort by {key}.',
                        f'{path}?sort_key={key}',
                        caller=caller,
                        method='GET',
                    )
                unseen = sort_keys.UNSEEN.get(plain, '').split()
                for key in unseen:
                    self.no(
                        400,
                        'invalid_input',
                        f"sort_key: '{key}' is not a field to sort by.",
                        f'{path}?sort_key={key}',
                        caller=caller,
                        method='GET',
                    )
                for key in set(sort_keys.KEYS[plain].split()) - {*hidden, *unseen}:
                    status, said, _ = caller.call('GET', f'{path}?sort_key={key}')
                    self.assertEqual(403 if plain in sort_keys.CLOSED else 200, status, (path, key, said))

    def test_administrators_may_sort_by_every_key(self):
        for path, plain in self.paths():
            for key in sort_keys.KEYS[plain].split():
                self.admin.ok('GET', f'{path}?sort_key={key}')
