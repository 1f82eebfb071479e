# SPDX-License-Identifier: Apache-2.0
"""Options that the API of every sibling has, in its own group."""

from oslo_config import cfg

from manila_lite.conf import numeric
from manila_lite.conf.api import CONNECTIONS


def http(port: int) -> list[cfg.Opt]:
    """Return the options of an API whose default port is ``port``."""
    return [
        cfg.IPOpt(
            'listen',
            default='127.0.0.1',
            help='Address on which the built-in server listens. By default only this machine can reach it.',
        ),
        cfg.PortOpt('listen_port', default=port, help='Port on which the built-in server listens.'),
        cfg.StrOpt(
            'base_url',
            help='Base URL of links and versions. Set it where a proxy in front does not send X-Forwarded headers.',
        ),
        numeric.Int('api_workers', default=1, min=1, max=numeric.THREADS, help='Number of API processes.'),
        numeric.Int(
            'threads',
            default=8,
            min=1,
            max=numeric.THREADS,
            help='Number of threads that answer requests in one API process.',
        ),
        numeric.Int(
            'max_request_body_size', default=16384, min=1024, help='Maximum size of a request body in bytes.'
        ),
        *CONNECTIONS,
    ]
