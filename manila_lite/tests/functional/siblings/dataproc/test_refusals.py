# SPDX-License-Identifier: Apache-2.0
"""Refusals, wherever a request names shares: nothing is stored, and other projects' resources stay hidden."""

import json

import fixtures
import webob
from oslo_utils import uuidutils

from manila_lite.api.server.server import ApiServer
from manila_lite.db.core import transitions
from manila_lite.siblings.dataproc import states
from manila_lite.tests.functional.siblings.dataproc.base import LOGIN, Caller, Dataproc, DataprocTest, group

_PLAIN = {'plugin_name': 'plain', 'plugin_version': '1.0'}
_DATA, _REFERENCE, _SCHEMA = 'INVALID_DATA', 'INVALID_REFERENCE', 'VALIDATION_ERROR'


class Places:
    """The calls that name shares, for templates and clusters, on creation and change; ``dataproc`` has no engine."""

    def __init__(self, dataproc):
        self._dataproc = dataproc
        self.me = Caller(dataproc.app)

    def calls(self):
        """Return each call as a function of the shares that returns status, name and message of the refusal."""
        node = self.me.ok('POST', '/node-group-templates', {'name': 'node', **_PLAIN})['node_group_template'][
            'id'
        ]
        whole = self.me.ok('POST', '/cluster-templates', {'name': 'whole', **_PLAIN})['cluster_template'][
            'id'
        ]
        cluster = self.me.ok('POST', '/clusters', {'name': 'there', **_PLAIN, 'node_groups': [group()]})[
            'cluster'
        ]['id']
        with self._dataproc.services.db.writer() as conn:
            transitions.settle(conn, states.CLUSTER, (cluster,), 'Validating', 'Active')
        new = {'name': 'new', **_PLAIN}
        return [
            self._own('POST', '/node-group-templates', new),
            self._own('PATCH', f'/node-group-templates/{node}', {}),
            self._own('PUT', f'/cluster-templates/{whole}', {}),
            self._own('POST', '/cluster-templates', new),
            self._own('PATCH', f'/clusters/{cluster}', {}),
            self._own('POST', '/clusters', {**new, 'node_groups': [group()]}),
            self._groups('POST', '/cluster-templates', new, 'node_groups'),
            self._groups('PATCH', f'/cluster-templates/{whole}', {}, 'node_groups'),
            self._groups('POST', '/clusters', new, 'node_groups'),
            self._groups('PUT', f'/clusters/{cluster}', {}, 'add_node_groups'),
        ]

    def _own(self, method, path, body):
        return lambda shares: self.me.refused(method, path, {**body, 'shares': shares})

    def _groups(self, method, path, body, key):
        return lambda shares: self.me.refused(method, path, {**body, key: [group('more', 1, shares=shares)]})

    def everything(self):
        """Return all stored resources."""
        return json.dumps(
            [self.me.ok('GET', path) for path in ('/node-group-templates', '/cluster-templates', '/clusters')]
        )


class NoShareService(fixtures.Fixture):
    """An identity service with an empty catalog at ``url``."""

    def _setUp(self):
        server = ApiServer(self._answer, '127.0.0.1', 0, 2)
        server.start()
        self.addCleanup(server.stop)
        self.url = f'http://127.0.0.1:{server.port}/v3'

    def _answer(self, environ, start_response):
        if environ['REQUEST_METHOD'] == 'POST':
            token = {
                'methods': ['password'],
                'user': {'id': 'u', 'name': 'u', 'domain': {'id': 'd', 'name': 'd'}},
                'expires_at': '2099-01-01T00:00:00.000000Z',
                'issued_at': '2026-01-01T00:00:00.000000Z',
                'catalog': [],
                'project': {'id': 'p', 'name': 'p', 'domain': {'id': 'd', 'name': 'd'}},
                'roles': [],
            }
            answer = webob.Response(
                json_body={'token': token}, status=201, headerlist=[('X-Subject-Token', 'x')]
            )
            answer.content_type = 'application/json'
        else:
            answer = webob.Response(
                json_body={
                    'version': {
                        'id': 'v3.14',
                        'status': 'stable',
                        'links': [{'rel': 'self', 'href': self.url}],
                    }
                },
                content_type='application/json',
            )
        return answer(environ, start_response)


class RefusalsTest(DataprocTest):
    """No request reaches an engine."""

    ENGINE = False

    def test_wrong_shares_are_refused_in_every_request(self):
        share, other, busy = self.shared(), self.shared(), self.shared()
        hidden = self.caller('q', 'v').share()['id']
        cifs = self.user.share(share_proto='CIFS')['id']
        self.admin.ok('POST', f'/shares/{busy}/action', {'reset_status': {'status': 'error'}})
        cases = [
            ([{'id': uuidutils.generate_uuid()}], _REFERENCE, 'could not be found'),
            ([{'id': hidden}], _REFERENCE, 'could not be found'),
            ([{'id': share, 'path': 'data'}], _DATA, 'is not absolute'),
            ([{'id': share, 'path': '/a\nb'}], _DATA, 'control character'),
            ([{'id': share, 'path': '/data/../etc'}], _DATA, "has a part '..'"),
            ([{'id': share, 'path': '/usr/lib'}], _DATA, 'belongs to the system'),
            ([{'id': share, 'path': '/var'}], _DATA, 'holds data of the nodes'),
            ([{'id': share, 'path': '/home/'}], _DATA, 'holds data of the nodes'),
            ([{'id': share, 'path': '/d'}, {'id': other, 'path': '/d/'}], _DATA, 'used twice'),
            ([{'id': share, 'path': '/d'}, {'id': other, 'path': '/d/e'}], _DATA, 'inside'),
            ([{'id': share}, {'id': share, 'path': '/d'}], _DATA, 'named twice'),
            ([{'id': cifs}], _REFERENCE, 'is of protocol CIFS'),
            ([{'id': busy}], _REFERENCE, 'is error; it must be available'),
            ([{'id': share, 'access_level': None}], _SCHEMA, 'access_level'),
            ([{'id': 'no-uuid'}], _SCHEMA, 'id'),
            ([{'id': f'{share}\n'}], _SCHEMA, 'id'),
            ([{'id': share, 'more': 1}], _SCHEMA, 'more'),
            ({'id': share}, _SCHEMA, 'shares'),
        ]
        places = Places(self.dataproc)
        calls = places.calls()
        before = places.everything()
        for refuse in calls:
            for shares, name, said in cases:
                status, error_name, message = refuse(shares)
                self.assertEqual((400, name), (status, error_name), message)
                self.assertIn(said, message)
        self.assertEqual(before, places.everything())

    def test_shares_are_refused_without_a_share_service(self):
        there = self.useFixture(NoShareService()).url
        login = '\n'.join(
            f'{name} = {value}'
            for name, value in {
                'auth_type': 'password',
                'auth_url': there,
                'username': 'u',
                'password': 'x',
                'project_name': 'p',
                'user_domain_id': 'd',
                'project_domain_id': 'd',
            }.items()
        )
        for refuse in Places(self.useFixture(Dataproc(login, engine=False))).calls():
            status, name, message = refuse([{'id': uuidutils.generate_uuid()}])
            self.assertEqual((400, _REFERENCE), (status, name), message)
            self.assertIn('shared-file-system', message)

    def test_shares_are_refused_while_the_share_service_is_away(self):
        places = Places(
            self.useFixture(
                Dataproc(f'{LOGIN.format(url="http://127.0.0.1:9")}connect_retries = 0', engine=False)
            )
        )
        calls = places.calls()
        before = places.everything()
        for refuse in calls:
            self.assertEqual((503, 'SERVICE_UNAVAILABLE'), refuse([{'id': uuidutils.generate_uuid()}])[:2])
        self.assertEqual(before, places.everything())

    def test_shares_of_group_and_cluster_are_checked_together(self):
        share, other = self.shared(), self.shared()
        body = {
            'name': 'new',
            **_PLAIN,
            'shares': [{'id': share, 'path': '/d'}],
            'node_groups': [group(shares=[{'id': other, 'path': '/d/e'}])],
        }
        for path in ('/cluster-templates', '/clusters'):
            status, name, message = self.me.refused('POST', path, body)
            self.assertEqual((400, _DATA), (status, name))
            self.assertIn('node group workers', message)
        body['node_groups'] = [
            group(shares=[{'id': share, 'path': '/d/e'}])
        ]  # the share of the cluster replaces it
        self.me.ok('POST', '/cluster-templates', body)

    def test_others_see_nothing_unless_it_is_public(self):
        other = Caller(self.dataproc.app, 'q')
        body = {'name': 'mine', **_PLAIN}
        for path, key, more in (
            ('/node-group-templates', 'node_group_template', {}),
            ('/cluster-templates', 'cluster_template', {}),
            ('/clusters', 'cluster', {'node_groups': [group()]}),
        ):
            one = f'{path}/{self.me.ok("POST", path, {**body, **more})[key]["id"]}'
            change = 'PATCH'
            for method, sent in (('GET', None), (change, {'name': 'yours'}), ('DELETE', None)):
                self.assertEqual((404, 'NOT_FOUND'), other.refused(method, one, sent)[:2])
            self.assertEqual({key + 's': []}, other.ok('GET', path))
            self.me.ok('PATCH', one, {'is_public': True})
            self.assertEqual('mine', other.ok('GET', one)[key]['name'])
            for method, sent in ((change, {'name': 'yours'}), ('DELETE', None)):
                self.assertEqual((404, 'NOT_FOUND'), other.refused(method, one, sent)[:2])
        template = self.me.ok('GET', '/cluster-templates')['cluster_templates'][0]['id']
        self.me.ok('PATCH', f'/cluster-templates/{template}', {'is_public': False})
        self.assertEqual(
            (400, _REFERENCE),
            other.refused(
                'POST', '/clusters', {**body, 'cluster_template_id': template, 'node_groups': [group()]}
            )[:2],
        )

    def test_administrators_see_the_clusters_of_all_projects(self):
        body = {**_PLAIN, 'node_groups': [group()]}
        mine = self.me.ok('POST', '/clusters', {'name': 'mine', **body})['cluster']['id']
        other = Caller(self.dataproc.app, 'q').ok('POST', '/clusters', {'name': 'theirs', **body})['cluster'][
            'id'
        ]
        admin = Caller(self.dataproc.app, 'adm', 'admin,member,reader')
        self.assertEqual([], admin.ok('GET', '/clusters')['clusters'])
        everything = admin.ok('GET', '/clusters?all_projects=true&sort_by=name')['clusters']
        self.assertEqual([(mine, 'p'), (other, 'q')], [(one['id'], one['project_id']) for one in everything])
        page = admin.ok('GET', '/clusters?all_projects=true&sort_by=name&limit=1')
        self.assertEqual(
            [other],
            [
                one['id']
                for one in admin.ok(
                    'GET', f'/clusters?all_projects=true&sort_by=name&marker={page["markers"]["next"]}'
                )['clusters']
            ],
        )
        self.assertEqual('theirs', admin.ok('GET', f'/clusters/{other}')['cluster']['name'])
        self.assertEqual((403, 'FORBIDDEN'), self.me.refused('GET', '/clusters?all_projects=true')[:2])
        self.assertEqual(
            [mine], [one['id'] for one in self.me.ok('GET', '/clusters?all_projects=false')['clusters']]
        )
        self.assertEqual((404, 'NOT_FOUND'), self.me.refused('GET', f'/clusters/{other}')[:2])
        self.assertEqual((404, 'NOT_FOUND'), admin.refused('DELETE', f'/clusters/{other}')[:2])

    def test_readers_change_nothing(self):
        reader = Caller(self.dataproc.app, 'p', 'reader')
        reader.ok('GET', '/clusters')
        for method, path in (
            ('POST', '/clusters'),
            ('PATCH', '/clusters/x'),
            ('PUT', '/clusters/x'),
            ('DELETE', '/clusters/x'),
            ('POST', '/cluster-templates'),
            ('POST', '/node-group-templates'),
        ):
            self.assertEqual((403, 'FORBIDDEN'), reader.refused(method, path, {})[:2])

    def test_hostile_requests_are_refused(self):
        made = {'name': 'new', **_PLAIN, 'node_groups': [group()]}
        cases = [
            (b'{', 400),
            (b'[]', 400),
            (b'null', 400),
            (b'{"name": "\\u0000"}', 400),
            (b'x' * 20000, 413),
            ({}, 400),
            ({**made, 'name': 'a b'}, 400),
            ({**made, 'name': 'a\n'}, 400),
            ({**made, 'name': '-a'}, 400),
            ({**made, 'name': 'a' * 81}, 400),
            ({**made, 'plugin_name': 'vanilla'}, 400),
            ({**made, 'plugin_version': '9'}, 400),
            ({**made, 'node_groups': []}, 400),
            ({**made, 'node_groups': [group(count=0)]}, 400),
            ({**made, 'node_groups': [group(count=-1)]}, 400),
            ({**made, 'node_groups': [group(count=257)]}, 400),
            ({**made, 'node_groups': [group(), group()]}, 400),
            ({**made, 'node_groups': [group('$(x)')]}, 400),
            ({**made, 'node_groups': [group(node_group_template_id='x')]}, 400),
            ({**made, 'node_groups': [group(floating_ip_pool='x')]}, 400),
            ({**made, 'cluster_template_id': 'x'}, 400),
            ({**made, 'unknown': 1}, 400),
            ({**made, 'is_transient': True}, 400),
            ({**made, 'count': 2}, 400),
        ]
        for body, status in cases:
            self.assertEqual(status, self.me.refused('POST', '/clusters', body)[0], body)
        for query in (
            'limit=0',
            'limit=x',
            'marker=x',
            'sort_by=details',
            'sort_by=-',
            'name=%00',
            'name=%ff',
        ):
            self.assertEqual(400, self.me.refused('GET', f'/clusters?{query}')[0], query)
        for path in ('/nothing', '/clusters/x/y/z', '/clusters/%ff', '/clusters/%00'):
            self.assertIn(self.me.refused('GET', path)[0], (400, 404))
        self.assertEqual((405, 'METHOD_NOT_ALLOWED'), self.me.refused('PUT', '/clusters', {})[:2])
        self.assertEqual({'clusters': []}, self.me.ok('GET', '/clusters'))

    def test_values_that_would_have_no_effect_are_refused(self):
        of_node = {
            'node_processes': (['node'], ['namenode']),
            'node_configs': ({}, {'HDFS': {'a': 1}}),
            'availability_zone': (None, 'nova'),
            'security_groups': ([], ['default']),
            'volume_mount_prefix': ('/volumes/disk', '/data'),
            'floating_ip_pool': (None, 'public'),
            'volumes_per_node': (0, 2),
            'auto_security_group': (False, True),
            'is_proxy_gateway': (False, True),
        }
        of_cluster = {
            'cluster_configs': ({}, {'HDFS': {'a': 1}}),
            'neutron_management_network': (None, 'private'),
            'domain_name': (None, 'example.org'),
            'anti_affinity': ([], ['node']),
        }
        only = {'user_keypair_id': (None, 'key'), 'is_transient': (False, True)}
        plain = {'name': 'new', **_PLAIN}
        for path, fields, more in (
            ('/node-group-templates', of_node, {}),
            ('/cluster-templates', of_cluster, {}),
            ('/clusters', of_cluster | only, {'node_groups': [group()]}),
        ):
            for name, (_, asked) in fields.items():
                status, _, message = self.me.refused('POST', path, {**plain, **more, name: asked})
                self.assertEqual(400, status)
                self.assertIn(name, message)
            self.me.ok(
                'POST', path, {**plain, **more, **{name: default for name, (default, _) in fields.items()}}
            )

    def test_a_name_is_used_once_in_a_project(self):
        body = {'name': 'mine', **_PLAIN}
        for path, more in (
            ('/node-group-templates', {}),
            ('/cluster-templates', {}),
            ('/clusters', {'node_groups': [group()]}),
        ):
            self.me.ok('POST', path, {**body, **more})
            self.assertEqual((409, 'CONFLICT'), self.me.refused('POST', path, {**body, **more})[:2])
            Caller(self.dataproc.app, 'q').ok('POST', path, {**body, **more})
            other = self.me.ok('POST', path, {**body, **more, 'name': 'other'})
            resource_id = next(iter(other.values()))['id']
            self.assertEqual(
                (409, 'CONFLICT'), self.me.refused('PATCH', f'{path}/{resource_id}', {'name': 'mine'})[:2]
            )
