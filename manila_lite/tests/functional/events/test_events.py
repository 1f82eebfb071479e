# SPDX-License-Identifier: Apache-2.0
"""Events: who gets which. Above all, no project gets those of another."""

from oslo_utils import uuidutils

from manila_lite.api.server.server import ApiServer
from manila_lite.db import models
from manila_lite.db.queries import services as service_rows
from manila_lite.tests.functional import base, event_streams
from manila_lite.tests.functional.event_streams import status_of


class EventTest(base.ServiceTest):
    """A service behind the built-in server, and two projects that have nothing yet."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = ApiServer(cls.service.wsgi, '127.0.0.1', 0)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop, 5)

    def setUp(self):
        super().setUp()
        self.owner, self.other = (
            self.caller(uuidutils.generate_uuid()),
            self.caller(uuidutils.generate_uuid()),
        )

    def listen(self, caller, *, port=None, **more):
        """Return a stream of a caller, which is closed after the test."""
        stream = event_streams.Stream(port or self.server.port, caller.token, **more)
        self.addCleanup(stream.socket.close)
        return stream

    def events(self, caller, query='', **headers):
        """Ask for a document at the WSGI application; return the answer."""
        return caller.call('GET', f'/events{query}', headers={'Accept': 'application/json', **headers})


class Isolation(EventTest):
    """What belongs to a project is told to nobody else."""

    def test_another_project_hears_nothing_of_a_share_and_its_operations(self):
        streams = [self.listen(self.other).begun(), self.listen(self.other, query='?all_tenants=1').begun()]
        mine = self.listen(self.owner).begun()
        share = self.owner.share(name='secret')['id']
        self.owner.ok('DELETE', f'/shares/{share}')
        mine.until(status_of(share, 'deleted'), 'the owner hears nothing of the deletion')
        after = self.other.share()['id']
        for stream in streams:
            stream.until(status_of(after, 'available'), 'no event of its own')
            self.assertNotIn(share, str(stream.events))
            self.assertLessEqual(
                {data.get('project_id') for _, data in stream.events}, {self.project(self.other)}
            )

    def test_resuming_from_the_position_of_another_project_shows_nothing_of_it(self):
        mine = self.listen(self.owner).begun()
        begin = mine.position
        share = self.owner.share()['id']
        mine.until(status_of(share, 'available'), 'the owner hears nothing')
        for position in (begin, begin.replace(begin.split('-')[2], 'f' * 8)):
            stream = self.listen(self.other, position=position)
            after = self.other.share()['id']
            stream.until(status_of(after, 'available'), 'no event of its own')
            self.assertNotIn(share, str(stream.events))
            status, document, _ = self.events(self.other, f'?last_event_id={position}')
            self.assertEqual(200, status)
            self.assertNotIn(share, str(document))

    def test_a_public_share_is_told_to_its_own_project_only(self):
        stream = self.listen(self.other).begun()
        admin = base.Api(self.service.app, 'a', self.project(self.owner))
        share = admin.share(is_public=True)['id']
        after = self.other.share()['id']
        stream.until(status_of(after, 'available'), 'no event of its own')
        self.assertNotIn(share, str(stream.events))

    def test_an_administrator_hears_all_projects_only_if_asked_for(self):
        everybody, own = (
            self.listen(self.admin, query='?all_tenants=1').begun(),
            self.listen(self.admin).begun(),
        )
        share = self.owner.share()['id']
        everybody.until(status_of(share, 'available'), 'all projects hear nothing')
        operation = everybody.until(
            lambda event, data: event == 'operation' and data['state'] == 'done', 'no operation'
        )
        self.must_be_as_shown(self.admin, operation)
        after = self.admin.share()['id']
        own.until(status_of(after, 'available'), 'no event of its own')
        self.assertNotIn(share, str(own.events))

    def test_pools_and_services_are_for_those_who_may_list_them(self):
        mine, admin = self.listen(self.owner).begun(), self.listen(self.admin).begun()
        self.admin.ok(
            'PUT',
            '/services/disable',
            {'host': 'test@alpha', 'binary': 'manila-share', 'disabled_reason': 'why'},
        )
        try:
            service = admin.until(
                lambda event, data: event == 'service' and data['status'] == 'disabled', 'no service'
            )
        finally:
            self.admin.ok('PUT', '/services/enable', {'host': 'test@alpha', 'binary': 'manila-share'})
        self.service.scheduler_sees()
        shown = self.admin.ok('GET', '/services')['services']
        self.assertIn(service['id'], [one['id'] for one in shown])
        self.assertEqual(set(shown[0]), set(service))
        share = self.owner.share()['id']
        pool = admin.until(lambda event, data: event == 'pool', 'no pool')
        listed = self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools'][0]
        self.assertEqual({*listed, 'total_gb', 'free_gb'}, set(pool))
        mine.until(status_of(share, 'available'), 'no event of its own')
        self.assertEqual(set(), {event for event, _ in mine.events} & {'pool', 'service'})

    def test_a_project_does_not_see_hosts_in_operations(self):
        stream = self.listen(self.owner).begun()
        share = self.owner.share()['id']
        stream.until(status_of(share, 'available'), 'no event')
        operation = stream.until(
            lambda event, data: event == 'operation' and data['state'] == 'done', 'no operation'
        )
        self.must_be_as_shown(self.owner, operation)
        self.assertNotIn('host', operation)

    def must_be_as_shown(self, caller, operation):
        shown = caller.ok('GET', f'/operations/{operation["id"]}')['operation']
        self.assertEqual({**shown, 'links': None}, {**operation, 'links': None})
        self.assertEqual(
            [link['rel'] for link in shown['links']], [link['rel'] for link in operation['links']]
        )

    def project(self, caller):
        return caller.token.split(':')[1]


class Gone(EventTest):
    """What is deleted is told to its owner, whoever deleted it, and however."""

    def test_owner_hears_that_an_administrator_deleted_a_share_and_a_snapshot(self):
        share = self.owner.share()['id']
        snapshot = self.owner.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.owner.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        stream = self.listen(self.owner).begun()
        for path, gone in ((f'/snapshots/{snapshot}', snapshot), (f'/shares/{share}', share)):
            self.admin.ok('DELETE', path)
            data = stream.until(status_of(gone, 'deleted'), f'{path}: nothing')
            self.assertTrue(data['deleted'])
            self.assertEqual(self.owner.token.split(':')[1], data['project_id'])
        kinds = {data['kind'] for event, data in stream.events if event == 'operation'}
        self.assertLessEqual(
            kinds, {'snapshot.delete', 'share.delete'}, 'operations belong to the owner of the resource'
        )

    def test_share_network_that_needs_no_operation_to_go(self):
        network = self.owner.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        stream, other = self.listen(self.owner).begun(), self.listen(self.other).begun()
        self.owner.ok('DELETE', f'/share-networks/{network}')
        self.assertTrue(stream.until(status_of(network, 'deleted'), 'nothing')['deleted'])
        after = self.other.share()['id']
        other.until(status_of(after, 'available'), 'no event of its own')
        self.assertNotIn(network, str(other.events))

    def test_share_that_is_given_away_is_gone_for_the_one_and_there_for_the_other(self):
        share = self.owner.share()['id']
        transfer = self.owner.ok(
            'POST', '/share-transfers', {'transfer': {'share_id': share, 'name': 'gift'}}
        )['transfer']
        giver, taker = self.listen(self.owner).begun(), self.listen(self.other).begun()
        self.other.ok(
            'POST',
            f'/share-transfers/{transfer["id"]}/accept',
            {'accept': {'auth_key': transfer['auth_key']}},
        )
        self.assertTrue(giver.until(status_of(share, 'deleted'), 'the giver hears nothing')['deleted'])
        taker.until(status_of(share, 'available'), 'the taker hears nothing')
        self.assertNotIn(self.other.token.split(':')[1], str(giver.events))

    def test_service_that_is_removed_is_a_reset_for_administrators_only(self):
        with self.service.services.db.writer() as conn:
            service_rows.heartbeat(conn, 'old', 'manila-share', 'nova')
        admin, mine = self.listen(self.admin).begun(), self.listen(self.owner).begun()
        with self.service.services.db.writer() as conn:
            conn.execute(models.services.delete().where(models.services.c.host == 'old'))
        admin.until(lambda event, data: event == 'reset', 'no reset')
        share = self.owner.share()['id']
        mine.until(status_of(share, 'available'), 'no event of its own')
        self.assertNotIn('reset', [event for event, _ in mine.events])


class Requests(EventTest):
    """What a client may send, and what it gets."""

    def test_stream_has_the_headers_of_a_stream(self):
        for accept in ('text/event-stream', '*/*', 'text/event-stream, application/json;q=0.5', 'text/*'):
            stream = self.listen(self.owner, accept=accept)
            self.assertEqual(
                (200, 'text/event-stream', 'no-store', 'no'),
                (
                    stream.status,
                    stream.headers['content-type'],
                    stream.headers['cache-control'],
                    stream.headers['x-accel-buffering'],
                ),
                accept,
            )

    def test_json_at_once_and_after_a_while(self):
        status, document, headers = self.events(self.owner)
        self.assertEqual((200, [], 'no-store'), (status, document['events'], headers['Cache-Control']))
        share = self.owner.share()['id']
        seen, position = [], document['last_event_id']
        while share not in str(seen):
            document = self.events(self.owner, f'?wait=30&last_event_id={position}')[1]
            self.assertNotEqual([], document['events'], 'it waited for nothing')
            seen += document['events']
            position = document['last_event_id']
        self.assertEqual({'id', 'event', 'data'}, set(seen[0]))

    def test_json_of_the_built_in_server_leaves_the_connection_open(self):
        stream = self.listen(self.owner, accept='application/json', query='?wait=1')
        while not stream.is_over:
            stream.read()
        document = stream.document()
        self.assertEqual([], document['events'])
        stream.socket.sendall(
            f'GET /v2/shares HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Auth-Token: {self.owner.token}\r\n\r\n'.encode()
        )
        self.assertIn(b' 200 ', stream.socket.recv(1 << 16).partition(b'\r\n')[0])

    def test_header_wins_over_the_query(self):
        begin = self.events(self.owner)[1]['last_event_id']
        share = self.owner.share()['id']
        document = self.events(self.owner, '?wait=30&last_event_id=nonsense', **{'Last-Event-ID': begin})[1]
        self.assertNotIn('reset', [one['event'] for one in document['events']])
        self.assertIn(share, str(document))

    def test_what_is_refused(self):
        for query, headers, code, words in (
            ('?wait=31', {}, 400, 'wait'),
            ('?wait=x', {}, 400, 'wait'),
            ('?wait=-1', {}, 400, 'wait'),
            ('?project_id=p', {}, 400, 'project_id'),
            ('?all_tenants=perhaps', {}, 400, 'all_tenants'),
            ('', {'Accept': 'text/html'}, 406, 'Accept: events come as'),
        ):
            status, document, _ = self.events(self.owner, query, **headers)
            self.assertEqual(code, status, query)
            self.assertIn(words, next(iter(document.values()))['message'])

    def test_who_has_no_role_may_not_listen(self):
        stranger = self.caller(uuidutils.generate_uuid(), roles='none')
        self.assertEqual(403, self.events(stranger)[0])
        self.assertEqual(403, self.listen(stranger).status)

    def test_positions_that_are_none_are_a_reset(self):
        for position in (
            'x',
            '1-0-00000000-0-00000000',
            '1-ffffffffffff-00000000-0-00000000',
            '%0A%0Adata:%20x',
            '%C3%A9' * 50,
            '1-19ac0f2b1d1-5e0b31c4-1f-0000000g',
            '"' * 64,
        ):
            status, document, _ = self.events(self.owner, f'?last_event_id={position}')
            self.assertEqual(
                (200, ['reset']), (status, [one['event'] for one in document['events']]), position
            )
            self.assertEqual(
                [], self.events(self.owner, f'?last_event_id={document["last_event_id"]}')[1]['events']
            )
