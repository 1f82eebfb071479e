# SPDX-License-Identifier: Apache-2.0
"""Replies to exceptions."""

import json

import testtools
from oslo_db import exception
from oslo_policy import policy

from manila_lite import errors
from manila_lite.api.http import faults


class Faults(testtools.TestCase):
    def reply(self, error, special=()):
        answer = faults.response(error, special)
        ((name, fault),) = json.loads(answer.body).items()
        self.assertEqual((answer.status_int, 'application/json'), (fault['code'], answer.content_type))
        return answer.status_int, name, fault

    def test_each_error_class_has_its_status_and_name(self):
        for error, status, name in (
            (errors.NotFound('x'), 404, 'itemNotFound'),
            (errors.Invalid('x'), 400, 'badRequest'),
            (errors.Unprocessable('x'), 422, 'computeFault'),
            (errors.Forbidden('x'), 403, 'forbidden'),
            (errors.Unauthorized('x'), 401, 'unauthorized'),
            (errors.Conflict('x'), 409, 'conflictingRequest'),
            (errors.OverQuota('x'), 413, 'overLimit'),
            (errors.NotAcceptable('x'), 406, 'notAcceptable'),
            (errors.Unavailable('x'), 503, 'serviceUnavailable'),
        ):
            found_status, found_name, fault = self.reply(error)
            self.assertEqual((status, name, error.code), (found_status, found_name, fault['reason']))
            self.assertEqual('x', fault['message'])

    def test_subclass_has_the_status_of_its_parent(self):
        self.assertEqual(409, faults.status_of(errors.WrongState('x')))
        self.assertEqual(409, faults.status_of(errors.Exists('x')))

    def test_call_may_override_the_status_of_an_error(self):
        special = ((errors.WrongState, 403),)
        self.assertEqual(403, faults.status_of(errors.WrongState('x'), special))
        self.assertEqual(409, faults.status_of(errors.Exists('x'), special))

    def test_policy_refusal_does_not_reveal_the_rule(self):
        status, name, fault = self.reply(policy.PolicyNotAuthorized('secret:rule', {'a': 1}, {'b': 2}))
        self.assertEqual((403, 'forbidden'), (status, name))
        self.assertNotIn('secret', fault['message'])

    def test_reference_to_a_deleted_row_is_a_conflict(self):
        """A reference to a row that another request has just deleted is a conflict, with databases that check foreign keys."""
        status, name, fault = self.reply(
            exception.DBReferenceError('table', 'constraint', 'secret', 'key_table')
        )
        self.assertEqual((409, 'conflictingRequest', 'changed_meanwhile'), (status, name, fault['reason']))
        self.assertNotIn('secret', fault['message'])

    def test_the_next_step_depends_on_the_caller(self):
        steps = [
            json.loads(
                faults.response(errors.OverQuota('x', code='over_quota_shares'), administrator=rights).body
            )['overLimit']['next']
            for rights in (False, True)
        ]
        self.assertIn('ask the operator', steps[0])
        self.assertIn('raise the quota', steps[1])

    def test_unexpected_error_does_not_reveal_its_text(self):
        status, name, fault = self.reply(RuntimeError('password is hunter2'))
        self.assertEqual((500, 'computeFault', 'internal_error'), (status, name, fault['reason']))
        self.assertNotIn('hunter2', fault['message'])

    def test_quota_refusal_has_a_retry_after_header(self):
        answer = faults.response(errors.OverQuota('x'))
        self.assertEqual('0', answer.headers['Retry-After'])
        self.assertEqual('0', json.loads(answer.body)['overLimit']['retryAfter'])

    def test_refusals_that_end_soon_say_when_in_header_and_body(self):
        for error in (
            errors.Busy('x'),
            errors.InFlight('x'),
            exception.DBConnectionError(),
            exception.DBDeadlock(),
        ):
            answer = faults.response(error)
            [fault] = json.loads(answer.body).values()
            self.assertEqual(('1', '1'), (answer.headers['Retry-After'], fault['retryAfter']), error)
        answer = faults.response(errors.Unavailable('x'))
        self.assertNotIn('Retry-After', answer.headers)
        self.assertNotIn('retryAfter', answer.json['serviceUnavailable'])

    def test_extra_headers_are_added_to_the_reply(self):
        answer = faults.reply(401, 'm', 'unauthorized', {'WWW-Authenticate': 'Basic'})
        self.assertEqual(
            ('Basic', 'application/json'), (answer.headers['WWW-Authenticate'], answer.content_type)
        )
        self.assertEqual(str(len(answer.body)), answer.headers['Content-Length'])
