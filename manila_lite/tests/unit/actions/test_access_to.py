# SPDX-License-Identifier: Apache-2.0
"""To whom an access rule may be given."""

import testtools

from manila_lite import errors
from manila_lite.actions import access_to

GOOD = (
    ('ip', '10.0.0.1'), ('ip', '10.0.0.0/24'), ('ip', '0.0.0.0/0'), ('ip', 'fd00::1'), ('ip', 'fd00::/64'),
    ('user', 'anna'), ('user', 'x' * 255), ('user', 'the group'), ('user', '.dot'), ('user', 'jürgen'),
    ('cert', 'c'), ('cert', 'x' * 64), ('cert', 'client.example.org'),
    ('cephx', 'alice'), ('cephx', 'a b-c_d'),
)
BAD = (
    ('ip', ''), ('ip', '10.0.0.256'), ('ip', '10.0.0.1/33'), ('ip', '10.0.0.1/24'), ('ip', 'fd00::/129'),
    ('ip', 'host.example.org'), ('ip', '10.0.0.1 '),
    ('user', 'abc'), ('user', 'x' * 256), ('user', '.. ..'), ('user', 'a:bcd'), ('user', 'a\\bcd'),
    ('cert', ''), ('cert', '   '), ('cert', 'x' * 65),
    ('cephx', ''), ('cephx', 'client.alice'), ('cephx', 'jürgen'),
)


class Check(testtools.TestCase):
    """Values that are taken, and values that are refused by name."""

    def test_good(self):
        for kind, text in GOOD:
            self.assertEqual(text, access_to.check(kind, text), (kind, text))

    def test_bad(self):
        for kind, text in BAD:
            refused = self.assertRaises(errors.Invalid, access_to.check, kind, text)
            self.assertIn(repr(text.strip() if kind == 'cert' else text), str(refused), (kind, text))

    def test_ipv6_where_it_is_not_served(self):
        for text in ('fd00::1', 'fd00::/64', '::ffff:10.0.0.1'):
            self.assertRaises(errors.Invalid, access_to.check, 'ip', text, ipv6=False)
        self.assertEqual('10.0.0.0/8', access_to.check('ip', '10.0.0.0/8', ipv6=False))

    def test_the_name_of_a_certificate_is_kept_without_spaces_around(self):
        self.assertEqual('client one', access_to.check('cert', ' client one '))


class Same(testtools.TestCase):
    """Which rules would be a second one for the same client."""

    def test_same(self):
        for kind, one, other in (('ip', '10.0.0.1', '10.0.0.1/32'), ('ip', '10.0.0.0/8', '10.0.0.0/255.0.0.0'),
                                 ('ip', 'fd00::1', 'fd00:0:0::1/128'), ('user', 'anna', 'anna')):
            self.assertTrue(access_to.same(kind, one, other), (one, other))

    def test_other(self):
        for kind, one, other in (('ip', '10.0.0.1', '10.0.0.2'), ('ip', '10.0.0.0/8', '10.0.0.0/9'),
                                 ('ip', '0.0.0.0/0', '::/0'), ('user', 'anna', 'Anna'), ('user', '10.0.0.1', '10.0.0.1/32')):
            self.assertFalse(access_to.same(kind, one, other), (one, other))
