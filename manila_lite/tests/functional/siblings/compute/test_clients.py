# SPDX-License-Identifier: Apache-2.0
"""Common clients, unchanged: ``openstack server add share`` and similar commands, and openstacksdk."""

import openstack

from manila_lite.api.server.server import ApiServer
from manila_lite.siblings.compute import cmd
from manila_lite.tests.functional.siblings.compute import base

#: The project of callers without a token.
_PROJECT = 'admin'


class Recorder:
    """WSGI application that records requests: method, path with query, and compute API version."""

    def __init__(self, app):
        self._app = app
        self.seen = []

    def __call__(self, environ, start_response):
        query = environ.get('QUERY_STRING', '')
        self.seen.append(
            (
                environ['REQUEST_METHOD'],
                environ['PATH_INFO'] + (f'?{query}' if query else ''),
                environ.get('HTTP_OPENSTACK_API_VERSION', ''),
            )
        )
        return self._app(environ, start_response)


class ClientTest(base.ComputeTest):
    """Base class: both services answer over HTTP, and their requests are recorded."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.asked_compute, cls.compute_url = cls._recorded(cmd.COMPUTE.wsgi(cls.compute.services))
        cls.asked_shares, cls.shares_url = cls._recorded(cls.service.wsgi)

    @classmethod
    def _recorded(cls, app):
        recorder = Recorder(app)
        server = ApiServer(recorder, '127.0.0.1', 0, 4)
        server.start()
        cls.addClassCleanup(server.stop)
        return recorder, f'http://127.0.0.1:{server.port}'

    def setUp(self):
        super().setUp()
        self.user = self.caller(_PROJECT)
        self.me = self.on_compute(_PROJECT)

    def asked(self, recorder):
        """Return the requests since the last call."""
        seen, recorder.seen = recorder.seen, []
        return seen


class OpenStackCommand(ClientTest):
    """python-openstackclient with python-manilaclient."""

    def env(self, **more):
        return super().env(
            OS_COMPUTE_ENDPOINT_OVERRIDE=f'{self.compute_url}/v2.1',
            OS_SHARED_FILE_SYSTEM_ENDPOINT_OVERRIDE=f'{self.shares_url}/v2',
            OS_COMPUTE_API_VERSION='2.97',
            **more,
        )

    def test_shares_are_attached_by_name(self):
        share = self.shared(name='by-name')
        server = self.me.off(name='vm-by-name')
        self.asked(self.asked_compute), self.asked(self.asked_shares)
        added = self.cli('server', 'add', 'share', 'vm-by-name', 'by-name', '--tag', 'mytag')
        self.assertEqual((share, 'attaching', 'mytag'), (added['Share ID'], added['Status'], added['Tag']))
        self.assertIn('/', added['Export Location'])
        asked = self.asked(self.asked_compute)
        self.assertEqual(
            [
                ('GET', '/v2.1/servers/vm-by-name'),
                ('GET', '/v2.1/servers/detail?name=vm-by-name'),
                ('POST', f'/v2.1/servers/{server}/shares'),
            ],
            [row[:2] for row in asked if 'servers' in row[1]],
        )
        self.assertEqual('compute 2.97', asked[-1][2])
        self.assertEqual(
            [('GET', '/v2/shares/by-name'), ('GET', '/v2/shares?name=by-name')],
            [row[:2] for row in self.asked(self.asked_shares) if 'by-name' in row[1]],
        )
        self.me.attached(server, share, 'inactive')
        self.assertEqual(
            [{'Share ID': share, 'Status': 'inactive', 'Tag': 'mytag'}],
            self.cli('server', 'share', 'list', 'vm-by-name'),
        )
        shown = self.cli('server', 'share', 'show', 'vm-by-name', 'by-name')
        self.assertEqual((added['UUID'], 'inactive'), (shown['UUID'], shown['Status']))
        self.run_cli('server', 'remove', 'share', 'vm-by-name', 'by-name')
        self.me.attached(server, share, 'gone')
        self.assertEqual({}, self.rules(share))

    def test_shares_are_attached_by_id(self):
        share, server = self.shared(), self.me.off()
        self.asked(self.asked_compute), self.asked(self.asked_shares)
        self.cli('server', 'add', 'share', server, share)
        self.assertEqual(share, self.me.attached(server, share, 'inactive')['tag'])
        asked = [row[:2] for row in self.asked(self.asked_compute)]
        self.assertEqual(
            [('GET', f'/v2.1/servers/{server}'), ('POST', f'/v2.1/servers/{server}/shares')],
            [row for row in asked if 'servers' in row[1]][:2],
        )
        self.assertNotIn('name=', str(asked) + str(self.asked(self.asked_shares)))
        self.assertIn('409', self.run_cli('server', 'add', 'share', server, share, fails=True))
        self.me.act(server, 'os-start')
        self.me.wait(server, 'ACTIVE')
        self.assertEqual('active', self.cli('server', 'share', 'show', server, share)['Status'])
        self.assertIn('409', self.run_cli('server', 'remove', 'share', server, share, fails=True))
        self.me.act(server, 'os-stop')
        self.me.wait(server, 'SHUTOFF')
        self.run_cli('server', 'remove', 'share', server, share)
        self.me.attached(server, share, 'gone')
        self.assertEqual([], self.cli('server', 'share', 'list', server))
        self.assertIn('No Share', self.run_cli('server', 'add', 'share', server, 'nowhere', fails=True))


class OpenStackSdk(ClientTest):
    """openstacksdk, as Ansible and tools like Terraform use it."""

    def test_shares_of_a_server(self):
        share, server = self.shared(), self.me.off(name='vm-sdk')
        cloud = openstack.connect(
            auth_type='none',
            endpoint=self.compute_url,
            compute_endpoint_override=f'{self.compute_url}/v2.1',
            compute_default_microversion='2.97',
            load_yaml_config=False,
            load_envvars=False,
        )
        vm = cloud.compute.find_server('vm-sdk')
        self.assertEqual((server, 'SHUTOFF'), (vm.id, vm.status))
        made = cloud.compute.create_share_attachment(vm, share, tag='sdk')
        self.assertEqual((share, 'sdk'), (made.share_id, made.tag))
        self.me.attached(server, share, 'inactive')
        self.assertEqual('inactive', cloud.compute.get_share_attachment(vm, share).status)
        self.assertEqual([share], [row.share_id for row in cloud.compute.share_attachments(vm)])
        cloud.compute.delete_share_attachment(vm, share)
        self.me.attached(server, share, 'gone')
        self.assertRaises(
            openstack.exceptions.NotFoundException, cloud.compute.get_share_attachment, vm, share
        )
