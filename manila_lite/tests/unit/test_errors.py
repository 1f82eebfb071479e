# SPDX-License-Identifier: Apache-2.0
"""Error codes are a promise to programs; messages are for people."""

import inspect

import testtools

from manila_lite import errors

CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, errors.ManilaLiteError)
]


class Errors(testtools.TestCase):
    def test_codes_are_unique_symbols(self):
        codes = [found.code for found in CLASSES]
        self.assertEqual(len(codes), len(set(codes)), sorted(codes))
        for code in codes:
            self.assertTrue(code.isidentifier() and code.islower(), code)

    def test_codes_are_unchanged(self):
        """Clients match on these: a change here breaks them."""
        self.assertEqual(
            [
                'already_exists',
                'conflict',
                'entity_missing',
                'forbidden',
                'invalid_input',
                'microversion_out_of_range',
                'not_found',
                'over_quota',
                'service_unavailable',
                'unauthorized',
                'wrong_state',
            ],
            sorted(
                getattr(errors, name).code
                for name in (
                    'NotFound',
                    'Invalid',
                    'Unprocessable',
                    'Forbidden',
                    'Unauthorized',
                    'Conflict',
                    'WrongState',
                    'Exists',
                    'OverQuota',
                    'NotAcceptable',
                    'Unavailable',
                )
            ),
        )

    def test_every_class_has_its_own_docstring(self):
        for found in CLASSES:
            self.assertIn('__doc__', vars(found), found)

    def test_default_message_is_the_docstring_of_the_class(self):
        self.assertEqual(errors.Unauthorized.__doc__, str(errors.Unauthorized()))
        self.assertEqual('words', str(errors.Unauthorized('words')))

    def test_code_can_be_overridden(self):
        self.assertEqual('special', errors.Invalid('x', code='special').code)
        self.assertEqual('invalid_input', errors.Invalid('x').code)

    def test_not_found_has_the_message_and_code_of_its_resource(self):
        found = errors.NotFound.of('access rule', 'x')
        self.assertEqual(
            ('Access rule x could not be found.', 'access_rule_not_found'), (str(found), found.code)
        )

    def test_final_errors_have_a_detail_and_again_is_not_final(self):
        self.assertEqual('017', errors.Final('x', detail='017').detail)
        self.assertIsNone(errors.Final('x').detail)
        self.assertTrue(issubclass(errors.NoValidHost, errors.Final))
        again = errors.Again(1.5, 'x')
        self.assertEqual((1.5, 'x'), (again.after, str(again)))
        self.assertFalse(issubclass(errors.Again, errors.Final))

    def test_missing_resource_of_a_field_is_an_invalid_field(self):
        def read():
            with errors.in_request('share_id'):
                raise errors.NotFound.of('share', 's')

        bad = self.assertRaises(errors.Invalid, read)
        self.assertEqual(('share_id: Share s could not be found.', 'share_not_found'), (str(bad), bad.code))
