# SPDX-License-Identifier: Apache-2.0
"""A public share is seen by all, and used only by its project: services that could grant access to anybody do not."""

from oslo_policy import policy
from oslo_utils import uuidutils

from manila_lite.tests.functional.siblings.compute.base import ComputeTest
from manila_lite.tests.functional.siblings.dataproc.base import Caller, DataprocTest, group
from manila_lite.tests.policy_rules import PolicyRules

_PLAIN = {'plugin_name': 'plain', 'plugin_version': '1.0'}


class Servers(ComputeTest):
    """The compute service, whose user has the rights of Nova's."""

    def setUp(self):
        super().setUp()
        self.share = self.caller(self.project, roles='admin,member,reader').share(is_public=True)['id']
        self.stranger = self.on_compute(uuidutils.generate_uuid())

    def refused(self, caller, server):
        return caller.refused('POST', f'/servers/{server}/shares', {'share': {'share_id': self.share}})

    def test_other_projects_see_a_public_share_and_cannot_attach_it(self):
        other = self.caller(self.stranger.token.split(':')[1])
        self.assertEqual(self.share, other.ok('GET', f'/shares/{self.share}')['share']['id'])
        server = self.stranger.off()
        self.assertEqual((403, 'share_of_another_project'), self.refused(self.stranger, server))
        self.assertEqual([], self.stranger.ok('GET', f'/servers/{server}/shares')['shares'])
        self.assertEqual({}, self.rules(self.share))

    def test_owner_rule_for_the_host_gives_other_projects_no_access(self):
        """Servers of all projects mount with the address of their host."""
        self.user.action(self.share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1'})
        mine, theirs = self.me.off(), self.stranger.off()
        self.me.attach(mine, self.share)
        self.assertEqual((403, 'share_of_another_project'), self.refused(self.stranger, theirs))

    def test_administrator_of_both_services_may_attach_a_public_share(self):
        """An administrator of both services could make the rule; an administrator of the compute service alone could not."""
        admin = self.on_compute(uuidutils.generate_uuid(), 'admin,member,reader')
        admin.attach(admin.off(), self.share)
        members = policy.RuleDefault('member', 'role:member').check
        self.useFixture(PolicyRules(self.compute.services.enforcer, {'context_is_admin': members}))
        self.assertEqual((403, 'share_of_another_project'), self.refused(self.stranger, self.stranger.off()))

    def test_owner_may_attach_a_public_share(self):
        server = self.me.off()
        self.me.attach(server, self.share)
        self.assertEqual({'10.0.0.1': 'rw'}, self.rules(self.share))


class Clusters(DataprocTest):
    """The data-processing service: every place that names shares, for reading or writing."""

    ENGINE = False

    def test_other_projects_cannot_mount_a_public_share(self):
        admin = self.caller('owner', roles='admin,member,reader')
        share, private = (admin.share(is_public=public)['id'] for public in (True, False))
        me = Caller(self.dataproc.app, 'stranger')
        owner = Caller(self.dataproc.app, 'owner')
        for level in ('rw', 'ro'):
            shares = [{'id': share, 'access_level': level}]
            for path, body in (
                ('/node-group-templates', {'shares': shares}),
                ('/cluster-templates', {'shares': shares}),
                ('/clusters', {'shares': shares, 'node_groups': [group()]}),
                ('/clusters', {'node_groups': [group(shares=shares)]}),
            ):
                status, name, message = me.refused('POST', path, {'name': 'new', **_PLAIN, **body})
                self.assertEqual((400, 'INVALID_REFERENCE'), (status, name), path)
                self.assertIn('belongs to another project', message)
                hidden = me.refused('POST', path, {'name': 'new', **_PLAIN, 'shares': [{'id': private}]})
                self.assertNotIn('belongs to another project', hidden[2])
        # A template that its owner made public gives nobody access to the share that it names.
        template = owner.ok(
            'POST',
            '/cluster-templates',
            {'name': 'all', **_PLAIN, 'is_public': True, 'shares': [{'id': share}], 'node_groups': [group()]},
        )['cluster_template']['id']
        body = {'name': 'trick', **_PLAIN, 'cluster_template_id': template}
        self.assertEqual('INVALID_REFERENCE', me.refused('POST', '/clusters', body)[1])
        self.assertEqual([], me.ok('GET', '/clusters')['clusters'])
        owner.ok('POST', '/clusters', {**body, 'name': 'mine'})
        self.assertEqual([], self.shares.rules(share))
