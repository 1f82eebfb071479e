# SPDX-License-Identifier: Apache-2.0
"""Keys that clients choose in a body, and that stand in a path later: metadata and specs, over the built-in server.

manila-csi writes the key ``manila.csi.openstack.org/cluster``, with the slash in the path as it is, or as ``%2F``.
"""

import http.client
import json
import urllib.parse
from types import SimpleNamespace

from manila_lite.api import versions
from manila_lite.api.server import server
from manila_lite.api.v2 import CALLS as OPS
from manila_lite.tests import waiting
from manila_lite.tests.functional import base, world

_END = '/{key}'
_CSI = 'manila.csi.openstack.org/cluster'
#: Keys of metadata: with slashes, with what a path writes in another way, and with what only looks like it.
_KEYS = (
    _CSI,
    'a/b',
    'a%2Fb',
    'a%252Fb',
    '/a',
    'a/',
    'a//b',
    '.a/..b',
    'a?b#c&d=e',
    'ä ö',
    '%',
    '+',
    'metadata',
    '\n',
)
#: Keys of specs, which have fewer characters.
_SPECS = ('a:b', '...', '.a', 'a.', '-_')
#: Keys that no path can name: clients and proxies take such parts out of it.
_NAMELESS = ('.', '..', 'a/..', './a', 'a/../b')

#: The calls with a key in the path, by the path of all keys.
CALLS = {
    path: [op for op in OPS if op.path == path + _END and op.lives(versions.MAX)]
    for path in sorted({op.path.removesuffix(_END) for op in OPS if op.path.endswith(_END)})
}


class _Wire:
    """The built-in server, in the place of its application."""

    def __init__(self, port):
        self._port = port

    def request(self, path, method, body, headers, expect_errors):
        conn = http.client.HTTPConnection('127.0.0.1', self._port, timeout=waiting.LIMIT)
        try:
            conn.request(method, path, body, headers)
            got = conn.getresponse()
            text = got.read()
        finally:
            conn.close()
        kind = got.getheader('Content-Type', '').partition(';')[0]
        return SimpleNamespace(
            status_int=got.status,
            body=text,
            text=text.decode(),
            headers=dict(got.getheaders()),
            content_type=kind,
            json=json.loads(text) if kind == 'application/json' and text else None,
        )


class Keys(base.ServiceTest):
    """Each call of the contract with a key in its path."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        owner = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.world = world.make(cls.service, cls.admin, owner)
        api = server.ApiServer(cls.service.app.app, '127.0.0.1', 0)
        api.start()
        cls.addClassCleanup(api.stop, 1)
        cls.members = base.Api(_Wire(api.port), 'alice', 'first', 'member,reader')
        cls.admins = base.Api(_Wire(api.port))

    def setter(self, path):
        """Return the call that adds keys; some resources have none but the one that replaces all."""
        ops = {op.method: op for op in OPS if op.path == path and op.method in ('POST', 'PUT')}
        return ops.get('POST') or ops['PUT']

    def caller(self, path):
        return self.members if path.endswith('/metadata') else self.admins

    def keys(self, path):
        return _KEYS if path.endswith('/metadata') else _SPECS

    def shown(self, path):
        """Return the keys that the resource has: rules of access show them on their own page alone."""
        caller, url = self.caller(path), path.format_map(self.world)
        document = caller.ok('GET', url.removesuffix('/metadata') if 'access_id' in path else url)
        document = document['access'] if 'access_id' in path else document
        return set(
            document[
                next(name for name in ('metadata', 'extra_specs', 'group_specs', 'specs') if name in document)
            ]
        )

    def set_keys(self, path, keys):
        op = self.setter(path)
        return self.caller(path).call(
            op.method, path.format_map(self.world), {op.body.key: dict.fromkeys(keys, 'v')}
        )

    def test_49_2_each_key_that_a_body_takes_is_shown_changed_and_deleted_by_its_path(self):
        self.assertLessEqual(
            {
                '/shares/{share_id}/metadata',
                '/snapshots/{snapshot_id}/metadata',
                '/share-access-rules/{access_id}/metadata',
                '/types/{type_id}/extra_specs',
            },
            set(CALLS),
        )
        for path, ops in CALLS.items():
            wanted = self.keys(path)
            self.assertEqual(200, self.set_keys(path, wanted)[0], path)
            for key in wanted:
                self.use(path, ops, key, urllib.parse.quote(key, safe=''), self.shown(path))

    def use(self, path, ops, key, quoted, had):
        """Make each call with this key in the path, the deletion last."""
        url = f'{path.format_map(self.world)}/{quoted}'
        for op in sorted(ops, key=lambda op: op.method == 'DELETE'):
            body = (
                None
                if op.body is None
                else {key: 'w'}
                if op.body.key == 'body'
                else {op.body.key: {key: 'w'}}
            )
            document = self.caller(path).ok(op.method, url, body, wait=False)
            if op.method == 'GET':
                self.assertIn(document, ({'meta': {key: 'v'}}, {key: 'v'}), (path, key))
        self.assertEqual(had - {key}, self.shown(path), (path, key))

    def test_49_2_a_slash_in_the_path_needs_no_code(self):
        for path, ops in CALLS.items():
            if path.endswith('/metadata'):
                self.assertEqual(200, self.set_keys(path, ('a', _CSI))[0], path)
                self.use(path, [op for op in ops if op.method == 'DELETE'], _CSI, _CSI, self.shown(path))

    def test_49_2_a_key_that_no_path_can_name_is_refused_in_each_body(self):
        for path in CALLS:
            for key in _NAMELESS:
                status, document, _ = self.set_keys(path, ('a', key))
                self.assertEqual(400, status, (path, key, document))
                self.assertIn(key, document['badRequest']['message'])
                self.assertNotIn(key, self.shown(path))

    def test_49_2_a_new_resource_gets_no_key_that_no_path_can_name(self):
        fields = [
            (op, field)
            for op in OPS
            if op.body
            for field in op.body.fields
            if field.name in ('metadata', 'extra_specs', 'group_specs', 'specs') and op.lives(versions.MAX)
        ]
        self.assertGreaterEqual(len(fields), 8)
        for op, field in fields:
            body = world.planted(
                op, versions.MAX, {**self.world, 'share_types': 'default'}, field.name, {'a': 'b', '..': 'c'}
            )
            caller = self.members if field.name == 'metadata' else self.admins
            status, document, _ = caller.call(op.method, op.path.format_map(self.world), body)
            self.assertEqual(400, status, (op.name, document))
            self.assertIn('..', document['badRequest']['message'])

    def test_49_2_no_other_name_of_a_body_stands_in_a_path(self):
        """Check that all other parameters are ids that the service or Keystone gives, or names of the URL alone."""
        others = {name for op in OPS for name in world.parameters(op)} - {'key'}
        self.assertEqual(
            {'alias', 'class_name', 'pool_host'}, {name for name in others if not name.endswith('_id')}
        )
