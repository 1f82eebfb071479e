# SPDX-License-Identifier: Apache-2.0
"""The microversion that a request asks for."""

import contextlib

import testtools
from hypothesis import given, settings, strategies

from manila_lite import errors
from manila_lite.api import versions


class Asked(testtools.TestCase):
    def test_missing_version_means_the_first(self):
        self.assertEqual(0, versions.asked(None))

    def test_every_known_version_is_accepted(self):
        for number in versions.HISTORY:
            self.assertEqual(number, versions.asked(versions.show(number)))
            self.assertEqual(number, versions.minor(versions.show(number)))
        self.assertEqual(9, versions.asked(' 2.9 '))

    def test_version_out_of_range_is_not_acceptable(self):
        for text in ('2.100', '1.0', '3.1', '0.0', '999999999.999999999'):
            self.assertRaises(errors.NotAcceptable, versions.asked, text)

    def test_malformed_version_is_refused(self):
        for text in ('', 'latest', '2', '2.', '.9', '2.9.1', '-2.9', '2.-9', '2,9', '2.٣', '9999999999.1'):
            bad = self.assertRaises(errors.Invalid, versions.asked, text)
            self.assertIn(versions.HEADER, str(bad))

    def test_refusal_names_the_field_of_the_version(self):
        self.assertIn('version: ', str(self.assertRaises(errors.Invalid, versions.asked, 'x', 'version')))

    @settings(deadline=None, database=None)
    @given(strategies.text())
    def test_any_text_is_a_known_version_or_refused(self, text):
        with contextlib.suppress(errors.Invalid, errors.NotAcceptable):
            self.assertIn(versions.asked(text), versions.HISTORY)
