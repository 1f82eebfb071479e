# SPDX-License-Identifier: Apache-2.0
"""An idle service sleeps: none of its loops runs without a pause."""

import threading
import time

import psutil

from manila_lite.tests.functional import base
from manila_lite.tests.functional.api.test_budgets import counting

#: Number of polls of the share manager during which threads are measured.
_LOOKS = 3
#: Share of that time that a thread may run. A loop without a pause uses a whole processor, or all that is left of it.
_PART = 0.1


class Idle(base.ServiceTest):
    def spent(self):
        """Return the processor seconds used so far by each thread but this one, by its native id."""
        return {
            thread.id: thread.user_time + thread.system_time
            for thread in psutil.Process().threads()
            if thread.id != threading.get_native_id()
        }

    def test_threads_use_little_processor_time_when_idle(self):
        self.admin.share()
        with counting(self.service.services.db.engine) as counter:
            before, since = self.spent(), time.monotonic()
            # As long as these looks take if there is a pause before each: without, they are over before any time is counted.
            pauses = since + _LOOKS * self.service.conf.operations.poll_interval
            base.eventually(
                lambda: (
                    time.monotonic() >= pauses
                    and sum(name == 'share-poll' for name, _ in counter.statements) >= _LOOKS
                ),
                'nobody looks',
            )
            most = (time.monotonic() - since) * _PART
            after = self.spent()
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        self.assertIn('alpha-report_when_wanted', names.values())
        self.assertEqual(
            {},
            {
                names.get(resource_id, resource_id): spent
                for resource_id, now in after.items()
                if (spent := now - before.get(resource_id, 0.0)) > most
            },
        )
