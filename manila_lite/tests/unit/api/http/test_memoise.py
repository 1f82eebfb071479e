# SPDX-License-Identifier: Apache-2.0

import functools
import importlib
import inspect
import pkgutil
from unittest import mock

import fixtures
import pecan
import pecan.util
import testtools
import webtest
from oslo_config import cfg
from oslo_policy import _checks, policy

from manila_lite.api.http import memoise


class Things(pecan.rest.RestController):
    """One handler for each way in which pecan asks for arguments."""

    @pecan.expose('json')
    def get_all(self, **filters):
        return filters

    @pecan.expose('json')
    def get_one(self, resource_id):
        return {'one': resource_id}

    @pecan.expose('json')
    def post(self, *rest):
        return {'posted': list(rest)}


class Root:
    things = Things()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Shapes:
    def plain(self, a, b=1, *rest, **more):
        pass

    @decorated
    def wrapped(self, a):
        pass

    @staticmethod
    def static(a, b):
        pass

    @classmethod
    def classy(cls, a):
        pass


def asked_during(function):
    """Run ``function``; return how often it asked the standard library for the arguments of a function."""
    with mock.patch.object(inspect, 'getfullargspec', wraps=inspect.getfullargspec) as asked:
        function()
    return asked.call_count


class TestPecan(testtools.TestCase):
    def setUp(self):
        super().setUp()
        memoise.install()
        self.app = webtest.TestApp(pecan.make_app(Root()))

    def test_every_pecan_module_that_inspects_arguments_uses_the_cache(self):
        """Every module of pecan that asks for arguments uses the cache: another one in a new pecan would be slow unnoticed."""
        names = [
            f'pecan.{info.name}'
            for info in pkgutil.iter_modules(pecan.__path__)
            if info.name in ('core', 'decorators', 'rest', 'routing', 'util')
        ]
        self.assertEqual(5, len(names))
        for module in map(importlib.import_module, names):
            self.assertIs(pecan.util.getargspec, module.getargspec)
        self.assertTrue(hasattr(pecan.util.getargspec, 'remembers'))

    def test_installing_twice_changes_nothing(self):
        first = pecan.util.getargspec, _checks.inspect
        memoise.install()
        self.assertEqual(first, (pecan.util.getargspec, _checks.inspect))

    def test_second_request_inspects_no_arguments(self):
        self.app.get('/things/1')
        self.assertEqual(0, asked_during(lambda: self.app.get('/things/1')))

    def test_each_request_inspects_arguments_without_the_cache(self):
        """Without the cache each request asks. If this fails, pecan has improved and the shim can go."""
        stock = pecan.util.getargspec.__wrapped__
        for module in (pecan.core, pecan.rest, pecan.routing, pecan.util):
            self.useFixture(fixtures.MonkeyPatch(f'{module.__name__}.getargspec', stock))
        self.app.get('/things/1')
        self.assertGreater(asked_during(lambda: self.app.get('/things/1')), 2)

    def test_cached_arguments_equal_those_of_the_original_function(self):
        shapes = Shapes()
        stock = pecan.util.getargspec.__wrapped__
        for _ in range(2):
            for asked in (
                shapes.plain,
                Shapes.plain,
                shapes.wrapped,
                shapes.static,
                shapes.classy,
                decorated,
                lambda x, *, y=1: x,
            ):
                self.assertEqual(stock(asked), pecan.util.getargspec(asked))

    def test_requests_are_answered_as_before(self):
        for _ in range(2):
            self.assertEqual({'one': '7'}, self.app.get('/things/7').json)
            self.assertEqual({'limit': '3', 'a': 'b'}, self.app.get('/things?limit=3&a=b').json)
            self.assertEqual({'posted': ['x', 'y']}, self.app.post('/things/x/y').json)
            self.assertEqual(404, self.app.get('/things/1/2/3', expect_errors=True).status_int)

    def test_uninspectable_object_raises_type_error_each_time(self):
        self.assertRaises(TypeError, pecan.util.getargspec, 3)
        self.assertRaises(TypeError, pecan.util.getargspec, 3)


class Yes(_checks.BaseCheck):
    """A check with the form that takes the name of the rule."""

    def __str__(self):
        return 'yes'

    def __call__(self, target, creds, enforcer, current_rule=None):
        return current_rule == 'share:show'


class Legacy(_checks.BaseCheck):
    """A check of the old form."""

    def __str__(self):
        return 'legacy'

    def __call__(self, target, creds, enforcer):
        return target['project_id'] == creds['project_id']


class TestPolicy(testtools.TestCase):
    def setUp(self):
        super().setUp()
        memoise.install()
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[])
        self.enforcer = policy.Enforcer(conf)
        self.enforcer.register_defaults(
            [
                policy.RuleDefault('admin', 'role:admin'),
                policy.RuleDefault('share:show', 'rule:admin or (role:reader and project_id:%(project_id)s)'),
                policy.RuleDefault('share:hide', 'not rule:share:show'),
            ]
        )

    def allows(self, rule, *roles, project='p'):
        return self.enforcer.enforce(rule, {'project_id': 'p'}, {'roles': list(roles), 'project_id': project})

    def test_decisions_are_as_before(self):
        expected = [
            (('admin',), 'other', True),
            (('reader',), 'p', True),
            (('reader',), 'other', False),
            (('member',), 'p', False),
            ((), 'p', False),
        ]
        for _ in range(2):
            for roles, project, may in expected:
                self.assertEqual(may, self.allows('share:show', *roles, project=project))
                self.assertEqual(not may, self.allows('share:hide', *roles, project=project))

    def test_both_forms_of_checks_get_the_arguments_they_accept(self):
        mine, other = {'project_id': 'p'}, {'project_id': 'q'}
        for _ in range(2):
            self.assertEqual(
                (True, False),
                tuple(_checks._check(Legacy(), mine, creds, None, 'share:show') for creds in (mine, other)),
            )
            self.assertEqual(
                (True, False),
                tuple(_checks._check(Yes(), mine, mine, None, rule) for rule in ('share:show', 'share:list')),
            )

    def test_second_decision_inspects_no_arguments(self):
        self.allows('share:hide', 'reader')
        self.assertEqual(0, asked_during(lambda: self.allows('share:hide', 'reader')))

    def test_each_rule_node_inspects_arguments_without_the_cache(self):
        """Without the cache each node asks. If this fails, oslo.policy has improved and the shim can go."""
        with mock.patch.object(_checks, 'inspect', inspect):
            self.assertGreater(asked_during(lambda: self.allows('share:hide', 'reader')), 4)

    def test_other_functions_of_inspect_are_unchanged(self):
        self.assertIs(inspect.signature, _checks.inspect.signature)
