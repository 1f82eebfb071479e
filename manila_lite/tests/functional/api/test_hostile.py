# SPDX-License-Identifier: Apache-2.0
"""Headers, bodies and filters that no honest client sends are read in one way, and never executed."""

import errno
import io
import json

import webob

from manila_lite.tests.functional import base


class Answers(base.ServiceTest):
    """The headers of answers, and the handling of doubtful requests."""

    PARTS = ()

    def test_request_values_are_not_echoed_in_response_headers(self):
        evil = 'evil\r\nSet-Cookie: a=b'
        sent = {
            f'HTTP_{name}': evil
            for name in (
                'X_OPENSTACK_REQUEST_ID',
                'X_OPENSTACK_MANILA_API_EXPERIMENTAL',
                'X_FORWARDED_HOST',
                'X_FORWARDED_PREFIX',
                'HOST',
                'X_FORWARDED_PROTO',
                'OPENSTACK_API_VERSION',
                'IDEMPOTENCY_KEY',
                'ORIGIN',
                'ACCEPT',
                'X_SERVICE_TOKEN',
            )
        }
        body = json.dumps({'share': {'size': 1, 'share_proto': 'NFS', 'name': evil}}).encode()
        for method, path in (
            ('GET', '/'),
            ('GET', '/v2/'),
            ('GET', '/v2/shares'),
            ('POST', '/v2/shares'),
            ('GET', '/v2/evil'),
            ('evil', '/v2/shares'),
            ('GET', '/healthcheck'),
            ('GET', '/v2/shares/evil%0d%0aSet-Cookie:%20a=b'),
        ):
            for version in ('2.99', evil):
                headers = self.headers_of(
                    method, path, body, {**sent, 'HTTP_X_OPENSTACK_MANILA_API_VERSION': version}
                )
                self.assertNotIn('evil', str(headers), (method, path))
                self.assertNotIn('\n', ''.join(headers.values()))

    def headers_of(self, method, path, body, environ):
        request = webob.Request.blank(
            path, {'CONTENT_TYPE': 'application/json', **environ}, method=method, body=body
        )
        answer = request.get_response(self.service.wsgi)
        self.assertLess(answer.status_int, 500)
        return answer.headers

    def test_body_without_a_length_is_read_only_up_to_the_limit(self):
        """Check a chunked body as gunicorn passes it on: no more is read than the limit."""
        most = self.service.conf.api.max_request_body_size

        class Lost(io.BytesIO):
            def read(self, *args):
                raise ConnectionResetError(errno.ECONNRESET, 'gone')

        share = b'{"share": {"size": 1, "share_proto": "NFS"}}'
        for body, status, left in (
            (io.BytesIO(share), 200, 0),
            (io.BytesIO(bytes(3 * most)), 413, 2 * most - 1),
            (Lost(), 400, 0),
        ):
            request = webob.Request.blank(
                '/v2/shares',
                {'wsgi.input': body, 'wsgi.input_terminated': True, 'CONTENT_TYPE': 'application/json'},
                method='POST',
            )
            self.assertIsNone(request.content_length)
            self.assertEqual(status, request.get_response(self.service.wsgi).status_int)
            self.assertEqual(left, len(body.getvalue()) - body.tell())

    def test_last_value_of_a_duplicate_key_is_used(self):
        """Check that the last value of a duplicate key counts everywhere, because only one parser reads the body."""

        def post(path, text):
            answer = self.service.app.post(
                path,
                text,
                expect_errors=True,
                headers={'Content-Type': 'application/json', 'X-OpenStack-Manila-API-Version': '2.99'},
            )
            return answer.status_int, answer.json

        status, document = post(
            '/v2/shares', '{"share": {"size": 99}, "share": {"size": 9, "size": 1, "share_proto": "NFS"}}'
        )
        self.assertEqual((200, 1), (status, document['share']['size']))
        path = f'/v2/shares/{document["share"]["id"]}'
        status, document = post(f'{path}/action', '{"extend": {"new_size": 2}, "force_delete": {}}')
        self.assertEqual(400, status, document)
        self.assertIn('extend', document['badRequest']['message'])

    def test_metadata_size_is_bounded_by_the_body_limit(self):
        """Check that the size of a body bounds unlimited metadata; a body, key or value that is too long is refused."""
        self.service.conf.set_override('metadata_items', -1, 'limits')
        self.addCleanup(self.service.conf.clear_override, 'metadata_items', 'limits')
        share = self.caller().share(wait=None)['id']
        pairs = {f'key-{number}': 'v' for number in range(2000)}
        self.assertEqual(
            pairs, self.caller().ok('PUT', f'/shares/{share}/metadata', {'metadata': pairs})['metadata']
        )
        for pairs, status in (
            ({'k' * 256: 'v'}, 400),
            ({'k': 'v' * 1024}, 400),
            ({'': 'v'}, 400),
            ({'k': ''}, 400),
            ({f'k{number}': 'v' * 1000 for number in range(200)}, 413),
        ):
            self.assertEqual(
                status, self.caller().call('PUT', f'/shares/{share}/metadata', {'metadata': pairs})[0]
            )

    def test_filters_are_parsed_as_literals_and_expressions_are_refused(self):
        """Check that filters are read as JSON or Python literals, and that expressions are refused."""
        caller = self.caller()
        share = caller.share(wait=None, metadata={'a': 'b'})['id']
        for good in ('{"a": "b"}', "{'a': 'b'}", '{"a":"b"}'):
            found = caller.ok('GET', f'/shares?metadata={good}')['shares']
            self.assertEqual([share], [row['id'] for row in found], good)
        for bad in (
            'a',
            'a:b',
            '[1]',
            '{"a": {"b": 1}}',
            "{'a': [1]}",
            "__import__('os').getcwd()",
            "{'a': __name__}",
            "{'a': 'b' * 9}",
            "dict(a='b')",
            "{'a': f'{1}'}",
            '(' * 200,
            '{' * 2000,
            '9' * 5000,
            "{**{'a': 'b'}}",
            'None',
        ):
            for path, name in (
                ('/shares', 'metadata'),
                ('/shares/detail', 'extra_specs'),
                ('/types', 'extra_specs'),
                ('/snapshots', 'metadata'),
                (f'/share-access-rules?share_id={share}', 'metadata'),
            ):
                status, document, _ = caller.call('GET', f'{path}{"&" if "?" in path else "?"}{name}={bad}')
                self.assertEqual(400, status, (path, name, bad, document))
                self.assertTrue(document['badRequest']['message'].startswith(f'{name}: '), document)
