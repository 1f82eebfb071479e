# SPDX-License-Identifier: Apache-2.0
"""The bus: the only room that knows oslo.messaging.

Messages are wake-ups and nothing else: what must not be lost is a row of the database.

Versions of ``operations.wake``. A process understands every minor version of its major one: a minor version only adds
arguments with defaults, and those that it does not know are overlooked. ``[upgrade_levels] operations`` pins what is sent.

* 1.0: ``operation_ids``, the operations to look at; none of them means all.
* 1.1: and ``lanes``, the lanes in which they wait: a grant of access looks for no work of other kinds; none means all.
"""

from oslo_service import backend

#: Name of a kind of service in our code -> topic on the bus, called like the services are by operators.
TOPICS = {'scheduler': 'manila-scheduler', 'share': 'manila-share', 'compute': 'mlite-compute', 'dataproc': 'mlite-dataproc'}

# oslo.messaging imports oslo.service, which would settle on eventlet if nobody has chosen before.
backend.init_backend(backend.BackendType.THREADING)
