# SPDX-License-Identifier: Apache-2.0
"""A look at the broker with a connection of its own: whether it answers, and accepts the login. And which errors mean that it
does not. The packages of the driver are imported where a broker is configured.
"""

import socket
import ssl
import sys
from typing import Any

from oslo_config import cfg

from manila_lite import errors

#: Seconds for which a broker has time to answer.
_PATIENCE = 5
#: Loggers of the driver, which does not always hand over its error, and all loggers whose errors of these classes are of it.
_DRIVER = ('oslo.messaging', 'oslo_messaging', 'kombu', 'amqp')
_LOGGERS = (*_DRIVER, 'manila_lite.rpc')


def answers(conf: cfg.ConfigOpts) -> bool:
    """Say whether a broker of ``transport_url`` answers. True for all but RabbitMQ: others are not asked.

    With TLS, nobody logs in there, for the options of that are the driver's.

    :raises errors.BadConfig: one refuses the login, or the virtual host.
    """
    from manila_lite.rpc import transport

    url = transport.url_of(conf)
    if not url.transport.endswith('rabbit'):
        return True
    if conf.oslo_messaging_rabbit.ssl:
        return any(_shakes_hands(host) for host in url.hosts)
    replies = [_answers(host, url.virtual_host or '/') for host in url.hosts]  # each may refuse the login
    return any(replies)


def is_lost(logger: str, error: BaseException) -> bool:
    """Say whether an error, logged by this logger, means that the broker does not answer, or that a connection to it broke."""
    if not logger.startswith(_LOGGERS):
        return False
    import amqp.exceptions
    import kombu.exceptions
    import oslo_messaging

    lost = (
        OSError,
        amqp.exceptions.RecoverableConnectionError,
        kombu.exceptions.OperationalError,
        oslo_messaging.MessageDeliveryFailure,
    )
    return isinstance(error, lost) and not isinstance(error.__cause__, amqp.exceptions.ChannelError)


def current(logger: str) -> BaseException | None:
    """Return the error that the driver is handling while it logs a line."""
    return sys.exc_info()[1] if logger.startswith(_DRIVER) else None


def _shakes_hands(host: Any) -> bool:
    """Say whether something answers there. It gets no secret, so it need not prove who it is."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host.hostname, host.port or 5671), timeout=_PATIENCE) as wire:
            context.wrap_socket(wire).close()
    except OSError:
        return False
    return True


def _answers(host: Any, virtual_host: str) -> bool:
    import amqp.exceptions
    import kombu

    port = host.port or 5672
    broker: Any = kombu.Connection(  # type: ignore[attr-defined,no-untyped-call]  # kombu has few types
        hostname=host.hostname,
        port=port,
        userid=host.username or 'guest',
        password=host.password or 'guest',
        virtual_host=virtual_host,
        transport='pyamqp',
        connect_timeout=_PATIENCE,
    )
    where = f'transport_url: the broker on {host.hostname}:{port}'
    try:
        with broker:
            broker.connect()
    except amqp.exceptions.AccessRefused:
        raise errors.BadConfig(
            f'{where} refuses the login of user {host.username!r}: wrong name or password'
        ) from None
    except amqp.exceptions.NotAllowed:
        raise errors.BadConfig(
            f'{where} refuses user {host.username!r} the virtual host {virtual_host!r}, or '
            'has none of that name'
        ) from None
    except (OSError, amqp.exceptions.AMQPError):
        return False
    return True
