# SPDX-License-Identifier: Apache-2.0
"""Every row of the contract is complete: with a policy, documentation and a schema, unique, and tested."""

import inspect
import itertools
import json
import pathlib
import re
import typing

import testtools
import yaml

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite import policies
from manila_lite.api import versions
from manila_lite.api.framework import fields, handlers
from manila_lite.api.v2 import CALLS

TESTS = pathlib.Path(__file__).resolve().parents[1]
METHODS = ('GET', 'POST', 'PUT', 'DELETE')
RULES = {rule.name: rule for rule in policies.list_rules()}


def label(op):
    return f'{op.method} {op.path} {op.action or ""}'.strip()


class Rows(testtools.TestCase):
    def test_rules_exist_and_name_the_call(self):
        unnamed = []
        for op in CALLS:
            self.assertIn(op.policy, RULES, label(op))
            documented = {
                (call['method'], shape(call['path'].partition('?')[0]))
                for call in RULES[op.policy].operations
            }
            if (op.method, shape(op.path)) not in documented:
                unnamed.append(f'{op.policy}: {label(op)}')
        self.assertEqual([], unnamed, 'rules that do not name the call that asks them')

    def test_methods_are_known_and_paths_are_well_formed(self):
        for op in CALLS:
            self.assertIn(op.method, METHODS)
            for path in (op.path, op.old_path or op.path):
                self.assertTrue(re.fullmatch(r'(/([a-z_-]+|{[a-z_]+}))+', path), path)
                names = re.findall(r'{(\w+)}', path)
                self.assertEqual(len(names), len(set(names)), path)
                self.assertNotIn('project_id', names, 'the router knows it')

    def test_old_names(self):
        for op in CALLS:
            if op.old_path:
                self.assertNotEqual(op.path, op.old_path)
                self.assertEqual(re.findall('{.*?}', op.path), re.findall('{.*?}', op.old_path))
            if op.old_path or op.old_action:
                self.assertLess(
                    versions.minor(op.since), versions.PLAIN_NAMES, f'{label(op)} never had an old name'
                )
            if op.old_action:
                self.assertIsNotNone(op.action)

    def test_calls_that_return_false_have_another_status(self):
        for op in CALLS:
            does = op.call.does if isinstance(op.call, handlers.Handler) else op.call
            returned = typing.get_type_hints(does).get('return')
            may_be_idle = returned is bool or typing.Literal[False] in typing.get_args(returned)
            self.assertEqual(op.or_ok is not None, may_be_idle, label(op))
            self.assertIn(op.or_ok, (None, 200), label(op))

    def test_functions_take_the_parts_that_rows_give_them(self):
        for op in CALLS:
            if isinstance(op.call, handlers.Handler) and op.call.parts:
                inspect.signature(op.call.does).bind(*op.call.parts, **op.call.named)

    def test_parts_are_in_path_and_body_of_the_row(self):
        for op in CALLS:
            given = (*getattr(op.call, 'parts', ()), *getattr(op.call, 'named', {}).values())
            parts = {(one.location, one.name) for one in given if isinstance(one, handlers.Part) and one.name}
            known = {('path', name) for name in re.findall(r'{(\w+)}', op.path)}
            known |= {('query', field.name) for field in op.query}
            known |= {('body', field.name) for field in (op.body.fields if op.body else ())}
            self.assertEqual(set(), parts - known, label(op))
            if ('body', '') in {(one.location, one.name) for one in given if isinstance(one, handlers.Part)}:
                self.assertIsNotNone(op.body, label(op))

    def test_actions_are_posts_to_their_path(self):
        for op in CALLS:
            self.assertEqual(op.path.endswith('/action'), op.action is not None, label(op))
            if op.action:
                self.assertEqual('POST', op.method)

    def test_response_schemas_compile_and_empty_responses_have_none(self):
        for op in CALLS:
            self.assertIn(op.ok, (200, 202, 204), label(op))
            if op.ok == 204 or op.method == 'DELETE':
                self.assertIsNone(op.view, label(op))
            if op.method == 'GET':
                self.assertIsNotNone(op.view, label(op))
            if op.view is not None:
                compile_all(op.view.schema(version) for version in versions.HISTORY if op.lives(version))

    def test_request_body_schemas_compile(self):
        for op in CALLS:
            bodies = [
                (body, version)
                for version in versions.HISTORY
                if op.lives(version) and (body := op.body_at(version))
            ]
            compile_all(body.schema(version) for body, version in bodies)
            if bodies:
                self.assertIn(op.method, ('POST', 'PUT'), label(op))

    def test_each_request_matches_one_call_only(self):
        for version in versions.HISTORY:
            keys = [
                (op.method, shape(op.path_at(version)), op.action_at(version))
                for op in CALLS
                if op.lives(version)
            ]
            twice = {key for key in keys if keys.count(key) > 1}
            self.assertEqual(set(), twice, versions.show(version))

    def test_path_parameters_at_the_same_position_have_the_same_name(self):
        """The router keeps one name per place in a path."""
        names: dict[tuple[str, ...], set[str]] = {}
        for op in CALLS:
            for path in {op.path, op.old_path or op.path}:
                parts = path.strip('/').split('/')
                for number, part in enumerate(parts):
                    if part.startswith('{'):
                        names.setdefault(tuple(shape(one) for one in parts[:number]), set()).add(part)
        self.assertEqual({}, {place: found for place, found in names.items() if len(found) > 1})

    def test_calls_are_documented(self):
        for op in CALLS:
            self.assertTrue(
                (op.call.__doc__ or '').strip(), f'{op.name} has no docstring, which the API reference shows'
            )

    def test_paged_lists_accept_limit_and_offset(self):
        for op in CALLS:
            if getattr(op.view, 'paged', False):
                self.assertLessEqual({'limit', 'offset'}, {field.name for field in op.query}, label(op))


def compile_all(schemas):
    """Compile each schema; equal ones of several versions are compiled once."""
    for schema in {json.dumps(schema): schema for schema in schemas}.values():
        fields.compiled(schema)


def shape(path):
    """Return a path with all parameters replaced by ``{}``."""
    return re.sub('{.*?}', '{}', path)


class Tried(testtools.TestCase):
    """Every call has a request in gabbits/ or in a functional test."""

    def test_each_call_is_requested_in_a_functional_test(self):
        requests = set(itertools.chain(gabbi_requests(), python_requests()))
        missing = [label(op) for op in CALLS if not any(matches(op, request) for request in requests)]
        self.assertEqual([], missing, '\n'.join(['no request of:', *missing]))


def gabbi_requests():
    """Yield (method, path, keys of the body) of each request of each file."""
    for path in (TESTS / 'functional/gabbits').glob('*.yaml'):
        for test in yaml.load(path.read_text(), yaml.CSafeLoader)['tests']:
            for method in METHODS:
                if method in test:
                    yield method, test[method], keys_of(test.get('data'))
            if 'url' in test:
                yield test.get('method', 'GET'), test['url'], keys_of(test.get('data'))


#: Tests that the default tier does not have.
_ON_STORAGE = ('ceph', 'linux', 'console')


def keys_of(data):
    return tuple(data) if isinstance(data, dict) else ()


def python_requests():
    """Yield the same from calls such as ``ok('POST', f'/shares/{share["id"]}/action', ...)`` in Python tests."""
    for path in (TESTS / 'functional').glob('*/test_*.py'):
        text = path.read_text() if path.parent.name not in _ON_STORAGE else ''
        for method, where in re.findall(r"'(GET|POST|PUT|DELETE)',\s*f?'(/[^']*)'", text):
            yield method, re.sub(r'{.*?}(?=/|$|\?)', 'x', where), ()
        for action in re.findall(r"\.action\([^,()]+(?:\[[^]]*\])?, '(\w+)'", text):
            yield 'POST', '/shares/x/action', (action,)


def matches(op, request):
    method, path, keys = request
    if method != op.method:
        return False
    if op.action and not {op.action, op.old_action or f'os-{op.action}'} & set(keys):
        return False
    found = re.sub(r'\$\w+\[.*?\](\.\$\w+\[.*?\])?', 'x', path).partition('?')[0].removeprefix('/v2')
    forms = [re.sub('{.*?}', '[^/]+', known) for known in (op.path, op.old_path or op.path)]
    return any(re.fullmatch(f'(/[^/]+)?{form}', found) for form in forms)
