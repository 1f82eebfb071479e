# SPDX-License-Identifier: Apache-2.0
"""How programs begin and end: one configuration each, no death without a word, no clean-up that nobody watches."""

import ast
from collections.abc import Iterator
from pathlib import Path

import testtools

ROOT = Path(__file__).resolve().parents[3]
#: Calls of a clean-up that do not fail, by the name of the function.
_SAFE = {'close', 'flush', 'kill', 'wait', '_exit', 'suppress', 'unlink', '_drop', 'release'}
#: Other clean-ups behind ``except`` clauses: where they are, and who meets their errors.
_WATCHED = {
    'manila_lite/drivers/cephfs/protocols/nfs.py retire': 'shut_down drops a connection, and suppresses its errors',
    'manila_lite/network/neutron.py allocate': 'the session around it makes an error of the product of each of Neutron',
}


def trees(word: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield path and code of each file of product and tools with the word. Tests are no programs of an operator."""
    for folder in ('manila_lite', 'client/manila_lite_client', 'tools'):
        for path in (ROOT / folder).rglob('*.py'):
            if ROOT / 'manila_lite' / 'tests' not in path.parents and word in (text := path.read_text()):
                yield path.relative_to(ROOT).as_posix(), ast.parse(text)


def callers(method: str) -> list[str]:
    """Return the files that call a method, by how it is written."""
    return [
        path
        for path, tree in trees(f'{method}(')
        if any(
            isinstance(node, ast.Call) and ast.unparse(node.func).endswith(method) for node in ast.walk(tree)
        )
    ]


class ProgramsTest(testtools.TestCase):
    def test_nobody_makes_the_configuration_of_the_process_anew(self):
        """What was registered stays: the next one lacks values that are required. A second one is made: ``ConfigOpts()``."""
        self.assertEqual([], [*callers('conf.reset'), *callers('CONF.reset')])

    def test_the_log_is_set_up_where_its_hook_for_the_end_is(self):
        """oslo.log alone writes an error that ends the program to a file, and nothing to stderr."""
        self.assertEqual(['manila_lite/cmd/log_lines.py'], callers('log.setup') + callers('logging.setup'))

    def test_errors_of_a_cleanup_are_met_like_those_of_the_work(self):
        """An error in ``finally`` passes by the ``except`` clauses before it: no message, and the rest is not cleaned up."""
        found = {
            f'{path} {function.name}'
            for path, tree in trees('finally:')
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Try) and node.handlers and set(_called(node.finalbody)) - _SAFE
        }
        self.assertEqual(set(_WATCHED), found)


def _called(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the name of each function that is called."""
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).rpartition('.')[2]
