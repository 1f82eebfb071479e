# SPDX-License-Identifier: Apache-2.0
"""An access rule is for one address or one name, at every version and for snapshots: a file server gets no other."""

from manila_lite.tests.functional import base
from manila_lite.tests.unit.actions.test_access_targets import BAD, GOOD


class AccessTo(base.ServiceTest):
    BACKENDS = {'alpha': 'dummy_access_types = ip,user,cert,cephx'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.user = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.share = cls.user.share()['id']
        cls.snapshot = cls.user.ok('POST', '/snapshots', {'snapshot': {'share_id': cls.share}})['snapshot'][
            'id'
        ]
        cls.user.wait(f'/snapshots/{cls.snapshot}', 'snapshot', 'available')

    def ways(self):
        """Yield the calls that ask for a rule, by version and for share and snapshot."""
        for version, action in (
            ('2.0', 'os-allow_access'),
            ('2.37', 'allow_access'),
            ('2.99', 'allow_access'),
        ):
            yield version, f'/shares/{self.share}/action', action
        for version in ('2.32', '2.99'):
            yield version, f'/snapshots/{self.snapshot}/action', 'allow_access'

    def test_wrong_addresses_are_refused(self):
        for version, path, action in self.ways():
            for kind, to in BAD:
                if (kind == 'cephx' and (version == '2.0' or 'snapshots' in path)) or not {
                    '\ud800',
                    '\x00',
                }.isdisjoint(to):
                    continue  # a type unknown there; or a character that no body may have
                body = {action: {'access_type': kind, 'access_to': to}}
                status, document, _ = self.user.call('POST', path, body, version=version)
                self.assertEqual(400, status, (version, path, kind, to, document))
                self.assertIn('access_to', document['badRequest']['message'], (version, path, kind, to))
        self.assertEqual([], self.user.ok('GET', f'/share-access-rules?share_id={self.share}')['access_list'])
        self.assertEqual(
            [], self.user.ok('GET', f'/snapshots/{self.snapshot}/access-list')['snapshot_access_list']
        )

    def test_addresses_that_manila_accepts_are_accepted(self):
        share = self.user.share()['id']
        for kind, to in GOOD:
            body = {'access_type': kind, 'access_to': to}
            self.assertEqual(200, self.user.action(share, 'allow_access', body)[0], body)

    def test_filters_by_wrong_addresses_are_refused(self):
        """A value that is no address is refused as a filter, too."""
        for to in ('fe80::1%25eth0', '::ffff:10.0.0.1', '10.0.0.1%0a', 'host'):
            path = f'/share-access-rules?share_id={self.share}&access_type=ip&access_to={to}'
            self.assertEqual(400, self.user.call('GET', path)[0], to)
