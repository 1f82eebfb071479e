# SPDX-License-Identifier: Apache-2.0
"""Clients that an access rule may be given to."""

import testtools

from manila_lite import errors
from manila_lite.actions import access_targets

GOOD = (
    ('ip', '10.0.0.1'),
    ('ip', '10.0.0.0/24'),
    ('ip', '0.0.0.0/0'),
    ('ip', 'fd00::1'),
    ('ip', 'fd00::/64'),
    ('ip', '10.0.0.0/255.0.0.0'),
    ('ip', '0.0.0.0/31'),
    ('ip', '::/127'),
    ('ip', '::1'),
    ('ip', '::/0'),
    ('ip', '::10.0.0.1'),
    ('ip', 'FD00::A'),
    ('user', "o'neil"),
    ('user', 'svc-{1}_$%&@~#`!'),
    ('user', 'anna'),
    ('user', 'x' * 255),
    ('user', 'the group'),
    ('user', '.dot'),
    ('user', 'jürgen'),
    ('cert', 'c'),
    ('cert', 'x' * 64),
    ('cert', 'client.example.org'),
    ('cephx', 'alice'),
    ('cephx', 'a b-c_d'),
)
BAD = (
    ('ip', ''),
    ('ip', '10.0.0.256'),
    ('ip', '10.0.0.1/33'),
    ('ip', '10.0.0.1/24'),
    ('ip', 'fd00::/129'),
    ('ip', 'host.example.org'),
    ('ip', '10.0.0.1 '),
    ('ip', 'fe80::1%eth0'),
    ('ip', 'fe80::1%0; } EXPORT { Path = /'),
    ('ip', '::ffff:10.0.0.1'),
    ('ip', '::ffff:0:0/96'),
    ('ip', '::ffff:a00:1/128'),
    ('ip', '010.0.0.1'),
    ('ip', '10.0.0.0/024'),
    ('ip', '10.0.0.0/0.0.0.255'),
    ('ip', '10.0.0.1\n'),
    ('ip', '\t10.0.0.1'),
    ('ip', '10.0.0.1,10.0.0.2'),
    ('ip', '10.0.0.1 10.0.0.2'),
    ('ip', '167772161'),
    ('ip', '0x0a000001'),
    ('ip', '10.1'),
    ('ip', '\u0661.0.0.1'),
    ('ip', '10.0.0.0/\u0662\u0664'),
    ('ip', '10.0.0.0/'),
    ('ip', '/24'),
    ('ip', '*'),
    ('ip', '0.0.0.0'),
    ('ip', '0.0.0.0/32'),
    ('ip', '0.0.0.0/255.255.255.255'),
    ('ip', '::'),
    ('ip', '::/128'),
    ('ip', '0::0'),
    ('ip', '@group'),
    ('ip', '10.0.0.1#'),
    ('ip', '[fd00::1]'),
    ('ip', 'fd00::1/64/64'),
    ('ip', '10.0.0.\u0000'),
    ('user', 'anna\nguest ok = yes'),
    ('user', 'anna\r'),
    ('user', 'anna\x00'),
    ('user', 'anna\x1b[2J'),
    ('user', 'anna '),
    ('user', ' anna'),
    ('user', 'anna\u2028'),
    ('user', 'anna\u202e'),
    ('user', 'anna"'),
    ('user', 'anna\ud800'),
    ('cert', 'a\nb'),
    ('cert', 'a"b'),
    ('cert', 'a\\b'),
    ('cert', 'a\x85b'),
    ('cephx', 'a\nb'),
    ('cephx', 'a\tb'),
    ('cephx', 'a"b'),
    ('cephx', 'a\\'),
    ('cephx', 'a\x0b'),
    ('user', 'abc'),
    ('user', 'x' * 256),
    ('user', '.. ..'),
    ('user', 'a:bcd'),
    ('user', 'a\\bcd'),
    ('cert', ''),
    ('cert', '   '),
    ('cert', 'x' * 65),
    ('cephx', ''),
    ('cephx', 'client.alice'),
    ('cephx', 'jürgen'),
)


class Check(testtools.TestCase):
    """Values that are accepted, and values that are refused with their name."""

    def test_valid_targets_are_accepted_unchanged(self):
        for kind, text in GOOD:
            self.assertEqual(text, access_targets.check(kind, text), (kind, text))

    def test_invalid_targets_are_refused_with_the_value_in_the_message(self):
        for kind, text in BAD:
            refused = self.assertRaises(errors.Invalid, access_targets.check, kind, text)
            self.assertIn(repr(text.strip() if kind == 'cert' else text), str(refused), (kind, text))

    def test_ipv6_is_refused_where_it_is_not_served(self):
        for text in ('fd00::1', 'fd00::/64', '::ffff:10.0.0.1'):
            self.assertRaises(errors.Invalid, access_targets.check, 'ip', text, ipv6=False)
        self.assertEqual('10.0.0.0/8', access_targets.check('ip', '10.0.0.0/8', ipv6=False))

    def test_the_name_of_a_certificate_is_kept_without_spaces_around(self):
        self.assertEqual('client one', access_targets.check('cert', ' client one '))


class Same(testtools.TestCase):
    """Rules that would be a second one for the same client."""

    def test_two_notations_of_one_client_are_the_same(self):
        for kind, one, other in (
            ('ip', '10.0.0.1', '10.0.0.1/32'),
            ('ip', '10.0.0.0/8', '10.0.0.0/255.0.0.0'),
            ('ip', 'fd00::1', 'fd00:0:0::1/128'),
            ('user', 'anna', 'anna'),
        ):
            self.assertTrue(access_targets.is_same_client(kind, one, other), (one, other))

    def test_old_rule_with_an_unsupported_address_matches_no_new_rule(self):
        """Compare no rule with an old one whose value is no longer an address for us."""
        self.assertFalse(access_targets.is_same_client('ip', 'fe80::1', 'fe80::1%eth0'))
        self.assertFalse(access_targets.is_same_client('ip', '10.0.0.1', '::ffff:10.0.0.1'))

    def test_different_clients_are_not_the_same(self):
        for kind, one, other in (
            ('ip', '10.0.0.1', '10.0.0.2'),
            ('ip', '10.0.0.0/8', '10.0.0.0/9'),
            ('ip', '0.0.0.0/0', '::/0'),
            ('user', 'anna', 'Anna'),
            ('user', '10.0.0.1', '10.0.0.1/32'),
        ):
            self.assertFalse(access_targets.is_same_client(kind, one, other), (one, other))
