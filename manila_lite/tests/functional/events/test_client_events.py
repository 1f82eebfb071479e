# SPDX-License-Identifier: Apache-2.0
"""The client's iterator over events: it comes back by itself, and asks for JSON where a proxy keeps streams back."""

import http.client
import http.server
import queue
import threading

from keystoneauth1 import adapter, session, token_endpoint
from manila_lite_client import events
from openstack import exceptions

from manila_lite.api.server.server import ApiServer
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.events import test_events


class Keeping(http.server.BaseHTTPRequestHandler):
    """A proxy that passes an answer on when it is complete; with ``server.heads`` its head at once.

    ``server.behind``: the port of the API; ``server.wanted``: the media types that clients asked for.
    """

    def do_GET(self):
        """Pass a request on, and then its answer."""
        self.server.wanted.append(self.headers['Accept'])
        upstream = http.client.HTTPConnection('127.0.0.1', self.server.behind, timeout=waiting.LIMIT)
        upstream.request('GET', self.path, headers=dict(self.headers))
        answer = upstream.getresponse()
        body = None if self.server.heads else answer.read()
        self.send_response(answer.status)
        self.send_header('Content-Type', answer.headers['Content-Type'])
        self.send_header('Connection', 'close')
        self.end_headers()
        self.wfile.write(answer.read() if body is None else body)

    def log_message(self, *_):
        """Write nothing."""


class ListeningTest(test_events.EventTest):
    """Programs that listen."""

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
        while not any(
            one.data.get('resource_id') == share and one.data.get('status') == 'available' for one in seen
        ):
            seen.append(found.get(timeout=waiting.LIMIT))
        return seen


class Iterator(ListeningTest):
    """Streams that end every few seconds."""

    EXTRA = '[events]\nlistener_time = 5\n'

    def test_events_come_also_after_the_end_of_a_stream_and_of_a_process(self):
        server = ApiServer(self.service.wsgi, '127.0.0.1', process.free_port())
        server.start()
        begin = self.listen(self.owner, port=server.port).begun().position
        found = self.heard(self.owner, server.port, last_event_id=begin)
        self.until_available(found, self.owner.share()['id'])
        server.stop(waiting.LIMIT)
        missed = self.owner.share()['id']
        server = ApiServer(self.service.wsgi, '127.0.0.1', server.port)
        server.start()
        self.addCleanup(server.stop, 5)
        seen = self.until_available(found, missed)
        self.assertNotIn('reset', [one.event for one in seen])

    def test_document_form_by_itself(self):
        reader = events._Reader(
            self.service_of(self.owner, self.server.port), False, self.listen(self.owner).begun().position
        )
        share = self.owner.share()['id']
        base.eventually(
            lambda: any(one.data.get('resource_id') == share for one in reader.document()), 'no event'
        )

    def test_refusal_ends_it(self):
        stranger = self.caller('somebody', roles='none')
        self.assertRaises(
            exceptions.HttpException, next, events.listen(self.service_of(stranger, self.server.port))
        )


class Kept(ListeningTest):
    """A proxy that passes nothing on before the end of an answer."""

    def proxy(self, *, heads):
        proxy = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Keeping)
        proxy.daemon_threads = True
        proxy.behind, proxy.wanted, proxy.heads = self.server.port, [], heads
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        self.addCleanup(proxy.shutdown)
        return proxy

    def test_json_is_asked_for_after_a_stream_of_which_nothing_came(self):
        begin = self.listen(self.owner).begun().position
        proxies = [self.proxy(heads=heads) for heads in (True, False)]
        programs = [self.heard(self.owner, proxy.server_port, last_event_id=begin) for proxy in proxies]
        share = self.owner.share()['id']
        for proxy, found in zip(proxies, programs, strict=True):
            seen = self.until_available(found, share)
            self.assertEqual({self.owner.token.split(':')[1]}, {one.data['project_id'] for one in seen})
            self.assertEqual([events.STREAM, events.DOCUMENT], proxy.wanted[:2])
            self.assertNotIn(events.STREAM, proxy.wanted[1:])
