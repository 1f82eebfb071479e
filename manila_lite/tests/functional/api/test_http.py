# SPDX-License-Identifier: Apache-2.0
"""The API as HTTP: discovery, versions, headers, error bodies, limits and authentication."""

import base64
import dataclasses
import gzip
import json
import logging

import bcrypt
import fixtures
import openapi_spec_validator
import sqlalchemy as sa
import webob
import webtest
from oslo_config import cfg
from oslo_context import context as oslo_context

from manila_lite.api.http import app
from manila_lite.cmd import setup
from manila_lite.tests.functional import base

VERSION = 'X-OpenStack-Manila-API-Version'


class _Noted(fixtures.Fixture):
    """The lines that are logged as errors, each with the request id that the log shows with it."""

    def _setUp(self):
        self.lines = []
        handler = logging.Handler(logging.ERROR)
        handler.emit = lambda record: self.lines.append(
            (oslo_context.get_current().request_id, record.getMessage())
        )
        logging.getLogger().addHandler(handler)
        self.addCleanup(logging.getLogger().removeHandler, handler)


class Open(base.ServiceTest):
    """A service without Keystone or passwords."""

    PARTS = ()

    def get(self, path, method='GET', body=b'', **headers):
        named = {name.replace('_', '-'): value for name, value in headers.items()}
        return self.service.app.request(path, method=method, body=body, headers=named, expect_errors=True)

    def fault(self, response, status, name, reason):
        self.assertEqual(status, response.status_int, response.text)
        self.assertEqual('application/json', response.content_type)
        self.assertEqual([name], list(response.json))
        fault = response.json[name]
        self.assertEqual((status, reason), (fault['code'], fault['reason']))
        return fault['message']

    def test_unexpected_error_tells_the_request_id_that_the_log_has_and_what_to_do(self):
        noted = self.useFixture(_Noted()).lines
        with self.service.services.db.writer() as conn:
            conn.execute(sa.text('ALTER TABLE qos_types RENAME TO gone'))
        try:
            answer = self.get('/v2/qos-types', **{VERSION: '2.94'})
        finally:
            with self.service.services.db.writer() as conn:
                conn.execute(sa.text('ALTER TABLE gone RENAME TO qos_types'))
        request_id = answer.headers['x-openstack-request-id']
        self.assertEqual(
            f'An unexpected error happened. The log has it under the request id {request_id}.',
            self.fault(answer, 500, 'computeFault', 'internal_error'),
        )
        self.assertIn('Find the cause in the log', answer.json['computeFault']['next'])
        self.assertIn((request_id, 'Unexpected error'), noted)

    def test_root_path_lists_one_current_version(self):
        """Check that GET / answers 300 and one entry with status CURRENT, which python-manilaclient uses."""
        answer = self.get('/')
        self.assertEqual(300, answer.status_int)
        (entry,) = answer.json['versions']
        self.assertEqual(
            ('v2.0', 'CURRENT', '2.99', '2.0'),
            tuple(entry[key] for key in ('id', 'status', 'version', 'min_version')),
        )

    def test_version_paths_return_one_version_with_its_link(self):
        """Check that both paths answer 200 with one version, which gophercloud requires."""
        for path in ('/v2', '/v2/'):
            answer = self.get(path)
            self.assertEqual(200, answer.status_int)
            (entry,) = answer.json['versions']
            self.assertEqual([{'rel': 'self', 'href': 'http://localhost/v2/'}], entry['links'])

    def test_discovery_of_all_versions_ignores_the_version_header(self):
        for version in ('2.98', '9.99', '1.0', 'latest', 'nonsense'):
            answer = self.get('/', **{VERSION: version})
            self.assertEqual(
                (300, None, None),
                (answer.status_int, answer.headers.get(VERSION), answer.headers.get('Vary')),
                version,
            )

    def test_discovery_of_the_version_answers_at_the_microversion_asked_for(self):
        for path in ('/v2', '/v2/'):
            for sent, answered in (({}, '2.0'), ({VERSION: '2.0'}, '2.0'), ({VERSION: '2.98'}, '2.98')):
                answer = self.get(path, **sent)
                self.assertEqual(
                    (200, answered, VERSION),
                    (answer.status_int, answer.headers[VERSION], answer.headers['Vary']),
                    (path, sent),
                )
            for sent in ('9.99', '1.0', '2.100', '3.0'):
                self.fault(
                    self.get(path, **{VERSION: sent}), 406, 'notAcceptable', 'microversion_out_of_range'
                )
            for sent in ('latest', 'nonsense', '1.2.1', ''):
                self.fault(self.get(path, **{VERSION: sent}), 400, 'badRequest', 'invalid_input')

    def test_discovery_refuses_post(self):
        for path in ('/', '/v2', '/v2/', '/openapi.json'):
            self.fault(self.get(path, 'POST'), 405, 'badMethod', 'wrong_method')
            self.assertLess(self.get(path, 'HEAD').status_int, 301)

    def test_requested_version_is_answered_and_unsupported_versions_are_refused(self):
        self.assertEqual('2.0', self.get('/v2/shares').headers[VERSION])
        for version in ('2.0', '2.7', '2.99'):
            self.assertEqual(version, self.get('/v2/shares', **{VERSION: version}).headers[VERSION])
        for version in ('2.100', '3.0', '1.0', '0.1'):
            self.fault(
                self.get('/v2/shares', **{VERSION: version}),
                406,
                'notAcceptable',
                'microversion_out_of_range',
            )
        for version in ('latest', '2', '2.x', '', '2.0.1', 'v2.0'):
            self.fault(self.get('/v2/shares', **{VERSION: version}), 400, 'badRequest', 'invalid_input')

    def test_openstack_api_version_header_is_ignored(self):
        answer = self.get('/v2/shares', OpenStack_API_Version='shared-file-system 2.500')
        self.assertEqual((200, '2.0'), (answer.status_int, answer.headers[VERSION]))

    def test_every_answer_has_request_ids_and_api_answers_vary_by_version(self):
        for path in ('/v2/shares', '/v2/shares/nothing', '/v2/nothing', '/', '/v2', '/nothing'):
            headers = self.get(path).headers
            self.assertTrue(headers['x-openstack-request-id'].startswith('req-'), path)
            self.assertEqual(headers['x-openstack-request-id'], headers['x-compute-request-id'])
            if path.startswith('/v2/'):
                self.assertEqual(VERSION, headers['Vary'], path)

    def test_links_use_the_forwarded_address_of_the_proxy(self):
        forwarded = {
            'X-Forwarded-Proto': 'https',
            'X-Forwarded-Host': 'cloud.example:8443',
            'X-Forwarded-Prefix': '/share',
        }
        (entry,) = self.get('/v2/', **forwarded).json['versions']
        self.assertEqual('https://cloud.example:8443/share/v2/', entry['links'][0]['href'])

    def test_project_id_in_the_path_is_accepted_at_every_version(self):
        """Check paths with and without a project at every version."""
        for version in ('2.0', '2.59', '2.60', '2.99'):
            for path in ('/v2/shares', '/v2/p/shares', '/v2/p/shares/detail'):
                self.assertEqual(200, self.get(path, **{VERSION: version}).status_int, (path, version))

    def test_paths_with_an_empty_or_skipped_id_are_not_found(self):
        for method, path in (
            ('GET', '/v2/shares/'),
            ('PUT', '/v2/shares/'),
            ('DELETE', '/v2/share-networks/'),
            ('GET', '/v2/types//extra_specs'),
            ('POST', '/v2/types//extra_specs'),
            ('POST', '/v2/types/extra_specs'),
            ('POST', '/v2/share-networks/action'),
            ('GET', '/v2/types/x/extra_specs/'),
            ('PUT', '/v2/types/x/extra_specs/'),
            ('GET', '/v2/p/shares/'),
        ):
            self.fault(self.get(path, method), 404, 'itemNotFound', 'no_such_path')
        self.fault(self.get('/v2/types/other', 'POST'), 405, 'badMethod', 'wrong_method')

    def test_unknown_paths_are_not_found(self):
        for path in (
            '/v2/nothing',
            '/v2/p/q/shares',
            '/v1/shares',
            '/v3',
            '/shares',
            '/v2/shares/a/b/c',
            '/v20/shares',
            '/healthcheckfoo',
            '/healthcheck/foo',
            '/v2//shares',
            '/openapi.jsonx',
            '/identity',
        ):
            self.fault(self.get(path), 404, 'itemNotFound', 'no_such_path')

    def test_numeric_ids_are_not_found(self):
        """Check ids that are numbers: the openstack client looks up a name of digits as an id."""
        for resource_type, code in (
            ('shares', 'share_not_found'),
            ('snapshots', 'snapshot_not_found'),
            ('types', 'share_type_not_found'),
        ):
            self.fault(self.get(f'/v2/{resource_type}/42'), 404, 'itemNotFound', code)

    def test_unsupported_method_is_refused_with_the_supported_methods(self):
        message = self.fault(self.get('/v2/shares', 'PATCH'), 405, 'badMethod', 'wrong_method')
        self.assertIn('GET, POST', message)

    def test_experimental_header_is_accepted_and_echoed(self):
        name = 'X-OpenStack-Manila-API-Experimental'
        self.assertNotIn(name, self.get('/v2/shares').headers)
        for sent, echoed in (('true', 'True'), ('True', 'True'), ('no\tidea', 'False')):
            answer = self.get('/v2/shares', **{name: sent})
            self.assertEqual((200, echoed), (answer.status_int, answer.headers[name]))

    def test_invalid_bodies_are_refused(self):
        def post(body, kind='application/json'):
            return self.get('/v2/shares', 'POST', body, Content_Type=kind)

        self.fault(post(b'{"share": '), 400, 'badRequest', 'malformed_body')
        self.fault(post(b'\xff'), 400, 'badRequest', 'malformed_body')
        self.fault(post(b'[]'), 422, 'computeFault', 'entity_missing')
        self.fault(post(b''), 422, 'computeFault', 'entity_missing')
        self.fault(post(b'<share/>', 'application/xml'), 415, 'badMediaType', 'wrong_media_type')
        message = self.fault(
            post(b'{"share": {"size": -1, "share_proto": "NFS"}}'), 400, 'badRequest', 'invalid_input'
        )
        self.assertIn('size', message)

    def test_body_over_the_limit_is_refused_with_413(self):
        answer = self.get('/v2/shares', 'POST', b'x' * 200_000, Content_Type='application/json')
        self.fault(answer, 413, 'overLimit', 'body_too_large')
        self.assertEqual(('0', '0'), (answer.headers['Retry-After'], answer.json['overLimit']['retryAfter']))

    def test_request_over_quota_is_answered_413_with_retry_after_0(self):
        caller = self.caller('small')
        self.admin.ok('PUT', '/quota-sets/small', {'quota_set': {'shares': 0}})
        status, document, headers = caller.call(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}}
        )
        self.assertEqual((413, 'over_quota_shares'), (status, document['overLimit']['reason']))
        self.assertEqual('0', headers['Retry-After'])

    def test_the_healthcheck_is_open_to_all(self):
        for path in ('/healthcheck', '/healthcheck/'):
            self.assertEqual(200, self.get(path).status_int)

    def test_openapi_document_matches_the_version_in_the_query(self):
        self.assertEqual('2.99', self.get('/openapi.json').json['info']['version'])
        document = self.get('/openapi.json?version=2.65').json
        self.assertEqual('2.65', document['info']['version'])
        openapi_spec_validator.validate(document)
        self.fault(self.get('/openapi.json?version=2.100'), 406, 'notAcceptable', 'microversion_out_of_range')
        message = self.fault(self.get('/openapi.json?version=latest'), 400, 'badRequest', 'invalid_input')
        self.assertTrue(message.startswith('version:'), message)
        self.fault(self.get('/openapi.json?version=%ff'), 400, 'badRequest', 'invalid_input')

    def test_openapi_document_matches_the_version_header(self):
        for asked in ('2.0', '2.9', '2.45'):
            answer = self.get('/openapi.json', **{VERSION: asked})
            self.assertEqual((asked, asked), (answer.json['info']['version'], answer.headers[VERSION]))
        self.assertEqual(
            '2.9', self.get('/openapi.json?version=2.9', **{VERSION: '2.45'}).json['info']['version']
        )
        self.fault(
            self.get('/openapi.json', **{VERSION: '2.100'}), 406, 'notAcceptable', 'microversion_out_of_range'
        )

    def test_openapi_document_is_compressed_and_cacheable(self):
        plain = self.get('/openapi.json')
        packed = webob.Request.blank('/openapi.json', headers={'Accept-Encoding': 'gzip, br'}).get_response(
            self.service.wsgi
        )
        self.assertEqual(plain.body, gzip.decompress(packed.body))
        self.assertEqual(
            (None, 'gzip'), (plain.headers.get('Content-Encoding'), packed.headers['Content-Encoding'])
        )
        self.assertEqual(plain.headers['ETag'], packed.headers['ETag'])
        self.assertNotEqual(plain.headers['ETag'], self.get('/openapi.json?version=2.9').headers['ETag'])
        again = self.get('/openapi.json', If_None_Match=plain.headers['ETag'])
        self.assertEqual((304, b''), (again.status_int, again.body))
        self.assertLessEqual({'Accept-Encoding', VERSION}, set(plain.headers['Vary'].split(', ')))

    def test_identity_paths_answer_with_names_as_ids(self):
        """Check that a name is its own id: ``openstack quota show NAME`` looks the project up first."""
        self.assertEqual(
            {'project': {'id': 'demo', 'name': 'demo', 'links': {}}}, self.get('/identity/projects/demo').json
        )
        self.assertEqual(['u'], [user['id'] for user in self.get('/identity/users?name=u').json['users']])
        self.fault(self.get('/identity/roles'), 404, 'itemNotFound', 'no_such_path')

    def test_writes_from_foreign_origins_are_refused(self):
        body = b'{"share": {"size": 1, "share_proto": "NFS"}}'
        for origin in (
            'http://evil.example',
            'null',
            '',
            'http://localhost.evil.example',
            'http://[',
            'localhost:80',
        ):
            answer = self.get(
                '/v2/shares', 'POST', body, Origin=origin, Content_Type='application/x-www-form-urlencoded'
            )
            self.fault(answer, 403, 'forbidden', 'foreign_origin')
            self.assertEqual(200, self.get('/v2/shares', Origin=origin).status_int)
        for origin in ('http://localhost:80', 'https://localhost:80'):
            self.assertEqual(200, self.get('/v2/shares', 'POST', body, Origin=origin).status_int)

    def test_token_sets_the_roles_of_the_caller(self):
        answer = self.get('/v2/shares', X_Auth_Token='u:p:none')
        self.fault(answer, 403, 'forbidden', 'forbidden')
        self.assertEqual(200, self.get('/v2/shares', X_Auth_Token='notused').status_int)


class Guarded(base.ServiceTest):
    """A service with users of a password file."""

    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = cls.service.state / 'htpasswd'
        users = ('alice', 'root', 'nobody')
        path.write_text(
            ''.join(
                f'{user}:{bcrypt.hashpw(b"right " + user.encode(), bcrypt.gensalt(4)).decode()}\n'
                for user in users
            )
        )
        conf = cls.service.conf
        conf.set_override('auth_strategy', 'http_basic')
        conf.set_override('http_basic_auth_user_file', str(path), 'api')
        conf.set_override('http_basic_accounts', ['alice:first:member+reader', 'root:first:admin'], 'api')
        cls.app = webtest.TestApp(app.make(cls.service.services))

    def get(self, path, user=None, password=None, method='GET', body=b'', **headers):
        named = {name.replace('_', '-'): value for name, value in headers.items()}
        if user is not None:
            secret = f'right {user}' if password is None else password
            named['Authorization'] = 'Basic ' + base64.b64encode(f'{user}:{secret}'.encode()).decode()
        return self.app.request(path, method=method, body=body, headers=named, expect_errors=True)

    def assert_refused(self, answer):
        self.assertEqual(401, answer.status_int, answer.text)
        self.assertEqual('unauthorized', answer.json['unauthorized']['reason'])
        self.assertTrue(answer.headers['WWW-Authenticate'].startswith('Basic'))
        self.assertTrue(answer.headers['x-openstack-request-id'].startswith('req-'))

    def test_right_password_is_accepted(self):
        for _ in range(2):  # from the file, then from memory
            self.assertEqual(200, self.get('/v2/shares', 'alice').status_int)

    def test_wrong_and_missing_passwords_are_refused(self):
        self.assert_refused(self.get('/v2/shares'))
        for password in ('wrong', '', 'right\0alice', 'x' * 500):
            self.assert_refused(self.get('/v2/shares', 'alice', password))
        self.assert_refused(self.get('/v2/shares', 'stranger'))
        for path in ('/v2/services/ensure', '/v2/services/ensure-shares'):
            self.assert_refused(self.get(path, method='POST', body=b'{"host": "h@b"}'))
        for header in ('Basic', 'Basic !!!', 'Basic YQ==', 'Bearer abc', 'Basic /////w==', 'nonsense'):
            self.assert_refused(self.get('/v2/shares', Authorization=header))

    def test_wrong_password_after_a_right_one_is_refused(self):
        self.assertEqual(200, self.get('/v2/shares', 'alice').status_int)
        self.assert_refused(self.get('/v2/shares', 'alice', 'wrong'))

    def test_every_path_except_discovery_requires_a_password(self):
        for path in (
            '/v2/shares',
            '/v2/first/shares',
            '/identity/projects/x',
            '/v2/nothing',
            '/v2x',
            '//v2/shares',
        ):
            self.assert_refused(self.get(path))
        for path, status in (
            ('/', 300),
            ('/v2', 200),
            ('/v2/', 200),
            ('/healthcheck', 200),
            ('/openapi.json', 200),
        ):
            self.assertEqual(status, self.get(path).status_int)

    def test_forged_identity_headers_are_ignored(self):
        forged = {
            'X_Roles': 'admin',
            'X_Role': 'admin',
            'X_Project_Id': 'second',
            'X_User_Id': 'root',
            'X_Tenant_Id': 'second',
            'OpenStack_System_Scope': 'all',
            'X_Is_Admin_Project': 'True',
            'X_Service_Roles': 'admin',
            'X_Auth_Token': 'root:first:admin',
            VERSION: '2.65',
        }
        self.assertEqual(403, self.get('/v2/services', 'alice', **forged).status_int)
        self.assert_refused(self.get('/v2/services', **forged))
        self.assertEqual(200, self.get('/v2/services', 'root', **{VERSION: '2.65'}).status_int)

    def test_user_without_an_account_is_forbidden(self):
        self.assertEqual(403, self.get('/v2/shares', 'nobody').status_int)

    def test_other_project_in_the_path_is_refused(self):
        self.assertEqual(200, self.get('/v2/first/shares', 'alice').status_int)
        answer = self.get('/v2/second/shares', 'alice')
        self.assertEqual(400, answer.status_int)
        self.assertIn('project_id', answer.json['badRequest']['message'])

    def test_links_contain_the_project_only_if_the_path_did(self):
        body = json.dumps({'share': {'size': 1, 'share_proto': 'NFS'}}).encode()
        share = self.get(
            '/v2/first/shares', 'alice', method='POST', body=body, Content_Type='application/json'
        ).json['share']
        self.assertEqual(f'http://localhost/v2/first/shares/{share["id"]}', share['links'][0]['href'])
        share = self.get(f'/v2/shares/{share["id"]}', 'alice').json['share']
        self.assertEqual(f'http://localhost/v2/shares/{share["id"]}', share['links'][0]['href'])


_KEYSTONE = """
[DEFAULT]
auth_strategy = keystone
[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:1/
auth_url = http://127.0.0.1:1/
auth_type = password
username = manila
password = secret
project_name = service
"""


class Keystone(base.ServiceTest):
    """A service with keystonemiddleware. No Keystone answers; requests without a token do not need one."""

    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = cls.service.state / 'keystone.conf'
        path.write_text(_KEYSTONE)
        # The options that keystoneauth registers stay, and some are required, so the global configuration cannot be used.
        conf = setup.configure([f'--config-file={path}'], transport_url='inproc://', conf=cfg.ConfigOpts())
        cls.app = webtest.TestApp(app.make(dataclasses.replace(cls.service.services, conf=conf)))

    def get(self, path, **headers):
        named = {name.replace('_', '-'): value for name, value in headers.items()}
        return self.app.get(path, headers=named, expect_errors=True)

    def assert_refused(self, answer):
        self.assertEqual(401, answer.status_int)
        self.assertEqual('unauthorized', answer.json['unauthorized']['reason'])
        self.assertEqual('Keystone uri="http://127.0.0.1:1/"', answer.headers['WWW-Authenticate'])

    def test_request_without_token_is_refused(self):
        self.assert_refused(self.get('/v2/shares'))

    def test_forged_middleware_headers_are_refused(self):
        self.assert_refused(
            self.get(
                '/v2/shares', X_Roles='admin', X_Project_Id='p', X_User_Id='u', X_Identity_Status='Confirmed'
            )
        )

    def test_discovery_needs_no_token(self):
        for path, status in (('/', 300), ('/v2', 200), ('/v2/', 200), ('/healthcheck', 200)):
            self.assertEqual(status, self.get(path).status_int)

    def test_identity_paths_require_a_token(self):
        self.assert_refused(self.get('/identity/projects/x'))
