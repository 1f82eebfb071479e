# SPDX-License-Identifier: Apache-2.0
"""All of Nova in one process, with a fake hypervisor: a share is attached to two servers, and detached."""

import json
import sys
import unittest

import openstack.proxy
import share_client
from keystoneauth1 import loading
from nova.share import manila
from nova.tests.functional import integrated_helpers
from nova.tests.functional.api import client

#: Nova's fixtures replace these.
_ENDPOINT = openstack.proxy.Proxy.get_endpoint
_CLIENT = manila._manilaclient
PLACE: dict[str, str] = {}
STEPS = ('attach.start', 'attach.end', 'detach.start', 'detach.end')


class Whole(integrated_helpers._IntegratedTestBase):
    """API, conductor, scheduler, compute and placement are Nova's; identity and shares are real servers."""

    microversion = '2.97'
    ADMIN_API = True

    def _setup_services(self):
        self.flags(compute_driver='fake.MediumFakeDriver', my_shared_fs_storage_ip='127.0.0.1')
        self.flags(api_paste_config=f'{sys.prefix}/etc/nova/api-paste.ini', group='wsgi')
        login = {
            'auth_url': PLACE['auth_url'],
            'username': 'nova',
            'password': PLACE['password'],
            'project_name': 'service',
            **share_client.DOMAINS,
        }
        for group in ('manila', 'service_user'):
            share_client.nova.conf.CONF.register_opts(
                loading.get_auth_plugin_conf_options('password'), group=group
            )
            self.flags(auth_type='password', group=group, **login)
        self.flags(share_apply_policy_timeout=share_client.PATIENCE, group='manila')
        super()._setup_services()

    def setUp(self):
        self.demo, self.operator = (share_client.User(PLACE, name) for name in ('demo', 'admin'))
        super().setUp()
        self.stub_out('openstack.proxy.Proxy.get_endpoint', _ENDPOINT)
        self.stub_out('nova.share.manila._manilaclient', self._manilaclient)

    def _manilaclient(self, context, admin=False):
        """Return Nova's own client. Nova's API does not check tokens here, so the caller is always demo."""
        if not admin:
            context.auth_token = self.demo.session.get_token()
            context.project_id = self.demo.session.get_project_id()
            context.project_domain_id = 'default'
        return _CLIENT(context, admin)

    # What is seen

    def attachment(self, server):
        """Return the status of the attachment."""
        return self.api.get_server_share(server['id'], PLACE['share'])['status']

    def rules(self):
        """Return the share's rules as operators see them."""
        return [
            (rule['access_type'], rule['access_to'], rule['state'])
            for rule in self.operator.rules(PLACE['share'])
        ]

    def assert_locked(self, count):
        """Check that there are ``count`` locks, and that the rule's owner cannot read it."""
        self.assertEqual(count, len(self.operator.locks()))
        self.assertEqual(
            count, len({(lock['resource_type'], lock['resource_action']) for lock in self.operator.locks()})
        )
        self.assertEqual(
            {share_client.HIDDEN} if count else set(),
            {rule['access_to'] for rule in self.demo.rules(PLACE['share'])},
        )

    def assert_refused(self, server, status, action, body=None):
        """Check that Nova refuses the action for a server with a share."""
        bad = self.assertRaises(
            client.OpenStackApiException, self.api.post_server_action, server['id'], {action: body}
        )
        self.assertEqual(status, bad.response.status_code, action)

    def stopped(self):
        """Return a server that is shut off."""
        return self._stop_server(self._create_server(networks='none'))

    def test(self):
        """Test it all at once: Nova's options cannot be registered twice in a process."""
        first, second = self.stopped(), self.stopped()
        self._two_servers(first, second)
        self._what_is_told(first)
        bad = self.assertRaises(client.OpenStackApiException, self._attach_share, first, share_client.NOBODY)
        self.assertEqual(404, bad.response.status_code)

    def _two_servers(self, first, second):
        self._attach_share(first, PLACE['share'], tag='photos')
        self.assertEqual('inactive', self.attachment(first))
        self.assertEqual([('ip', '127.0.0.1', 'active')], self.rules())
        self.assert_locked(3)
        self.notifier.reset()
        self._attach_share(second, PLACE['share'])
        self.assertEqual(1, len(self.rules()))
        self._runs(first)
        self._detached(first)
        self.assertEqual([('ip', '127.0.0.1', 'active')], self.rules())
        self.assert_locked(3)
        self.notifier.reset()
        self._detached(second)
        share_client.eventually(
            lambda: not self.rules(), 'Nova is done with the share, and the rule is still there'
        )
        self.assert_locked(0)

    def _runs(self, server):
        """Check the actions that are possible and impossible while the server has a share and runs."""
        self._start_server(server)
        self.assertEqual('active', self.attachment(server))
        self.assert_refused(server, 400, 'rebuild', {'imageRef': server['image']['id']})
        self.assert_refused(server, 409, 'suspend')
        self.assert_refused(server, 409, 'shelve')
        self._stop_server(server)
        self.assertEqual('inactive', self.attachment(server))

    def _detached(self, server):
        self._detach_share(server, PLACE['share'])
        gone = self.assertRaises(client.OpenStackApiException, self.attachment, server)
        self.assertEqual(404, gone.response.status_code)

    def _what_is_told(self, server):
        self.notifier.reset()
        self._attach_share(server, PLACE['share'])
        self._detach_share(server, PLACE['share'])
        told = [
            one['event_type']
            for one in self.notifier.versioned_notifications
            if '.share_' in one['event_type']
        ]
        self.assertEqual([f'instance.share_{step}' for step in STEPS], told)
        share_client.eventually(lambda: not self.rules(), 'the rule is still there')


if __name__ == '__main__':
    PLACE.update(json.load(sys.stdin))
    result = unittest.main(exit=False).result
    sys.exit(not result.wasSuccessful() or result.testsRun != 1 or bool(result.skipped))
