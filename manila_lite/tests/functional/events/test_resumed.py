# SPDX-License-Identifier: Apache-2.0
"""Events after a lost connection: nothing is lost, in the same process or in another one, whatever was committed late."""

import datetime

from oslo_utils import timeutils

from manila_lite.api.events import changes, hub
from manila_lite.api.http import app
from manila_lite.api.server.server import ApiServer
from manila_lite.db import models
from manila_lite.tests.functional import base
from manila_lite.tests.functional.event_streams import status_of
from manila_lite.tests.functional.events import test_events


class Resumed(test_events.EventTest):
    """Clients that were away."""

    def another(self):
        """Return the port of another process of the API: as far as events are concerned, another application is one."""
        server = ApiServer(app.make(self.service.services), '127.0.0.1', 0)
        server.start()
        self.addCleanup(server.stop, 5)
        return server.port

    def missed(self):
        """Return the position before a share was made, one deleted, and one both."""
        deleted = self.owner.share()['id']
        stream = self.listen(self.owner).begun()
        position = stream.position
        stream.socket.close()
        made, both = self.owner.share()['id'], self.owner.share()['id']
        for share in (deleted, both):
            self.owner.ok('DELETE', f'/shares/{share}')
        return position, made, deleted, both

    def test_nothing_is_lost_in_the_same_process(self):
        position, made, deleted, both = self.missed()
        stream = self.listen(self.owner, position=position)
        self.hears_all(stream, made, deleted, both)
        self.assertNotIn('reset', [event for event, _ in stream.events])

    def test_nothing_is_lost_in_another_process(self):
        position, made, deleted, both = self.missed()
        stream = self.listen(self.owner, port=self.another(), position=position)
        self.hears_all(stream, made, deleted, both)
        self.assertNotIn('reset', [event for event, _ in stream.events])

    def hears_all(self, stream, made, deleted, both):
        stream.until(status_of(made, 'available'), 'the new share is lost')
        for share in (deleted, both):
            stream.until(status_of(share, 'deleted'), 'a deletion is lost')

    def test_position_after_a_part_of_what_was_missed_gives_the_rest(self):
        position, made, deleted, both = self.missed()
        stream = self.listen(self.owner, position=position)
        while not stream.events:
            stream.read()
        blocks = stream.raw.split(b'\n\n')
        [first] = [block for block in blocks if b'data: ' in block][:1]
        part = first.split(b'id: ')[1].split(b'\n')[0].decode()
        self.hears_all(self.listen(self.owner, position=part), made, deleted, both)

    def test_same_process_repeats_nothing(self):
        stream = self.listen(self.owner).begun()
        share = self.owner.share()['id']
        stream.until(status_of(share, 'available'), 'no event')
        stream.until(lambda event, data: event == 'operation' and data['state'] == 'done', 'no operation')
        base.eventually(lambda: not stream.read(2.5), 'it does not come to rest')
        document = self.events_at(self.server.port, stream.position)
        self.assertEqual([], document['events'])

    def events_at(self, port, position):
        stream = self.listen(self.owner, port=port, position=position, accept='application/json')
        while not stream.is_over:
            stream.read()
        return stream.document()

    def test_share_network_that_went_meanwhile_is_a_reset_in_another_process(self):
        network = self.owner.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        streams = {caller: self.listen(caller).begun() for caller in (self.owner, self.other)}
        for stream in streams.values():
            stream.socket.close()
        self.owner.ok('DELETE', f'/share-networks/{network}')
        port = self.another()
        mine = self.listen(self.owner, port=port, position=streams[self.owner].position)
        mine.until(lambda event, data: event == 'reset', 'no reset')
        other = self.listen(self.other, port=port, position=streams[self.other].position)
        share = self.other.share()['id']
        other.until(status_of(share, 'available'), 'no event of its own')
        self.assertNotIn('reset', [event for event, _ in other.events])

    def test_pools_and_services_are_told_by_another_process(self):
        stream = self.listen(self.admin).begun()
        stream.socket.close()
        stream = self.listen(self.admin, port=self.another(), position=stream.position)
        for kind in ('pool', 'service'):
            stream.until(lambda event, data, kind=kind: event == kind, f'no {kind}')

    def test_position_that_is_too_old_is_a_reset(self):
        stream = self.listen(self.owner).begun()
        form, time, _, look, census = stream.position.split('-')
        old = int(time, 16) - int(hub.KEPT * 1000)
        for where in (self.server.port, self.another()):
            document = self.events_at(where, '-'.join((form, f'{old:x}', 'f' * 8, look, census)))
            self.assertEqual(['reset'], [one['event'] for one in document['events']])


class Late(test_events.EventTest):
    """Rows that others see long after the time that they have."""

    def test_row_of_a_slow_transaction_or_a_slow_clock_is_not_lost(self):
        share = self.owner.share()['id']
        stream = self.listen(self.owner).begun()
        base.eventually(lambda: not stream.read(2.5), 'it does not come to rest')
        late = timeutils.utcnow() - datetime.timedelta(seconds=changes.LATE - changes.SWEEP)
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.shares.update().where(models.shares.c.id == share).values(name='late', updated_at=late)
            )
        seen = len(stream.events)
        base.eventually(
            lambda: (
                stream.read(0.5) and any(data.get('resource_id') == share for _, data in stream.events[seen:])
            ),
            'the late row is lost',
        )

    def test_row_of_a_clock_that_is_ahead_comes_at_once_and_only_once(self):
        share = self.owner.share()['id']
        stream = self.listen(self.owner).begun()
        ahead = timeutils.utcnow() + datetime.timedelta(seconds=20)
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.shares.update()
                .where(models.shares.c.id == share)
                .values(name='ahead', updated_at=ahead)
            )
        stream.until(status_of(share, 'available'), 'the row is lost')
        base.eventually(lambda: not stream.read(2.5), 'it does not come to rest')
        self.assertEqual(
            1, sum(data.get('resource_id') == share for event, data in stream.events if event == 'status')
        )
