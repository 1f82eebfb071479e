# SPDX-License-Identifier: Apache-2.0
"""The client's iterator over events: it comes back by itself, and asks for JSON where a proxy keeps streams back."""

import http.client
import http.server
import queue
import threading

from keystoneauth1 import adapter, session, token_endpoint
from manila_lite_client import events
from openstack import exceptions

from manila_lite.api.http.server import ApiServer
from manila_lite.tests.functional import base, test_events


class Keeping(http.server.BaseHTTPRequestHandler):
    """A proxy that passes an answer on when it is complete. ``server.behind``: the port of the API."""

    def do_GET(self):
        """Pass a request on, and then its answer."""
        upstream = http.client.HTTPConnection('127.0.0.1', self.server.behind, timeout=60)
        upstream.request('GET', self.path, headers=dict(self.headers))
        answer = upstream.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        self.send_header('Content-Type', answer.headers['Content-Type'])
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Write nothing."""


class Iterator(test_events.EventTest):
    """Programs that listen."""

    EXTRA = '[events]\nlistener_time = 5\n'

    def service_of(self, caller, port):
        token = token_endpoint.Token(f'http://127.0.0.1:{port}/v2', caller.token)
        return adapter.Adapter(session.Session(token), endpoint_override=f'http://127.0.0.1:{port}/v2')

    def heard(self, caller, port, **more):
        """Return a queue of what a program hears."""
        found = queue.SimpleQueue()

        def run():
            for event in events.listen(self.service_of(caller, port), **more):
                found.put(event)
        threading.Thread(target=run, daemon=True).start()
        return found

    def until_available(self, found, share):
        seen = []
        while not any(one.data.get('resource_id') == share and one.data.get('status') == 'available' for one in seen):
            seen.append(found.get(timeout=60))
        return seen

    def test_events_come_also_after_the_end_of_a_stream_and_of_a_process(self):
        server = ApiServer(self.service.wsgi, '127.0.0.1', 0)
        server.start()
        begin = self.listen(self.owner, port=server.port).begun().position
        found = self.heard(self.owner, server.port, last_event_id=begin)
        self.until_available(found, self.owner.share()['id'])
        server.stop(5)
        missed = self.owner.share()['id']
        server = ApiServer(self.service.wsgi, '127.0.0.1', server.port)
        server.start()
        self.addCleanup(server.stop, 5)
        seen = self.until_available(found, missed)
        self.assertNotIn('reset', [one.event for one in seen])

    def test_json_is_used_behind_a_proxy_that_keeps_streams_back(self):
        proxy = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Keeping)
        proxy.daemon_threads = True
        proxy.behind = self.server.port
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        self.addCleanup(proxy.shutdown)
        # The stream ends after five seconds here, so that also this client hears something of it in the end.
        found = self.heard(self.owner, proxy.server_port, last_event_id=self.listen(self.owner).begun().position)
        share = self.owner.share()['id']
        seen = self.until_available(found, share)
        self.assertEqual({self.owner.token.split(':')[1]}, {one.data['project_id'] for one in seen})

    def test_document_form_by_itself(self):
        reader = events._Reader(self.service_of(self.owner, self.server.port), False,
                                self.listen(self.owner).begun().position)
        share = self.owner.share()['id']
        base.eventually(lambda: any(one.data.get('resource_id') == share for one in reader.document()), 'no event')

    def test_refusal_ends_it(self):
        stranger = self.caller('somebody', roles='none')
        self.assertRaises(exceptions.HttpException, next, events.listen(self.service_of(stranger, self.server.port)))
