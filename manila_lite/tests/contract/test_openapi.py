# SPDX-License-Identifier: Apache-2.0
"""The contract is a valid OpenAPI 3.1 document at every version, and changes only on purpose."""

import json

import openapi_spec_validator
import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api import versions
from manila_lite.api.http import openapi
from manila_lite.api.v2 import CALLS
from manila_lite.tests.contract import openapi_file

#: The first and the last, both sides of the change of names, and some between.
TRIED = (versions.MIN, 6, versions.PLAIN_NAMES, 24, 45, 65, 82, versions.MAX)

_HOW = 'if clients may see this, run: python -m manila_lite.tests.contract.openapi_file'


class Document(testtools.TestCase):
    def test_the_document_is_valid_at_every_version_tried(self):
        for version in TRIED:
            document = json.loads(openapi.text(version))
            openapi_spec_validator.validate(document, cls=openapi_spec_validator.OpenAPIV31SpecValidator)
            self.assertEqual('3.1.0', document['openapi'])
            self.assertEqual(versions.show(version), document['info']['version'])

    def test_document_has_every_call(self):
        for version in TRIED:
            paths = openapi.document(version)['paths']
            for op in CALLS:
                if op.lives(version):
                    call = paths[op.path_at(version)][op.method.lower()]
                    self.assertIn(op.policy, call['x-policies'])
                    self.assertIn(str(op.ok), call['responses'])

    def test_document_has_only_calls_of_the_contract(self):
        for version in TRIED:
            living = {(op.path_at(version), op.method.lower()) for op in CALLS if op.lives(version)}
            found = {
                (path, method)
                for path, calls in openapi.document(version)['paths'].items()
                for method in calls
            }
            self.assertEqual(living, found)

    def test_actions_of_a_path_are_one_operation(self):
        call = openapi.document(versions.MIN)['paths']['/shares/{share_id}/action']['post']
        keys = {
            key
            for body in call['requestBody']['content']['application/json']['schema']['anyOf']
            for key in body['properties']
        }
        self.assertIn('os-extend', keys)
        self.assertNotIn('extend', keys)
        self.assertNotIn('revert', keys)

    def test_fields_appear_only_at_their_versions(self):
        def fields(version):
            call = openapi.document(version)['paths']['/shares/{share_id}']['get']
            schema = call['responses']['200']['content']['application/json']['schema']
            return schema['properties']['share']['properties']

        self.assertIn('export_locations', fields(8))
        self.assertNotIn('export_locations', fields(9))
        self.assertIn('progress', fields(54))

    def test_repeatable_calls_document_their_idempotency_header(self):
        said = {
            path
            for path, calls in openapi.document(versions.MAX)['paths'].items()
            for call in calls.values()
            if {'$ref': '#/components/parameters/once'} in call['parameters'] and '422' in call['responses']
        }
        self.assertEqual({op.path for op in CALLS if op.once}, said)
        self.assertLessEqual({'/shares', '/snapshots', '/share-networks', '/shares/{share_id}/action'}, said)

    def test_every_call_describes_its_error_statuses(self):
        for calls in openapi.document(versions.MAX)['paths'].values():
            for call in calls.values():
                self.assertLessEqual({'400', '401', '403', '404', '406'}, set(call['responses']))


class Unchanged(testtools.TestCase):
    """The document of the newest microversion is the one in git: each schema, limit, status and sentence of a call."""

    def test_document_in_git_is_current(self):
        written, served = openapi_file.FILE.read_text(), openapi_file.served()
        self.assertEqual([], openapi_file.changed_calls(written, served), _HOW)
        self.assertTrue(written == served, _HOW)  # and what all calls have in common

    def test_changed_limit_is_seen_in_the_calls_that_have_it_only(self):
        before, text = openapi_file.served(), openapi.text
        self.patch(
            openapi, 'text', lambda version: text(version).replace(b'"maxLength":255', b'"maxLength":254')
        )
        changed = openapi_file.changed_calls(before, openapi_file.served())
        self.assertIn('POST /shares', changed)
        self.assertNotIn('GET /limits', changed)
