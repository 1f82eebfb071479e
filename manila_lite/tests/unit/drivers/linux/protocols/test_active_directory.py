# SPDX-License-Identifier: Apache-2.0
"""Values of a security service are strict, so that none gets a second meaning in a file or an argument of Samba."""

import dataclasses
import types

import testtools

from manila_lite import errors, values
from manila_lite.drivers.linux.protocols import active_directory as subject

GOOD = values.SecurityService(
    'i',
    'active_directory',
    dns_ip='10.0.0.1, fd00::1',
    domain='ad.example.org',
    user='Administrator',
    password='pass word',
)


def of(**changes):
    return subject.of([dataclasses.replace(GOOD, **changes)])


class Checked(testtools.TestCase):
    def test_good_values_are_taken(self):
        self.assertEqual(
            ('AD.EXAMPLE.ORG', ('10.0.0.1', 'fd00::1'), '', '', 'Administrator', 'pass word'),
            dataclasses.astuple(of())[:-1],
        )
        self.assertEqual('dc1.ad.example.org', of(server='dc1.ad.example.org').server)
        for user in ('join', 'EXAMPLE\\join', 'join@ad.example.org', 'Join Account'):
            self.assertEqual(user, of(user=user).user)
        self.assertIsNone(subject.of([values.SecurityService('l', 'ldap')]))
        self.assertNotIn('pass word', repr(of()))

    def test_options_of_a_backend_are_checked_alike(self):
        conf = types.SimpleNamespace(
            driver_handles_share_servers=False,
            linux_cifs_domain='ad.example.org',
            linux_cifs_domain_dns=['10.0.0.1'],
            linux_cifs_domain_server=None,
            linux_cifs_domain_ou=None,
            linux_cifs_domain_user='join',
            linux_cifs_domain_password='secret',
        )
        self.assertEqual('join', subject.of_backend(conf).user)
        conf.linux_cifs_domain_dns = []
        refused = self.assertRaises(errors.Final, subject.of_backend, conf)
        self.assertIn('linux_cifs_domain_dns: it must be 1 to 3 addresses', str(refused))
        self.assertIn('restart the share manager', str(refused))
        conf.driver_handles_share_servers = True
        self.assertIsNone(subject.of_backend(conf))

    def test_organizational_unit_is_a_path_or_a_name(self):
        for text, path in (
            ('', ''),
            ('CN=Computers', ''),
            ('servers/files', 'servers/files'),
            ('OU=files,OU=servers', 'servers/files'),
            ('ou=My Files, ou=servers, dc=ad, dc=example, dc=org', 'servers/My Files'),
        ):
            self.assertEqual(path, of(ou=text).ou)

    def test_a_value_of_another_form_is_refused_with_its_name(self):
        for field, text in (
            ('domain', None),
            ('domain', 'EXAMPLE'),
            ('domain', 'a.b\n[global]'),
            ('domain', 'a.b\n'),
            ('domain', 'a.b; include = /etc/shadow'),
            ('dns_ip', ''),
            ('dns_ip', 'dns.example.org'),
            ('dns_ip', '10.0.0.1\nsearch x'),
            ('dns_ip', '10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4'),
            ('dns_ip', 'fe80::1%eth0'),
            ('server', 'dc1, *'),
            ('server', '-dc1'),
            ('server', 'dc1\nrealm = X'),
            ('user', None),
            ('user', '-A/etc/shadow'),
            ('user', 'a%b'),
            ('user', 'a\nb'),
            ('password', None),
            ('password', 'a\nb'),
            ('password', 'a\0b'),
            ('password', 'ä' * 64),
            ('ou', 'OU=a,DC=other,DC=org'),
            ('ou', 'DC=ad,DC=example,DC=org'),
            ('ou', 'CN=a'),
            ('ou', 'a//b'),
            ('ou', 'a\nb'),
            ('ou', '../a'),
            ('default_ad_site', 'here'),
        ):
            refused = self.assertRaises(errors.Final, of, **{field: text})
            self.assertIn(f'Security service i: {field}: ', str(refused))

    def test_computer_has_a_name_of_15_characters_that_stays(self):
        name = subject.computer('01234567-89ab-cdef-0123-456789abcdef')
        self.assertEqual('ML0123456789ABC', name)
        self.assertEqual(15, len(subject.computer('host@section')))
        self.assertNotEqual(subject.computer('a'), subject.computer('b'))


class Answers(testtools.TestCase):
    def test_short_name_of_the_domain_is_read_strictly(self):
        said = 'Domain: ad.example.org\nPre-Win2k Domain:\t{}\nPre-Win2k Hostname: DC1\n'
        self.assertEqual('EXAMPLE', subject.workgroup(said.format('Example')))
        for name in ('BUILTIN', 'A' * 16, 'A;B', '[x]', '', '%m'):
            self.assertEqual('', subject.workgroup(said.format(name)))
        self.assertEqual('', subject.workgroup("Didn't find the cldap server!"))

    def test_reasons_say_what_to_do_and_other_words_are_cut(self):
        for said, why in (
            ('over rpc: The attempted logon is invalid. This is', 'refuses the user or the password. Do it'),
            ('in ou ou=nowhere,dc=AD: No such object', 'organizational unit does not exist'),
            ('User specified does not have administrator privileges', 'may not add computers'),
            ('ou=servers: Insufficient access', 'may not add computers'),
            ('Clock skew too great', 'clocks'),
            ('NT_STATUS_ACCOUNT_LOCKED_OUT', 'locked'),
        ):
            self.assertIn(why, subject.reason(f'Failed to join domain: {said}', 'Do it'))
        odd = subject.reason('first\n\x1b[31m' + 'x' * 500, '')
        self.assertNotIn('\x1b', odd)
        self.assertLess(len(odd), 260)
