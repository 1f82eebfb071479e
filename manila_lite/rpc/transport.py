# SPDX-License-Identifier: Apache-2.0
"""One transport per process and URL, and the form of a request context in notifications."""

import os
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_messaging.notify import notifier

from manila_lite import errors

#: Our defaults for RabbitMQ. Newer brokers have no other replicated queues, and no queues that a restart removes.
_RABBIT = {'rabbit_quorum_queue': True, 'rabbit_transient_quorum_queue': True}

_transports: dict[tuple[int, str], Any] = {}


def set_defaults(conf: cfg.ConfigOpts, url: str | None = None) -> None:
    """Register oslo.messaging's transport options in ``conf``; ``url`` is used where the operator gives none."""
    oslo_messaging.set_transport_defaults('manila_lite')
    oslo_messaging.TransportURL.parse(conf, 'inproc://')
    conf.set_default('control_exchange', 'manila_lite')
    # oslo_messaging.opts lists these, too, but imports all drivers with their packages.
    conf.register_opts(notifier._notifier_opts, 'oslo_messaging_notifications')  # noqa: SLF001
    if url:
        conf.set_default('transport_url', url)


def set_rabbit_defaults(conf: cfg.ConfigOpts) -> None:
    """Register the options of RabbitMQ, with our defaults. Its driver would register them only at its first use."""
    group = 'oslo_messaging_rabbit'
    if group in conf:
        return
    from oslo_messaging import opts

    conf.register_opts(dict(opts.list_opts())[group], group)
    for name, value in _RABBIT.items():
        conf.set_default(name, value, group)


def url_of(conf: cfg.ConfigOpts) -> oslo_messaging.TransportURL:
    """Return the transport URL. If it is of RabbitMQ, its options are registered.

    :raises errors.BadConfig: it makes no sense.
    """
    try:
        url = oslo_messaging.TransportURL.parse(conf)
    except oslo_messaging.MessagingException as bad:
        raise errors.BadConfig(f'transport_url: {bad}') from None
    if url.transport.endswith('rabbit'):
        set_rabbit_defaults(conf)
    return url


def get_transport(conf: cfg.ConfigOpts) -> Any:
    """Return this process's transport, made on first use: a transport made before a fork gets no answers after it.

    :raises errors.BadConfig: the transport URL makes no sense.
    """
    key = (os.getpid(), str(url_of(conf)))
    if key not in _transports:
        try:
            _transports[key] = oslo_messaging.get_rpc_transport(conf)
        except oslo_messaging.MessagingException as bad:
            raise errors.BadConfig(f'transport_url: {bad}') from None
    return _transports[key]


def cleanup() -> None:
    """Close the connections of this process; the next use opens new ones."""
    for key in [key for key in _transports if key[0] == os.getpid()]:
        _transports.pop(key).cleanup()


class ContextSerializer(oslo_messaging.NoOpSerializer):  # type: ignore[misc]  # oslo.messaging has no types
    """The form of a request context in notifications: a dict. The caller's token is left out, for no receiver needs it."""

    def serialize_context(self, ctxt: Any) -> dict[str, Any]:
        """Return ``ctxt``, a request context or already a dict, as a dict without its token."""
        values = dict(ctxt if isinstance(ctxt, dict) else ctxt.to_dict())
        values.pop('auth_token', None)
        return values
