# SPDX-License-Identifier: Apache-2.0
"""One transport per process and URL, and the form of a request context on the wire."""

import os
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_messaging import opts

from manila_lite import context

#: Exceptions of these modules arrive at a caller with their own class, not as RemoteError.
EXCEPTION_MODULES = ['manila_lite.errors', 'oslo_messaging.exceptions', 'oslo_messaging.rpc.client']
#: Raised for a transport URL that makes no sense, or whose server is not the right one.
UNUSABLE = oslo_messaging.MessagingException

#: Our defaults for RabbitMQ. Newer brokers have no other replicated queues, and no queues that a restart removes.
_RABBIT = {'rabbit_quorum_queue': True, 'rabbit_transient_quorum_queue': True}

_transports: dict[tuple[int, str], Any] = {}


def set_defaults(conf: cfg.ConfigOpts, url: str | None = None) -> None:
    """Register oslo.messaging's transport options in ``conf``; ``url`` is used where the operator gives none."""
    oslo_messaging.set_transport_defaults('manila_lite')
    oslo_messaging.TransportURL.parse(conf, 'inproc://')
    conf.set_default('control_exchange', 'manila_lite')
    group = 'oslo_messaging_rabbit'
    known = dict(opts.list_opts())
    conf.register_opts(known[group], group)                     # the driver would register them only at its first use
    conf.register_opts(known['oslo_messaging_notifications'], 'oslo_messaging_notifications')
    for name, value in _RABBIT.items():
        conf.set_default(name, value, group)
    if url:
        conf.set_default('transport_url', url)


def get_transport(conf: cfg.ConfigOpts) -> Any:
    """Return this process's transport, made on first use: a transport made before a fork gets no answers after it."""
    key = (os.getpid(), str(oslo_messaging.TransportURL.parse(conf)))
    if key not in _transports:
        _transports[key] = oslo_messaging.get_rpc_transport(conf, allowed_remote_exmods=EXCEPTION_MODULES)
    return _transports[key]


def cleanup() -> None:
    """Close the connections of this process; the next use opens new ones."""
    for key in [key for key in _transports if key[0] == os.getpid()]:
        _transports.pop(key).cleanup()


class ContextSerializer(oslo_messaging.NoOpSerializer):
    """The form of a request context on the bus: a dict. The caller's token is left out, for no receiver needs it."""

    def __init__(self, services: context.Services | None = None):
        super().__init__()
        self._services = services

    def serialize_context(self, ctxt: Any) -> dict:
        """Return ``ctxt``, a request context or already a dict, as a dict without its token."""
        values = dict(ctxt if isinstance(ctxt, dict) else ctxt.to_dict())
        values.pop('auth_token', None)
        return values

    def deserialize_context(self, ctxt: dict) -> context.RequestContext:
        """Return a request context with the services of this process, and log with its request id from here on."""
        return context.RequestContext.from_dict(ctxt, services=self._services)
