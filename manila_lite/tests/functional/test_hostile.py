# SPDX-License-Identifier: Apache-2.0
"""What no client sends: requests that hide another, bodies without end, headers and filters that could be obeyed."""

import json
import re
import socket

import webob

from manila_lite.api import server
from manila_lite.tests.functional import base

_HEAD = b'POST /v2/shares HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
_HIDDEN = b'GET /v2/shares/hidden HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
_SHARE = b'{"share": {"size": 1, "share_proto": "NFS"}}'

#: Headers and body of one request that somebody could take for two, or for one of another length.
AMBIGUOUS = {
    'both lengths': b'Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' % (len(_HIDDEN) + 5),
    'two lengths': b'Content-Length: 0\r\nContent-Length: %d\r\n\r\n' % len(_HIDDEN),
    'two lengths, the other way': b'Content-Length: %d\r\nContent-Length: 0\r\n\r\n' % len(_HIDDEN),
    'a list of lengths': b'Content-Length: 0, 0\r\n\r\n',
    'a length with a sign': b'Content-Length: +0\r\n\r\n',
    'a negative length': b'Content-Length: -1\r\n\r\n',
    'a length as Python writes it': b'Content-Length: 0_0\r\n\r\n',
    'a hexadecimal length': b'Content-Length: 0x0\r\n\r\n',
    'no length at all': b'Content-Length:\r\n\r\n',
    'a blank before the colon': b'Content-Length : 0\r\n\r\n',
    'a header that goes on': b'X-Other: a\r\n Content-Length: 0\r\n\r\n',
    'a carriage return': b'X-Other: a\rContent-Length: 0\r\n\r\n',
    'a NUL': b'X-Other: a\0\r\n\r\n',
    'no carriage return': b'X-Other: a\n\r\n',
    'no colon': b'X-Other\r\n\r\n',
    'an unknown coding': b'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'a coding that is none': b'Transfer-Encoding: identity\r\n\r\n',
    'two codings': b'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
    'a tab that is none': b'Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n',
    'two hosts': b'Host: b\r\n\r\n',
    'a chunk of negative size': b'Transfer-Encoding: chunked\r\n\r\n-1\r\n0\r\n\r\n',
    'a chunk with a prefix': b'Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n',
    'a chunk as Python writes it': b'Transfer-Encoding: chunked\r\n\r\n0_1\r\na\r\n0\r\n\r\n',
    'a chunk that is longer than it says': b'Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n',
}


class Wire(base.ServiceTest):
    """Bytes on a socket of the built-in server."""

    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.most = cls.service.conf.api.max_request_body_size
        cls.api = server.ApiServer(cls.service.wsgi, '127.0.0.1', 0, max_body=cls.most)
        cls.api.start()
        cls.addClassCleanup(cls.api.stop, 1)

    def say(self, *parts):
        """Send bytes; returns the statuses of all answers until the server hangs up, and what it said."""
        with socket.create_connection(('127.0.0.1', self.api.port), timeout=60) as wire:
            said = b''
            try:
                for part in parts:
                    wire.sendall(part)
                while got := wire.recv(65536):
                    said += got
            except ConnectionError:
                pass        # it hangs up on what it does not want to read
        return [int(status) for status in re.findall(rb'HTTP/1\.1 (\d{3}) ', said)], said

    def test_no_request_hides_another(self):
        for name, sent in AMBIGUOUS.items():
            statuses, said = self.say(_HEAD + sent + _HIDDEN)
            self.assertEqual([400], statuses, (name, said))

    def test_two_honest_requests(self):
        """The same hidden request, where it is none, is answered: so the test above sees it if it is."""
        body = b'Content-Length: %d\r\n\r\n%s' % (len(_SHARE), _SHARE)
        self.assertEqual([404, 404], self.say(_HEAD.replace(b'shares', b'shares/none/action') + body + _HIDDEN)[0][:2])

    def test_a_body_in_chunks(self):
        chunks = b''.join(b'%X; why=not\r\n%s\r\n' % (len(part), part) for part in (_SHARE[:7], _SHARE[7:]))
        statuses, said = self.say(_HEAD + b'Transfer-Encoding: Chunked\r\n\r\n' + chunks + b'0\r\n\r\n' + _HIDDEN)
        self.assertEqual([200], statuses, said)         # and then it hung up
        self.assertIn(b'"share_proto":"NFS"', said)

    def test_a_body_too_large(self):
        one, many = b'%X\r\n' % (self.most + 1), b'1000\r\n' + b' ' * 0x1000 + b'\r\n'
        chunked = _HEAD + b'Transfer-Encoding: chunked\r\n\r\n'
        for name, sent in {'a chunk': [chunked, one], 'many chunks': [chunked] + [many] * (self.most // 0x1000 + 2),
                           'a length': [_HEAD + b'Content-Length: %d\r\n\r\n' % (self.most + 1)],
                           'any length': [_HEAD + b'Content-Length: %s\r\n\r\n' % (b'9' * 1000)]}.items():
            statuses, said = self.say(*sent)
            self.assertEqual([413], statuses, (name, said[:500]))

    def test_a_body_in_chunks_that_is_no_json(self):
        statuses, said = self.say(_HEAD + b'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n')
        self.assertEqual([400], statuses, said)
        self.assertIn(b'malformed_body', said)

    def test_a_header_with_an_underscore_is_not_one_with_a_dash(self):
        """A proxy that settles X-Forwarded-Host, or a version, does not look at such."""
        request = b'GET /v2/ HTTP/1.1\r\nHost: a\r\nX_Forwarded_Host: evil\r\nConnection: close\r\n\r\n'
        statuses, said = self.say(request)
        self.assertEqual([200], statuses, said)
        self.assertNotIn(b'evil', said)
        self.assertIn(b'evil', self.say(request.replace(b'_', b'-'))[1])


class Answers(base.ServiceTest):
    """What is in the headers of answers, and how doubtful requests are read."""

    PARTS = ()

    def test_nothing_that_was_sent_is_in_the_headers_of_an_answer(self):
        evil = 'evil\r\nSet-Cookie: a=b'
        sent = {f'HTTP_{name}': evil for name in (
            'X_OPENSTACK_REQUEST_ID', 'X_OPENSTACK_MANILA_API_EXPERIMENTAL', 'X_FORWARDED_HOST', 'X_FORWARDED_PREFIX', 'HOST',
            'X_FORWARDED_PROTO', 'OPENSTACK_API_VERSION', 'IDEMPOTENCY_KEY', 'ORIGIN', 'ACCEPT', 'X_SERVICE_TOKEN')}
        body = json.dumps({'share': {'size': 1, 'share_proto': 'NFS', 'name': evil}}).encode()
        for method, path in (('GET', '/'), ('GET', '/v2/'), ('GET', '/v2/shares'), ('POST', '/v2/shares'), ('GET', '/v2/evil'),
                             ('evil', '/v2/shares'), ('GET', '/healthcheck'),
                             ('GET', '/v2/shares/evil%0d%0aSet-Cookie:%20a=b')):
            for version in ('2.99', evil):
                headers = self.headers_of(method, path, body, {**sent, 'HTTP_X_OPENSTACK_MANILA_API_VERSION': version})
                self.assertNotIn('evil', str(headers), (method, path))
                self.assertNotIn('\n', ''.join(headers.values()))

    def headers_of(self, method, path, body, environ):
        request = webob.Request.blank(path, {'CONTENT_TYPE': 'application/json', **environ}, method=method, body=body)
        answer = request.get_response(self.service.wsgi)
        self.assertLess(answer.status_int, 500)
        return answer.headers

    def test_a_key_that_is_there_twice(self):
        """The last one counts, for whoever decides and for whoever acts: there is one reader."""
        def post(path, text):
            answer = self.service.app.post(path, text, expect_errors=True, headers={
                'Content-Type': 'application/json', 'X-OpenStack-Manila-API-Version': '2.99'})
            return answer.status_int, answer.json
        status, document = post('/v2/shares', '{"share": {"size": 99}, "share": {"size": 9, "size": 1, "share_proto": "NFS"}}')
        self.assertEqual((200, 1), (status, document['share']['size']))
        path = f'/v2/shares/{document["share"]["id"]}'
        status, document = post(f'{path}/action', '{"extend": {"new_size": 2}, "force_delete": {}}')
        self.assertEqual(400, status, document)
        self.assertIn('extend', document['badRequest']['message'])

    def test_many_pairs(self):
        """As many as a body holds are stored; a longer body, key or value is refused with its name."""
        share = self.caller().share(wait=None)['id']
        pairs = {f'key-{number}': 'v' for number in range(2000)}
        self.assertEqual(pairs, self.caller().ok('PUT', f'/shares/{share}/metadata', {'metadata': pairs})['metadata'])
        for pairs, status in (({'k' * 256: 'v'}, 400), ({'k': 'v' * 1024}, 400), ({'': 'v'}, 400), ({'k': ''}, 400),
                              ({f'k{number}': 'v' * 1000 for number in range(200)}, 413)):
            self.assertEqual(status, self.caller().call('PUT', f'/shares/{share}/metadata', {'metadata': pairs})[0])

    def test_filters_are_read_and_never_run(self):
        """Pairs as JSON, or as Python writes them; what computes anything is refused."""
        caller = self.caller()
        share = caller.share(wait=None, metadata={'a': 'b'})['id']
        for good in ('{"a": "b"}', "{'a': 'b'}", '{"a":"b"}'):
            found = caller.ok('GET', f'/shares?metadata={good}')['shares']
            self.assertEqual([share], [row['id'] for row in found], good)
        for bad in ('a', 'a:b', '[1]', '{"a": {"b": 1}}', "{'a': [1]}", "__import__('os').getcwd()", "{'a': __name__}",
                    "{'a': 'b' * 9}", "dict(a='b')", "{'a': f'{1}'}", '(' * 200, '{' * 2000, '9' * 5000,
                    "{**{'a': 'b'}}", 'None'):
            for path, name in (('/shares', 'metadata'), ('/shares/detail', 'extra_specs'), ('/types', 'extra_specs'),
                               ('/snapshots', 'metadata'), (f'/share-access-rules?share_id={share}', 'metadata')):
                status, document, _ = caller.call('GET', f'{path}{"&" if "?" in path else "?"}{name}={bad}')
                self.assertEqual(400, status, (path, name, bad, document))
                self.assertTrue(document['badRequest']['message'].startswith(f'{name}: '), document)
