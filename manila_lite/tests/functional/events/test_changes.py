# SPDX-License-Identifier: Apache-2.0
"""No change is lost, whatever the order in which transactions commit, and however wrong the clocks of their hosts are."""

import datetime
import random
import threading
import time

from oslo_utils import timeutils, uuidutils

from manila_lite.api.events import changes
from manila_lite.db import models
from manila_lite.db.queries import operations
from manila_lite.tests import waiting
from manila_lite.tests.functional import base

#: Threads that write, transactions of each, and seconds by which clocks are wrong and transactions take long.
_WRITERS, _EACH, _WRONG, _LONG = 4, 25, 3.0, 0.2


class Concurrent(base.ServiceTest):
    """Writers that know nothing of each other, and one who looks."""

    PARTS = ()

    def write(self, seed, written):
        """Insert and change operations, with the times of a clock that is wrong."""
        chance, db = random.Random(seed), self.service.services.db
        shift = datetime.timedelta(seconds=chance.uniform(-_WRONG, _WRONG))
        ids = []
        for number in range(_EACH):
            with db.writer() as conn:
                if ids and chance.random() < 0.5:
                    row_id = chance.choice(ids)
                    conn.execute(
                        models.operations.update()
                        .where(models.operations.c.id == row_id)
                        .values(error=f'{seed} {number}', updated_at=timeutils.utcnow() + shift)
                    )
                else:
                    row_id = operations.insert(
                        conn,
                        kind='test',
                        resource_type='share',
                        topic='none',
                        lane='work',
                        data={},
                        resource_id=uuidutils.generate_uuid(),
                        error=f'{seed} {number}',
                        created_at=timeutils.utcnow() + shift,
                    )
                    ids.append(row_id)
                time.sleep(chance.uniform(0, _LONG))  # sleeps: a transaction that takes long
            written[row_id] = f'{seed} {number}'

    def test_last_state_of_every_row_is_found(self):
        look = changes.Changes(self.service.services.db)
        self.assertEqual([], look.read_new())
        written, found = {}, {}
        writers = [threading.Thread(target=self.write, args=(seed, written)) for seed in range(_WRITERS)]
        for writer in writers:
            writer.start()

        def all_found():
            for record in look.read_new():
                if record.event == 'operation':
                    found[record.payload.id] = record.payload.error
            return not any(writer.is_alive() for writer in writers) and written.items() <= found.items()

        waiting.until(all_found, lambda: f'lost: {written.items() - found.items()}', pause=0.1)
        self.assertEqual(
            [], [record for record in look.read_new() if record.event == 'operation'], 'found twice'
        )

    def test_look_back_finds_what_was_before_and_the_look_what_comes(self):
        db = self.service.services.db
        with db.writer() as conn:
            before = operations.insert(
                conn,
                kind='test',
                resource_type='share',
                resource_id='gone',
                topic='none',
                lane='work',
                data={operations.OWNER: 'owner'},
                project_id='other',
            )
            operations.call_off(conn, operations.get(conn, before), 'over', 'code')
        look = changes.Changes(db)
        look.read_new()
        records = look.read_since(look.time - datetime.timedelta(hours=1))
        self.assertIn(before, [record.payload.id for record in records if record.event == 'operation'])
        [deleted] = [
            record for record in records if record.event == 'status' and record.payload.resource_id == 'gone'
        ]
        self.assertEqual(('owner', 'deleted'), (deleted.project_id, deleted.payload.status))
        self.assertEqual([], look.read_new())
