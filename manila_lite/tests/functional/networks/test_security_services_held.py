# SPDX-License-Identifier: Apache-2.0
"""Held rows of security services: a change or deletion holds the row first, so that no network adds it meanwhile."""

import sqlalchemy as sa

from manila_lite.tests.functional.networks.test_networks import NetworkTest


class Held(NetworkTest):
    """The order of statements: it alone keeps transactions apart where the database runs them beside each other."""

    def statements(self, method, path, body=None):
        """Return a request's statements on the two tables, in order, as ``hold``, ``look`` or ``use``."""
        seen = []

        def saw(conn, cursor, statement, *args):
            text = statement.lower().replace('"', '').replace('`', '')
            if text.startswith('update security_services'):
                seen.append('hold')
            elif text.startswith('insert into share_network_security_services'):
                seen.append('use')
            elif text.startswith('select') and 'share_network_security_services' in text:
                seen.append('look')

        sa.event.listen(self.db.engine, 'before_cursor_execute', saw)
        try:
            status, document, _ = self.admin.call(method, path, body)
        finally:
            sa.event.remove(self.db.engine, 'before_cursor_execute', saw)
        self.assertIn(status, (200, 202), document)
        return seen

    def service_path(self):
        made = self.admin.ok('POST', '/security-services', {'security_service': {'type': 'ldap'}})[
            'security_service'
        ]
        return f'/security-services/{made["id"]}'

    def test_row_is_locked_before_a_deletion(self):
        self.assertEqual(['hold', 'look'], self.statements('DELETE', self.service_path())[:2])

    def test_row_is_locked_before_a_change(self):
        body = {'security_service': {'type': 'kerberos'}}
        self.assertEqual(['hold', 'look'], self.statements('PUT', self.service_path(), body)[:2])

    def test_row_is_locked_before_it_is_added_to_a_network(self):
        network = self.network()['id']
        resource_id = self.service_path().rpartition('/')[2]
        found = self.statements(
            'POST',
            f'/share-networks/{network}/action',
            {'add_security_service': {'security_service_id': resource_id}},
        )
        self.assertLess(found.index('hold'), found.index('use'))

    def test_service_of_another_project_is_not_found_or_changed(self):
        path, other = self.service_path(), self.caller('another')
        for method, body in (('DELETE', None), ('PUT', {'security_service': {'name': 'mine'}})):
            self.assertEqual(404, other.call(method, path, body)[0])
        self.assertIsNone(self.admin.ok('GET', path)['security_service']['name'])
