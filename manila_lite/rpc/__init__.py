# SPDX-License-Identifier: Apache-2.0
"""The message bus: the only package that uses oslo.messaging.

Messages are wake-ups and nothing else: work that must not be lost is a row of the database.

Versions of ``operations.wake``. A process understands every minor version of its major version: a minor version only
adds arguments with defaults, and unknown arguments are ignored. ``[upgrade_levels] operations`` pins the version that
is sent.

* 1.0: ``operation_ids``, the operations to look at; an empty list means all. Nothing else is sent.
* 1.1: adds ``lanes``, the lanes in which the operations wait, so that a wake-up for an access rule does not look for
  work of other kinds; an empty list means all.
"""

from oslo_service import backend

#: Name of a kind of service in our code -> topic on the bus, which has the name that operators know the service by. The
#: siblings add theirs.
TOPICS = {'scheduler': 'manila-scheduler', 'share': 'manila-share'}

# oslo.messaging imports oslo.service, which would choose eventlet if no backend was chosen before.
backend.register_backend_default_hook(lambda: backend.BackendType.THREADING)
