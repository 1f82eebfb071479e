# SPDX-License-Identifier: Apache-2.0
"""The bus: the only room that knows oslo.messaging.

Messages are wake-ups and nothing else: what must not be lost is a row of the database.
"""

from oslo_service import backend

#: Name of a kind of service in our code -> topic on the bus, called like the services are by operators.
TOPICS = {'scheduler': 'manila-scheduler', 'share': 'manila-share'}

# oslo.messaging imports oslo.service, which would settle on eventlet if nobody has chosen before.
backend.init_backend(backend.BackendType.THREADING)
