# SPDX-License-Identifier: Apache-2.0
"""Every refusal and every failure names the next step for the user."""

import ast
import fnmatch
import functools
import inspect
import pathlib

import testtools

import manila_lite
from manila_lite import errors
from manila_lite.api.http import faults, hints, next_steps
from manila_lite.api.v2 import messages as message_calls
from manila_lite.db.queries import messages
from manila_lite.siblings.compute import next_steps as compute

_ROOT = pathlib.Path(manila_lite.__file__).parent
#: Codes of errors that a worker raises for itself, and of errors that end a process: no answer has them.
_INSIDE = {
    'final',
    'again',
    'lost_claim',
    'bad_config',
    'refused_shrink',
    'command_failed',
    'mount_busy',
    'mount_failed',
    'node_away',
    'qemu_refused',
    'migration_cancelled',
    'ceph_away',
    'ceph_refused',
    'ceph_unreadable',
}
#: Codes of a sibling's answers whose form has no place for a next step.
_BARE = {'INVALID_DATA', 'INVALID_REFERENCE', 'NOT_IMPLEMENTED'}
#: Codes of a status that has a next step for all its refusals.
_BY_STATUS = {
    'conflict',
    'already_exists',
    'invalid_input',
    'entity_missing',
    'forbidden',
    'unauthorized',
    'internal_error',
    'service_unavailable',
}
#: Codes that are composed of parts.
_COMPOSED = {
    'over_quota_shares',
    'over_quota',
    'over_limit_subnets',
    'extra_spec_not_found',
    'metadata_item_not_found',
    'share_type_access_not_found',
    'share_group_type_access_not_found',
    'share_not_found',
    'message_not_found',
    'over_quota_per_share_gigabytes',
    'subnet_denied',
    'security_service_denied',
    'share_network_in_use',
    'share_network_has_subnets',
    'subnet_in_use',
}


_TABLES = (next_steps.BY_CODE, next_steps.FOR_ADMINISTRATORS, compute.BY_CODE, compute.FOR_ADMINISTRATORS)


@functools.cache
def reasons(*, siblings=True):
    """Return every error code in the product's source: ``code=`` of calls, ``code`` of classes, third arguments of replies."""
    found = set()
    for path in _ROOT.rglob('*.py'):
        if 'tests' not in path.parts and (siblings or 'siblings' not in path.parts):
            for node in ast.walk(ast.parse(path.read_text())):
                found.update(_of(node))
    return found - _INSIDE - _BARE


def _of(node):
    if isinstance(node, ast.Call) and ast.unparse(node.func) == 'errors.NotFound.of':
        return [f'{text.lower().replace(" ", "_")}_not_found' for text in _plain(node.args[0])]
    if isinstance(node, ast.keyword) and node.arg == 'code':
        return _texts(node.value)
    if isinstance(node, ast.Assign) and [getattr(target, 'id', '') for target in node.targets] == ['code']:
        return _texts(node.value)
    if isinstance(node, ast.Call) and _called(node) in ('reply', '_reply', 'refusal') and len(node.args) > 2:
        return _texts(node.args[2])
    return ()


def _called(node):
    return getattr(node.func, 'attr', None) or getattr(node.func, 'id', None)


def _plain(node):
    return [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def _texts(node):
    return [
        text
        for text in _plain(node)
        if text in _BY_STATUS or ('_' in text and text.replace('_', '').isalpha())
    ]


def every_code():
    """Return every error code that an answer can have, except those that are composed of parts."""
    return {code for code in reasons() | _BY_STATUS if not (code.startswith('_') or code.endswith('_'))}


class NextSteps(testtools.TestCase):
    def test_every_error_code_has_a_next_step(self):
        for codes, rows in (
            (reasons(siblings=False), next_steps.BY_CODE),
            (reasons(), next_steps.BY_CODE | compute.BY_CODE),
        ):
            self.assertEqual(
                [],
                [
                    code
                    for code in sorted(codes - _BY_STATUS)
                    if not any(fnmatch.fnmatchcase(code, row) for row in rows)
                ],
            )

    def test_every_row_matches_an_error_code(self):
        known = reasons() | _COMPOSED
        for rows in _TABLES:
            self.assertEqual([], [row for row in rows if not fnmatch.filter(known, row)])

    def test_next_step_depends_on_the_caller_and_the_resource_type(self):
        """An operator is not sent to the operator, and resources of all projects are not hidden by their project."""
        for reason in sorted(reasons() | _COMPOSED):
            self.assertNotRegex(
                hints.next_step(409, reason, administrator=True), '(?i)ask (the operator|an administrator)'
            )
        for reason in ('service', 'availability_zone', 'share_type', 'pool', 'share_group_type'):
            for administrator in (False, True):
                self.assertNotIn(
                    'project;', hints.next_step(404, f'{reason}_not_found', administrator=administrator)
                )
        self.assertNotEqual(
            hints.next_step(404, 'share_not_found'),
            hints.next_step(404, 'share_not_found', administrator=True),
        )

    def test_every_status_has_a_next_step(self):
        for status in {*faults.STATUS.values(), *faults.NAMES} - {429, 501}:
            self.assertTrue(next_steps.BY_STATUS[status].endswith('.'), status)

    def test_every_error_class_has_a_next_step(self):
        for error in vars(errors).values():
            if (
                inspect.isclass(error)
                and issubclass(error, errors.ManilaLiteError)
                and error.code not in _INSIDE
            ):
                (fault,) = faults.response(error('It is so.')).json.values()
                self.assertTrue(fault['next'].endswith('.'), error)
                self.assertTrue(fault['message'] == 'It is so.' or fault['code'] == 500, fault)

    def test_every_user_message_has_a_next_step(self):
        """Every user message, about a failure after the answer, has a next step."""
        self.assertEqual(set(messages.Detail), set(message_calls.NEXT_STEPS))
        for detail, step in message_calls.NEXT_STEPS.items():
            cause = detail.value[1]
            # A cause of two sentences has the step in the second.
            self.assertTrue(step.endswith('.') if step else '. ' in cause, detail)
