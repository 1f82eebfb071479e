# SPDX-License-Identifier: Apache-2.0
"""Names of calls below API version 2.7: each form is served at its own versions, and is unknown at the others."""

from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.tests.functional import base

ANY = '00000000-0000-0000-0000-000000000000'

#: Method, path below 2.7, and path from 2.7 on, as in Manila.
PATHS = (
    ('GET', '/os-services', '/services'),
    ('PUT', '/os-services/enable', '/services/enable'),
    ('PUT', '/os-services/disable', '/services/disable'),
    ('GET', '/os-availability-zone', '/availability-zones'),
    ('GET', '/os-quota-sets/p', '/quota-sets/p'),
    ('PUT', '/os-quota-sets/p', '/quota-sets/p'),
    ('DELETE', '/os-quota-sets/q', '/quota-sets/q'),
    ('GET', '/os-quota-sets/p/defaults', '/quota-sets/p/defaults'),
    ('GET', '/os-quota-class-sets/gold', '/quota-class-sets/gold'),
    ('PUT', '/os-quota-class-sets/gold', '/quota-class-sets/gold'),
    ('POST', '/os-share-manage', '/shares/manage'),
    ('GET', f'/types/{ANY}/os-share-type-access', f'/types/{ANY}/share_type_access'),
)

#: Noun, minor version from which the actions exist, and actions. Below 2.7 each has the prefix ``os-``.
ACTIONS = (
    (
        'shares',
        0,
        ('extend', 'shrink', 'allow_access', 'deny_access', 'access_list', 'reset_status', 'force_delete'),
    ),
    ('snapshots', 0, ('reset_status', 'force_delete')),
    ('share_instances', 3, ('reset_status', 'force_delete')),
)

#: Actions that always had these names.
PLAIN = (
    ('types', ('addProjectAccess', 'removeProjectAccess')),
    ('share-networks', ('add_security_service', 'remove_security_service')),
)

_NOTHING = ('no_such_path', 'no_such_action', 'wrong_method')


class OldNames(base.ServiceTest):
    """The API without workers. A call that is served answers that there is no such resource, or refuses the request."""

    PARTS = ()

    def is_served(self, method, path, body, minor):
        """Say whether the API has a call for the request."""
        status, document, _ = self.admin.call(method, path, body, version=versions.show(minor))
        fault = next(iter(document.values())) if status >= 400 else {}
        self.assertLess(status, 500, (method, path, document))
        return fault.get('reason') not in _NOTHING

    def test_old_paths_are_served_below_2_7_only(self):
        for method, old, new in PATHS:
            body = {} if method in ('PUT', 'POST') else None
            served = [
                self.is_served(method, path, body, minor)
                for path in (old, new)
                for minor in (0, 6, 7, versions.MAX)
            ]
            self.assertEqual([True, True, False, False, False, False, True, True], served, (method, old))

    def test_old_actions_are_served_below_2_7_only(self):
        for resource_type, since, names in ACTIONS:
            for name in names:
                served = [
                    self.is_served('POST', f'/{resource_type}/{ANY}/action', {key: None}, minor)
                    for key in (f'os-{name}', name)
                    for minor in (since, 6, 7)
                ]
                self.assertEqual([True, True, False, False, False, True], served, (resource_type, name))
                if since:
                    self.assertFalse(
                        self.is_served(
                            'POST', f'/{resource_type}/{ANY}/action', {f'os-{name}': None}, since - 1
                        ),
                        name,
                    )

    def test_unrenamed_actions_are_served_at_each_version(self):
        for resource_type, names in PLAIN:
            for name in names:
                for minor in (0, 6, 7):
                    self.assertTrue(
                        self.is_served('POST', f'/{resource_type}/{ANY}/action', {name: None}, minor), name
                    )
                self.assertFalse(
                    self.is_served('POST', f'/{resource_type}/{ANY}/action', {f'os-{name}': None}, 6), name
                )

    def test_unmanage_is_an_action_from_2_7_on(self):
        forms = (
            (f'/os-share-unmanage/{ANY}/unmanage', None),
            (f'/shares/{ANY}/action', {'unmanage': None}),
            (f'/shares/{ANY}/action', {'os-unmanage': None}),
        )
        served = [[self.is_served('POST', path, body, minor) for minor in (0, 6, 7)] for path, body in forms]
        self.assertEqual([[True, True, False], [False, False, True], [False] * 3], served)

    def test_no_call_has_an_old_name_from_2_7_on(self):
        for op in CALLS:
            for minor in filter(op.lives, range(versions.PLAIN_NAMES, versions.MAX + 1)):
                self.assertNotIn('/os-', op.path_at(minor))
                self.assertFalse((op.action_at(minor) or '').startswith('os-'), op.name)
