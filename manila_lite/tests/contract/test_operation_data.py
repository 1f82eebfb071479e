# SPDX-License-Identifier: Apache-2.0
"""The keys of operation data are written down in one place: the dataclass of the kind."""

import ast
import pathlib

import testtools

ROOT = pathlib.Path(__file__).parents[2]
#: Modules about kinds that have no dataclass yet (``operation_data.Untyped``). The list may only shrink.
UNTYPED = {
    'siblings/compute/actions.py',
    'siblings/compute/server_plans.py',
    'siblings/compute/share_plans.py',
    'siblings/dataproc/mounting.py',
    'siblings/dataproc/nodes.py',
}
#: No operations below these.
ELSEWHERE = ('tests', 'drivers', 'operation_data')
_DICT = {'get', 'pop', 'setdefault', 'update'}


def reads_by_key(tree):
    """Say whether something reads ``x.data['key']`` or ``x.data.get('key')``."""
    owners = [node.value for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    owners += [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in _DICT
    ]
    return any(isinstance(owner, ast.Attribute) and owner.attr == 'data' for owner in owners)


class Keys(testtools.TestCase):
    def test_operation_data_are_read_by_key_only_where_their_kind_has_no_dataclass(self):
        paths = [path for path in ROOT.rglob('*.py') if path.relative_to(ROOT).parts[0] not in ELSEWHERE]
        found = {str(path.relative_to(ROOT)) for path in paths if reads_by_key(ast.parse(path.read_text()))}
        self.assertEqual(UNTYPED, found)

    def test_planted_key_is_found(self):
        for text in ("work.data['target']", "op.data.get('target')", "work.data.setdefault('a', 1)"):
            self.assertTrue(reads_by_key(ast.parse(text)), text)
        self.assertFalse(reads_by_key(ast.parse('work.data.target')))
