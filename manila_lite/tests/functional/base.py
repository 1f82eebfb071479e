# SPDX-License-Identifier: Apache-2.0
"""Base class of functional tests: a running service for the class, and shortcuts to its API."""

import json
import urllib.parse

import testtools

from manila_lite.tests import fixtures, hush, plain, waiting

LATEST = '2.99'


def eventually(test, what):
    """Wait until ``test()`` holds; ``what`` is the message of the failure."""
    waiting.until(test, what)


class Api:
    """Calls the API as one caller. ``call`` returns (status, document, headers)."""

    def __init__(self, app, user='u', project='p', roles='admin,member,reader', version=LATEST):
        self._app = app
        self.token = f'{user}:{project}:{roles}:{hush.MARK}token'
        self.version = version

    def call(self, method, path, body=None, *, version=None, headers=None):
        """Send one request below /v2."""
        sent = {'X-Auth-Token': self.token, **(headers or {})}
        if version or self.version:
            sent['X-OpenStack-Manila-API-Version'] = version or self.version
        text = b'' if body is None else json.dumps(body).encode()
        if body is not None:
            sent['Content-Type'] = 'application/json'
        answer = self._app.request(f'/v2{path}', method=method, body=text, headers=sent, expect_errors=True)
        hush.note(answer.text)
        document = answer.json if answer.body and answer.content_type == 'application/json' else None
        if answer.status_int >= 400 and document:
            plain.check(document, f'{urllib.parse.unquote_plus(path)} {body}')
        return answer.status_int, document, answer.headers

    def ok(self, method, path, body=None, *, wait=True, **more):
        """Send a request that must succeed; return the document. A deletion has ended then, unless ``wait`` is false."""
        status, document, _ = self.call(method, path, body, **more)
        if status >= 400:
            raise AssertionError(f'{method} {path}: {status} {document}')
        if wait and (method, status) == ('DELETE', 202) and fixtures.Service.works():
            waiting.until_deleted(lambda: self.call('GET', path, **more), path)
        return document

    def wait(self, path, key, until, field='status'):
        """Poll a resource until its status is one of ``until``; ``'gone'`` means 404. Return the resource."""
        wanted = {until} if isinstance(until, str) else set(until)
        seen = []

        def found():
            status, document, _ = self.call('GET', path)
            seen[:] = ('gone', None) if status == 404 else (document[key][field], document[key])
            return seen[0] in wanted

        waiting.until(found, lambda: f'{path} is {seen[0]}, not {wanted}')
        return seen[1]

    def share(self, *, wait='available', **values):
        """Create a share and wait for it; return the share."""
        body = {'share': {'size': 1, 'share_proto': 'NFS', **values}}
        share = self.ok('POST', '/shares', body)['share']
        return self.wait(f'/shares/{share["id"]}', 'share', wait) if wait else share

    def action(self, share_id, name, body=None, **more):
        """Send a share action. Return (status, document, headers)."""
        return self.call('POST', f'/shares/{share_id}/action', {name: body}, **more)


class ServiceTest(testtools.TestCase):
    """Base class of tests that talk to one running service, which is made for the class."""

    BACKENDS: dict | None = None
    EXTRA = ''
    PARTS = ('scheduler', 'share')

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service = fixtures.Service(cls.BACKENDS, cls.EXTRA, cls.PARTS)
        cls.service.setUp()
        cls.addClassCleanup(cls.service.cleanUp)
        cls.admin = Api(cls.service.app)

    def caller(self, project='p', user='u', roles='member,reader', version=LATEST):
        """Return a caller in a project."""
        return Api(self.service.app, user, project, roles, version)

    def ask_to_ensure(self, host):
        """Ask a backend to ensure its shares, as soon as no run that it began by itself is open."""
        answer = []

        def accepted():
            answer[:] = self.admin.call('POST', '/services/ensure-shares', {'host': host})
            return answer[0] < 300

        waiting.until(accepted, lambda: answer)
