# SPDX-License-Identifier: Apache-2.0
"""Growth past a limit is refused, and nothing else is."""

import types

import testtools

from manila_lite import errors
from manila_lite.conf import limits as options
from manila_lite.db.core import limits


class Limits(testtools.TestCase):
    @staticmethod
    def conf(most):
        return types.SimpleNamespace(limits={'subnets': most})

    def test_only_growth_beyond_the_limit_is_refused(self):
        for most, had, will, fits in (
            (3, 2, 3, True),
            (3, 3, 4, False),
            (3, 0, 4, False),
            (3, 9, 9, True),
            (3, 9, 8, True),
            (3, 9, 10, False),
            (0, 0, 1, False),
            (0, 0, 0, True),
            (-1, 10**6, 10**7, True),
        ):
            if fits:
                limits.check(self.conf(most), 'subnets', 'it', had, will)
            else:
                self.assertRaises(errors.OverLimit, limits.check, self.conf(most), 'subnets', 'it', had, will)

    def test_refusal_names_the_limit_and_the_counts(self):
        refused = self.assertRaises(
            errors.OverLimit, limits.check_one_more, self.conf(3), 'subnets', 'share network 7', 3
        )
        self.assertEqual(
            (
                'Limit subnets exceeded: share network 7 may have 3 subnets, has 3, and would have 4.',
                'over_limit_subnets',
            ),
            (str(refused), refused.code),
        )

    def test_every_option_for_a_number_of_resources_is_counted(self):
        self.assertEqual(
            {option.name for option in options.LIMITS if not option.name.endswith('_length')},
            set(limits.COUNTED),
        )
