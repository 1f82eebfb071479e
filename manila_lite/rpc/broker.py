# SPDX-License-Identifier: Apache-2.0
"""A look at the broker with a connection of its own: whether it answers, and accepts the login."""

import amqp.exceptions
import kombu
import oslo_messaging
from oslo_config import cfg

from manila_lite import errors

#: Seconds for which a broker has time to answer.
_PATIENCE = 5


def answers(conf: cfg.ConfigOpts) -> bool:
    """Say whether a broker of ``transport_url`` answers. True for all but RabbitMQ without TLS: others are not asked.

    :raises errors.BadConfig: one refuses the login, or the virtual host.
    """
    url = oslo_messaging.TransportURL.parse(conf)
    # With TLS the options for a connection are those of the driver.
    if not url.transport.endswith('rabbit') or conf.oslo_messaging_rabbit.ssl:
        return True
    replies = [_answers(host, url.virtual_host or '/') for host in url.hosts]       # each may refuse the login
    return any(replies)


def _answers(host: oslo_messaging.TransportHost, virtual_host: str) -> bool:
    port = host.port or 5672
    broker = kombu.Connection(hostname=host.hostname, port=port, userid=host.username or 'guest',
                              password=host.password or 'guest', virtual_host=virtual_host, transport='pyamqp',
                              connect_timeout=_PATIENCE)
    where = f'transport_url: the broker on {host.hostname}:{port}'
    try:
        with broker:
            broker.connect()
    except amqp.exceptions.AccessRefused:
        raise errors.BadConfig(f'{where} refuses the login of user {host.username!r}: wrong name or password') from None
    except amqp.exceptions.NotAllowed:
        raise errors.BadConfig(f'{where} refuses user {host.username!r} the virtual host {virtual_host!r}, or '
                               'has none of that name') from None
    except (OSError, amqp.exceptions.AMQPError):
        return False
    return True
