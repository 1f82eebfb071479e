# SPDX-License-Identifier: Apache-2.0
"""Settings for smbd are read again as they were written, and no foreign text gets into them."""

from pathlib import Path

import testtools

from manila_lite.drivers.linux.protocols import samba_config

PLACE = Path('/s/exports/one')


class Sections(testtools.TestCase):
    def test_written_section_is_read_back(self):
        clients = ['ro bob', 'rw alice', 'rw carol']
        text = samba_config.section('one', 'Team', PLACE, clients)
        self.assertEqual(clients, samba_config.clients_of(text))
        self.assertEqual(('Team', '/s/exports/one'), (samba_config.name_of(text), samba_config.path_of(text)))

    def test_users_are_root_there_and_readers_cannot_write(self):
        text = samba_config.section('one', 'one', PLACE, ['rw alice', 'ro bob'])
        for line in (
            'available = yes',
            'valid users = alice bob',
            'admin users = alice bob',
            'read list = bob',
        ):
            self.assertIn(f'  {line}\n', text)

    def test_share_without_clients_is_unavailable(self):
        text = samba_config.section('one', 'one', PLACE, [])
        self.assertEqual([], samba_config.clients_of(text))
        self.assertIn('  available = no\n', text)
        # An empty list would allow everybody.
        self.assertIn('  valid users = root\n', text)

    def test_configuration_is_split_into_its_sections(self):
        first = samba_config.main(Path('/s'), Path('/r'), 445, 1000)
        sections = {
            name: samba_config.section(name, name.upper(), PLACE, ['rw alice']) for name in ('one', 'two')
        }
        self.assertEqual(
            sections, samba_config.sections(samba_config.configuration(first, sections.values()))
        )
        self.assertEqual({}, samba_config.sections(first))

    def test_the_main_part_depends_on_each_option(self):
        texts = {
            samba_config.main(Path(state), Path(run), *more)
            for state, run, *more in (
                ('/s', '/r', 445, 9),
                ('/t', '/r', 445, 9),
                ('/s', '/q', 445, 9),
                ('/s', '/r', 446, 9),
                ('/s', '/r', 445, 8),
            )
        }
        self.assertEqual(5, len(texts))
        for line in (
            'map to guest = never',
            'disable netbios = yes',
            'server min protocol = SMB2_10',
            'rpc start on demand helpers = no',
            'multicast dns register = no',
            'deadtime = 15',
        ):
            self.assertIn(f'  {line}\n', min(texts))

    def test_member_of_a_domain_has_no_list_of_users(self):
        names = {'computer': 'ML1', 'realm': 'AD.EXAMPLE.ORG', 'workgroup': 'EXAMPLE'}
        role = samba_config.member(Path('/s'), Path('/r'), **names, server='')
        text = samba_config.main(Path('/s'), Path('/r'), 445, 9, role)
        for line in (
            'server role = member server',
            'realm = AD.EXAMPLE.ORG',
            'netbios name = ML1',
            'private dir = /s/private',
            'allow trusted domains = no',
            'idmap config EXAMPLE : backend = rid',
        ):
            self.assertIn(f'  {line}\n', text)
        for word in ('standalone', 'smbpasswd', 'password server'):
            self.assertNotIn(word, text)
        only = samba_config.member(Path('/s'), Path('/r'), **names, server='dc1')
        self.assertIn('  password server = dc1\n', only)

    def test_reserved_and_malformed_share_names_are_refused(self):
        for name in ('global', 'Homes', 'printers', 'n' * 81, 'a]', 'a\nb', '%u', ''):
            self.assertNotEqual('', samba_config.objection(name))
        self.assertEqual(['', ''], [samba_config.objection(name) for name in ('docs', 'n' * 80)])
