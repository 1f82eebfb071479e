# SPDX-License-Identifier: Apache-2.0
"""A listener to notifications, through oslo.messaging like any program."""

import fixtures
import oslo_messaging

from manila_lite.tests import waiting

_GROUP = 'oslo_messaging_notifications'


class Heard(fixtures.Fixture):
    """``events`` are the notifications since it was made, the oldest first: dicts of publisher, priority, event, payload.

    ``conf`` is the running service's. The product sends notifications for the life of the fixture; ``url``: through
    that bus, or with None through that of the service.
    """

    def __init__(self, conf, url: str | None = 'inproc:///notifications'):
        super().__init__()
        self._conf = conf
        self._url = url
        self.events = []

    def _setUp(self):
        for name, value in (('driver', ['messagingv2']), ('transport_url', self._url)):
            self._conf.set_override(name, value, _GROUP)
            self.addCleanup(self._conf.clear_override, name, _GROUP)
        way = oslo_messaging.get_notification_transport(self._conf)
        listener = oslo_messaging.get_notification_listener(
            way, [oslo_messaging.Target(topic='notifications')], [self], executor='threading'
        )
        listener.start(override_pool_size=1)  # several threads would change the order
        self.addCleanup(listener.wait)
        self.addCleanup(listener.stop)

    def info(self, ctxt, publisher_id, event_type, payload, metadata):
        """Keep a notification of priority INFO: called by oslo.messaging."""
        self._keep('INFO', publisher_id, event_type, payload, ctxt)

    def error(self, ctxt, publisher_id, event_type, payload, metadata):
        """Keep a notification of priority ERROR: called by oslo.messaging."""
        self._keep('ERROR', publisher_id, event_type, payload, ctxt)

    def _keep(self, priority, publisher, event, payload, ctxt):
        self.events.append(
            {
                'priority': priority,
                'publisher': publisher,
                'event': event,
                'payload': payload,
                'context': ctxt,
            }
        )

    def of(self, **payload):
        """Return the notifications whose payload has these values."""
        return [event for event in list(self.events) if payload.items() <= event['payload'].items()]

    def wait(self, event, **payload):
        """Wait for a notification of this type with these values; return the first."""

        def heard():
            return next((found for found in self.of(**payload) if found['event'] == event), None)

        def told():
            return f'{event} with {payload}; heard: {[(one["event"], one["payload"]) for one in self.events]}'

        return waiting.until(heard, told)
