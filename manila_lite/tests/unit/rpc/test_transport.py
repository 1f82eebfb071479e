# SPDX-License-Identifier: Apache-2.0

import os

from manila_lite import context
from manila_lite.rpc import transport
from manila_lite.tests.unit.rpc import base


class TestTransport(base.BusTestCase):
    def test_transport_is_reused_for_the_same_url(self):
        first = transport.get_transport(self.conf)
        self.assertIs(first, transport.get_transport(self.conf))
        self.use_url('inproc:///another')
        self.assertIsNot(first, transport.get_transport(self.conf))

    def test_new_transport_is_made_after_cleanup(self):
        first = transport.get_transport(self.conf)
        transport.cleanup()
        self.assertIsNot(first, transport.get_transport(self.conf))

    def test_child_process_makes_its_own_transport(self):
        inherited = transport.get_transport(self.conf)
        child = os.fork()
        if child == 0:
            os._exit(7 if transport.get_transport(self.conf) is not inherited else 1)
        self.assertEqual(7, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    def test_configured_url_overrides_the_default(self):
        transport.set_defaults(self.conf, 'inproc:///default')
        self.addCleanup(self.conf.clear_default, 'transport_url')
        self.assertNotEqual('inproc:///default', self.conf.transport_url)
        self.conf.clear_override('transport_url')
        self.assertEqual('inproc:///default', self.conf.transport_url)
        self.assertEqual('manila_lite', self.conf.control_exchange)


class TestContextSerializer(base.BusTestCase):
    def test_context_is_sent_without_its_token(self):
        sent = context.RequestContext(user_id='u', project_id='p', auth_token='secret', overwrite=False)
        wire = transport.ContextSerializer().serialize_context(sent)
        self.assertNotIn('secret', str(wire))
        self.assertEqual(('u', 'p', sent.request_id), (wire['user'], wire['project_id'], wire['request_id']))
