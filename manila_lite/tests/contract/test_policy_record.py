# SPDX-License-Identifier: Apache-2.0
"""Rules and code name each other, and the roles that pass each rule by default are those recorded in policies.yaml."""

import ast
import functools
import pathlib
import re
from collections import Counter

import testtools
import yaml

import manila_lite.cmd  # first: threads
from manila_lite import policies
from manila_lite.api.v2 import CALLS
from manila_lite.db.queries import schedules
from manila_lite.policies import base

_CODE = pathlib.Path(manila_lite.__file__).parent
_RECORD = pathlib.Path(__file__).parent / 'policies.yaml'
_PERSONAS = {rule.name for rule in base.PERSONAS}
#: The form of a rule's name, and its first part: the kind of resource.
_FORM = re.compile(r'[a-z_]+(:[a-z_]+)+')
_KINDS = {rule.name.partition(':')[0] for rule in policies.list_rules() if ':' in rule.name}
#: Names of functions that ask for a rule by its name.
_ASKING = {'can', 'may'}


def modules():
    """Yield the syntax tree of each module of the product; siblings have rules of their own."""
    for path in sorted(_CODE.rglob('*.py')):
        if not {'tests', 'policies', 'siblings'} & set(path.relative_to(_CODE).parts):
            yield ast.parse(path.read_text())


def names_in(tree):
    """Yield the names of rules in a module: texts of their form, and names in questions for a rule."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _FORM.fullmatch(node.value) and node.value.partition(':')[0] in _KINDS:
                yield node.value
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKING
        ):
            yield from (
                arg.value
                for arg in node.args[:1]
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            )


@functools.cache
def used():
    """Return the names of all rules that code mentions."""
    found = {op.policy for op in CALLS}
    for tree in modules():
        found.update(names_in(tree))
    return found - {schedules.HOLD}  # a property of snapshots has such a name, too


class Names(testtools.TestCase):
    def test_every_rule_used_in_code_is_defined(self):
        self.assertEqual(set(), used() - {rule.name for rule in policies.list_rules()})

    def test_every_defined_rule_is_used_in_code(self):
        """Every rule is used: an operator who changed an unused one would see no effect."""
        self.assertEqual(set(), {rule.name for rule in policies.list_rules()} - used() - _PERSONAS)


class Record(testtools.TestCase):
    maxDiff = None

    def test_default_checks_of_rules_match_the_record(self):
        written = {
            name: check for check, names in yaml.safe_load(_RECORD.read_text()).items() for name in names
        }
        found = {rule.name: rule.check_str for rule in policies.list_rules() if rule.name not in _PERSONAS}
        self.assertEqual(written, found)

    def test_each_rule_is_recorded_once(self):
        names = Counter(name for found in yaml.safe_load(_RECORD.read_text()).values() for name in found)
        self.assertEqual({}, {name: count for name, count in names.items() if count > 1})

    def test_basic_rules_are_unchanged(self):
        """The basic rules, of which every other rule is made, have not changed."""
        self.assertEqual(
            {
                'context_is_admin': 'role:admin',
                'admin_api': 'rule:context_is_admin',
                'project_member': 'role:member and project_id:%(project_id)s',
                'project_reader': '(role:reader or role:member) and project_id:%(project_id)s',
                'service_role': 'role:service',
                'admin_or_project_member': 'rule:admin_api or rule:project_member',
                'admin_or_project_reader': 'rule:admin_api or rule:project_reader',
                'admin_or_service': 'rule:admin_api or rule:service_role',
                'owner_user': 'user_id:%(user_id)s and project_id:%(project_id)s',
                'default': '!',
            },
            {rule.name: rule.check_str for rule in base.PERSONAS},
        )
