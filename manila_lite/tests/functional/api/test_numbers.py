# SPDX-License-Identifier: Apache-2.0
"""Options, arguments of commands and fields with a number, at the ends of what they take."""

import re
from pathlib import Path

from oslo_config import types
from oslo_utils import uuidutils

import manila_lite
from manila_lite import doctor
from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.conf import opts
from manila_lite.db import models
from manila_lite.tests import turns
from manila_lite.tests.factories import shares
from manila_lite.tests.functional import base, manage, world

#: Of keystoneauth.
_OTHERS = ('neutron',)
_SOURCES = [path for path in Path(manila_lite.__file__).parent.rglob('*.py') if 'tests' not in path.parts]


def numbers(opt_type):
    """Say whether values of the type are numbers."""
    return isinstance(opt_type, types.Number)


def options():
    """Yield the options with a number, each with its group."""
    for group, found in opts.list_opts():
        for option in found if group not in _OTHERS else ():
            if numbers(option.type):
                yield group, option


class Options(base.ServiceTest):
    """The API, with the options of one group at an end of their ranges."""

    PARTS = ()

    def test_49_4_no_module_has_an_option_without_ends(self):
        for path in _SOURCES:
            if path.name != 'numeric.py':
                self.assertEqual([], re.findall(r'cfg\.(?:Int|Float)Opt\(', path.read_text()), path)

    def test_49_4_each_option_takes_its_ends_and_nothing_beyond(self):
        count = 0
        for group, option in options():
            least, most = option.type.min, option.type.max
            self.assertIsNotNone(least, (group, option.name))
            self.assertIsNotNone(most, (group, option.name))
            for good in (least, most):
                self.assertEqual(good, option.type(str(good)))
            for bad in (least - 1, most + 1, 'nan', 'inf', '-inf', '1e400', '9' * 40, 'x'):
                self.assertRaises(ValueError, option.type, str(bad))
            count += 1
        self.assertGreater(count, 80)

    def share(self):
        kind = self.admin.ok('GET', '/types/default')['share_type']['id']
        with self.service.services.db.writer() as conn:
            [(share, _)] = shares.make(conn, 1, type_id=kind)
            conn.execute(models.snapshots.delete())
        return share

    def requests(self):
        """Send a request for each thing that is reckoned with numbers of options; return those that ended in a 500."""
        found, post, share = [], 'POST', f'/shares/{self.share()}'

        def send(method, path, body=None, works=False, **more):
            status, document, _ = self.admin.call(method, path, body, **more)
            if status == 500 or (works and status >= 300):
                found.append((method, path, document))
            return document

        key = {'Idempotency-Key': uuidutils.generate_uuid()}
        send(post, '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}}, headers=key)
        made = send(post, '/share-transfers', {'transfer': {'share_id': share[8:], 'name': 'x'}}, works=True)
        if 'transfer' in made:
            send('DELETE', f'/share-transfers/{made["transfer"]["id"]}', works=True)
        send(post, f'{share}/metadata', {'metadata': {'k': 'v'}})
        send(post, f'{share}/action', {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.9'}})
        send(post, f'{share}/action', {'soft_delete': None}, works=True)
        send(post, f'{share}/action', {'restore': None})
        send(post, '/security-services', {'security_service': {'type': 'ldap', 'name': 'x'}})
        for path in (
            '/shares/detail?limit=2',
            '/services',
            '/scheduler-stats/pools/detail',
            '/findings',
            '/limits',
            '/quota-sets/p/detail',
            '/events?wait=0',
        ):
            send('GET', path)
        return found

    def test_49_4_requests_survive_the_ends_of_each_option(self):
        """Set all options of a group to their least value, and to their greatest, since one by one takes minutes."""
        self.assertEqual([], self.requests())
        groups = sorted({group for group, _ in options() if not group.endswith('_example')})
        for group in turns.mine(groups, 3):
            place, mine = (
                None if group == 'DEFAULT' else group,
                [option for name, option in options() if name == group],
            )
            for end in ('min', 'max'):
                for option in mine:
                    self.service.conf.set_override(option.name, getattr(option.type, end), place)
                try:
                    self.assertEqual([], self.requests(), (group, end))
                    self.service.scheduler._purge()  # what is done by the clock
                    doctor.list_findings(self.service.services)
                finally:
                    for option in mine:
                        self.service.conf.clear_override(option.name, place)


class Arguments(manage.ManageTest):
    """Commands with a number of seconds, days or lines."""

    PARTS = ()

    def test_49_4_arguments_beyond_their_ends_are_refused_in_a_line(self):
        for words in (
            ('db', 'purge'),
            ('service', 'cleanup', '--down'),
            ('doctor', '--older-than'),
            ('top', '--every'),
            ('logs', 'errors'),
        ):
            for number in ('-1', '9' * 12, '9' * 40, 'nan', 'inf', '1e400'):
                status, _, err = manage.run(self.service.state / 'manila_lite.conf', 'manage', *words, number)
                self.assertEqual(2, status, (words, number, err))
                self.assertRegex(err, 'invalid|unrecognized')

    def test_49_4_the_longest_ends_work(self):
        for words in (
            ('db', 'purge', '36500'),
            ('doctor', '--older-than', str(2**31 - 1)),
            ('service', 'cleanup', '--down', str(2**31 - 1)),
        ):
            self.manage(*words)


class Fields(base.ServiceTest):
    """Fields of bodies and queries."""

    def ends(self, schema):
        """Yield the schemas with a number that is reckoned with, below this one."""
        kinds = schema.get('type', ())
        if 'enum' not in schema and {'integer', 'number'} & {*([kinds] if isinstance(kinds, str) else kinds)}:
            yield schema
        for inner in (*schema.get('properties', {}).values(), schema.get('items')):
            if isinstance(inner, dict):
                yield from self.ends(inner)

    def test_49_4_each_field_with_a_number_has_ends(self):
        for op in CALLS:
            for field in (*(op.body.fields if op.body else ()), *op.query):
                for schema in self.ends(field.schema):
                    self.assertLessEqual({'minimum', 'maximum'}, schema.keys(), (op.name, field.name))

    def test_49_4_requests_survive_the_ends_of_each_field(self):
        found, sent = (
            world.make(self.service, self.admin, base.Api(self.service.app, 'u', 'p', 'admin,member,reader')),
            0,
        )
        for op in CALLS:
            version = versions.minor(op.until) if op.until else versions.MAX
            for field in world.body_fields(op, version):
                for value in {
                    end
                    for schema in self.ends(field.schema)
                    for end in (schema['minimum'], schema['maximum'])
                }:
                    for form in (value, str(value)):
                        path = op.path.format(**found)
                        body = world.planted(op, version, found, field.name, form)
                        status, document, _ = self.admin.call(
                            op.method,
                            path,
                            body,
                            version=versions.show(version),
                            headers={'X-OpenStack-Manila-API-Experimental': 'true'},
                        )
                        self.assertLess(status, 500, (op.name, field.name, form, document))
                        sent += 1
        self.assertGreater(sent, 60)
