# SPDX-License-Identifier: Apache-2.0
"""``manila-manage share_server`` on the capabilities of share servers, beside a running service."""

from manila_lite.db import models
from manila_lite.db.queries import share_server_capabilities, share_servers
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import manage

_WORDS = ('share_server', 'update_share_server_capabilities')
_ADD, _SECURITY = 'network_allocation_update_support', 'security_service_update_support'


class CapabilitiesTest(manage.ManageTest):
    """Two servers that support a new subnet, and no new security service."""

    def setUp(self):
        super().setUp()
        with self.service.services.db.writer() as conn:
            self.one, self.two = (made[-1] for made in networks.make(conn, 2, project=self.id()[-36:]))

    def tearDown(self):
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.share_servers.delete().where(models.share_servers.c.id.in_((self.one, self.two)))
            )
        super().tearDown()

    def stands(self, resource_id):
        with self.service.services.db.reader() as conn:
            row = share_servers.get(conn, resource_id)
        return {name: getattr(row, name) for name in share_server_capabilities.NAMES}

    def test_named_server_is_changed_and_the_other_is_kept(self):
        rows = self.listed(
            *_WORDS, '--share_servers', self.one, '--capabilities', f'{_ADD},{_SECURITY}', '--value', 'True'
        )
        self.assertEqual(
            [(self.one, True, f'{_SECURITY}: False -> True')],
            [(row['id'], row['changed'], row['result']) for row in rows],
        )
        self.assertTrue(self.stands(self.one)[_SECURITY])
        self.assertFalse(self.stands(self.two)[_SECURITY])

    def test_each_word_for_false_clears_the_capability(self):
        for word in ('False', 'false', '0', 'no'):
            with self.service.services.db.writer() as conn:
                share_server_capabilities.write(conn, (self.one,), (_ADD,), True)
            self.manage(*_WORDS, '--share_servers', self.one, '--capabilities', _ADD, '--value', word)
            self.assertFalse(self.stands(self.one)[_ADD], word)

    def test_only_changed_servers_are_counted(self):
        words = (
            *_WORDS,
            '--share_servers',
            f'{self.one}, {self.two}',
            '--capabilities',
            _SECURITY,
            '--value',
            'yes',
        )
        self.manage(*_WORDS, '--share_servers', self.two, '--capabilities', _SECURITY, '--value', 'True')
        self.assertIn('1 of 2 share servers would be changed', self.manage(*words, '--dry-run')[0])
        self.assertFalse(self.stands(self.one)[_SECURITY])
        self.assertIn('1 of 2 share servers were changed', self.manage(*words)[0])
        self.assertTrue(self.stands(self.one)[_SECURITY])
        self.assertIn('0 of 2 share servers were changed', self.manage(*words)[0])

    def test_host_option_selects_all_servers_of_the_host(self):
        for host in ('test', 'test@alpha'):
            rows = self.listed(
                *_WORDS, '--host', host, '--capabilities', _ADD, '--value', 'true', '--dry-run'
            )
            self.assertTrue({self.one, self.two} <= {row['id'] for row in rows})
        _, said = self.manage(*_WORDS, '--host', 'tes', '--capabilities', _ADD, '--value', 'true', status=1)
        self.assertIn('no share servers on tes', said)

    def test_unknown_server_is_refused_and_nothing_is_changed(self):
        for more in ((f'{self.one},missing',), (self.one, '--host', 'other@alpha')):
            _, said = self.manage(
                *_WORDS, '--capabilities', _SECURITY, '--value', 'True', '--share_servers', *more, status=1
            )
            self.assertIn('nothing was changed', said)
            self.assertFalse(self.stands(self.one)[_SECURITY])

    def test_invalid_arguments_are_refused(self):
        good = {'--share_servers': self.one, '--capabilities': _SECURITY, '--value': 'True'}
        for change, status in (
            ({'--value': 'perhaps'}, 2),
            ({'--capabilities': 'speed'}, 2),
            ({'--capabilities': ','}, 2),
            ({'--share_servers': ' , '}, 2),
            ({'--value': None}, 2),
            ({'--capabilities': None}, 2),
            ({'--share_servers': None}, 1),
        ):
            words = [word for pair in (good | change).items() if pair[1] for word in pair]
            self.manage(*_WORDS, *words, status=status)
            self.assertFalse(self.stands(self.one)[_SECURITY], words)
