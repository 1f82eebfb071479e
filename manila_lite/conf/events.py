# SPDX-License-Identifier: Apache-2.0
"""Options of events: how many clients may listen, for how long, and how far behind."""

from manila_lite.conf import numeric

OPTIONS = {
    'events': [
        numeric.Int(
            'max_listeners',
            default=500,
            min=0,
            mutable=True,
            help='Maximum number of clients that listen to events (GET /v2/events) at one API process. Others get '
            '503. It is never more than half of [api] max_connections. 0: nobody can listen.',
        ),
        numeric.Int(
            'max_listeners_per_project',
            default=100,
            min=1,
            mutable=True,
            help='Maximum number of clients of one project that listen to events at one API process, so that one '
            'project cannot take all places. Raise it for a cloud with one project.',
        ),
        numeric.Float(
            'listener_time',
            default=300.0,
            min=1.0,
            max=86400.0,
            mutable=True,
            help='Seconds after which a client that listens to events must come back, with its token: it goes '
            'on where it '
            'was. So long may it listen after its token was revoked or has expired, or its role was taken away.',
        ),
        numeric.Int(
            'listener_buffer',
            default=1 << 20,
            min=1 << 16,
            mutable=True,
            help='Maximum number of bytes that wait for one client which listens to events and does not read. A slower '
            'client loses its connection, and may come back. Raise it for many changes and slow connections.',
        ),
    ]
}
