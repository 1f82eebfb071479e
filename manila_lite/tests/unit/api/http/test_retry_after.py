# SPDX-License-Identifier: Apache-2.0
"""Which answers lose Retry-After, and for whom."""

import testtools
import webob

from manila_lite.api.http import retry_after


class SpareClients(testtools.TestCase):
    def header(self, status, agent):
        """Return the header of an answer with this status to a client."""
        answer = webob.Response(status=status, headerlist=[('retry-after', '7'), ('X-Other', 'kept')])
        request = webob.Request.blank('/', headers={} if agent is None else {'User-Agent': agent})
        found = request.get_response(retry_after.spare_clients(answer))
        self.assertEqual((status, 'kept'), (found.status_int, found.headers['X-Other']))
        return found.headers.get('Retry-After')

    def test_only_clients_that_break_lose_it(self):
        for agent in (None, '', 'curl/8.5', 'openstacksdk/4.22.0 python-manilaclient', 'gophercloud/2.0.0'):
            self.assertEqual(
                ['7'] * 4, [self.header(status, agent) for status in (409, 413, 429, 503)], agent
            )
        for agent in ('python-manilaclient', 'python-manilaclient/9'):
            self.assertEqual(
                [None, '7', None, None],
                [self.header(status, agent) for status in (409, 413, 429, 503)],
                agent,
            )
