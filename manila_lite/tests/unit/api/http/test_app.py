# SPDX-License-Identifier: Apache-2.0
"""The layers around the calls."""

import testtools
import webtest

from manila_lite.api.http import app


def _broken(environ, start_response):
    raise RuntimeError('password is hunter2')


class Failures(testtools.TestCase):
    def test_failure_of_a_layer_is_answered_in_the_shape_of_the_api(self):
        answer = webtest.TestApp(app._answer_failures(_broken, app.SHARE)).get(
            '/v2/shares', expect_errors=True
        )
        self.assertEqual((500, 'application/json'), (answer.status_int, answer.content_type))
        self.assertEqual('internal_error', answer.json['computeFault']['reason'])
        self.assertNotIn('hunter2', answer.text)

    def test_other_answers_pass_as_they_are(self):
        def works(environ, start_response):
            start_response('204 No Content', [('X-Test', 'a')])
            return []

        answer = webtest.TestApp(app._answer_failures(works, app.SHARE)).get('/v2/shares')
        self.assertEqual((204, 'a'), (answer.status_int, answer.headers['X-Test']))
