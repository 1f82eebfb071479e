# SPDX-License-Identifier: Apache-2.0
"""A share server moves although no driver migrates it: the host of the destination copies its shares to a new server.

The files of the dummy's shares are in directories of the test, one for each share server, which the host mounts in place of
their exports. For real exports see ``linux/test_host_assisted_servers.py``.
"""

import contextlib
import datetime
import threading
import unittest

import sqlalchemy as sa

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.queries import (
    allocations,
    migration_promises,
    operations,
    share_server_migration,
    share_server_queries,
)
from manila_lite.drivers.dummy.driver import DummyDriver
from manila_lite.host_copy import share_moves
from manila_lite.manager.plans import host_copy, share_backups
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.migrations import test_host_assisted, test_share_server_migration

_BACKEND = test_share_server_migration.BACKEND.format('here')
READY, COPYING = test_host_assisted.READY, test_host_assisted.COPYING
_ME, _CLIENT = '192.0.2.33', '10.1.0.0/20'
_FORCED = {'force_host_assisted_migration': True, 'writable': False}
CANNOT = 'share_server_migration_check_compatibility:fail_final'


class CopiedServers(test_share_server_migration.MigrationTest):
    """From ``alpha`` to ``beta``, or to ``live``, which keeps shares writable."""

    BACKENDS = {'alpha': _BACKEND, 'beta': _BACKEND, 'live': _BACKEND + 'migration_keep_writable = true\n'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := test_host_assisted.missing():
            raise unittest.SkipTest(f'a copy by the host needs {lacks}')
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'mountable',
                    'extra_specs': {
                        'driver_handles_share_servers': 'True',
                        'snapshot_support': 'True',
                        'mount_snapshot_support': 'True',
                    },
                }
            },
        )
        cls.place = cls.service.state / 'served'

    def setUp(self):
        super().setUp()
        self.set('data_node_access_ips', [_ME])
        # A source is waited for no longer than a lease: on the slowest machine it begins before that.
        self.set('lease', waiting.LIMIT, 'operations')

    def set(self, name, value, group=None):
        conf = self.service.services.conf
        conf.set_override(name, value, group)
        self.addCleanup(conf.clear_override, name, group)

    def reach(self, *servers):
        """Have the host mount directories of the test in place of the exports of these share servers."""
        for server in servers:
            (self.place / server).mkdir(parents=True, exist_ok=True)
        self.set(
            'data_node_local_exports',
            [
                f'{address}:/shares={self.place / server}'
                for server in servers
                for address in self.addresses(server)
            ],
        )

    def addresses(self, server_id):
        with self.service.services.db.reader() as conn:
            return sorted(row.ip_address for row in allocations.of_server(conn, server_id))

    def folder(self, server_id, share):
        """Return the directory of the share's files on the share server."""
        return self.place / server_id / self.instance(share)

    def made(self, count=2, kind='served', **files):
        """Return a server, and its shares with an access rule and these files."""
        server, shares = self.make_shares(count, kind)
        self.reach(server['id'])
        for share in shares:
            self.grant(share)
            folder = self.folder(server['id'], share)
            folder.mkdir()
            for name, text in files.items():
                (folder / name).write_text(text)
        return server, shares

    def grant(self, share, to=_CLIENT):
        rule = self.admin.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': to})[1][
            'access'
        ]['id']
        self.rules_are_active(share)
        return rule

    def rules_are_active(self, share, status='active'):
        self.admin.wait(f'/shares/{share["id"]}', 'share', status, field='access_rules_status')

    def begin(self, server, shares, backend='beta', *knobs, go_on=True, mounts=True, **more):
        """Start the migration. Return the id of the target, whose shares can be mounted, unless told otherwise."""
        self.service.knob(backend, 'create_share:hang', *knobs)
        self.assertEqual((202, None), self.start(server, f'test@{backend}', **{**_FORCED, **more}))
        target = self.act(server, 'migration_get_progress')[1]['destination_share_server_id']
        base.eventually(lambda: self.store(backend).servers.get(target), 'the target is not set up')
        self.reach(server['id'], target)
        for share in shares if mounts else ():
            self.folder(target, share).mkdir()
        if go_on:
            self.service.knob(backend, *knobs)
        return target

    def complete(self, server):
        self.assertEqual(200, self.act(server, 'migration_complete')[0])

    def rules(self, backend, share):
        store = self.store(backend)
        with store.locked():
            record = store.shares.get(self.instance(share))
            return None if record is None else sorted((to, level) for _, to, level in record.rules.values())

    def until_rules(self, backend, share, *rules):
        base.eventually(lambda: self.rules(backend, share) == sorted(rules), f'{rules} are not in force')

    def messages(self, resource):
        found = self.admin.ok('GET', f'/messages?resource_id={resource["id"]}')['messages']
        return ' '.join(row['user_message'] for row in found)

    def has_moved(self, server, shares, target, backend='beta'):
        """Check that the shares are on the target, and that nothing of them or of the migration is elsewhere."""
        for share in shares:
            found = self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.assertEqual((f'test@{backend}#pool1', target), (found['host'], found['share_server_id']))
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.at_rest()
        self.assertEqual(([], []), (self.mine('alpha', shares), self.addresses(server['id'])))
        self.assertIsNone(self.store('alpha').servers.get(server['id']))
        self.nothing_is_mounted(backend)

    def has_stayed(self, server, shares, state, backend='beta'):
        """Check that all is as it was, with the rule of ``made``, and that the destination has nothing."""
        self.task_is(server, state)
        self.is_as_before(server, shares)
        self.assertEqual([], self.mine(backend, shares))
        for share in shares:
            self.until_rules('alpha', share, (_CLIENT, 'rw'))
            self.rules_are_active(share)
        known = {row['id'] for row in self.admin.ok('GET', '/share-servers')['share_servers']}
        self.assertEqual(set(), {record.id for record in self.store(backend).servers.all()} - known)
        self.nothing_is_mounted(backend)
        with self.service.services.db.reader() as conn:
            owners = (
                conn.execute(sa.select(models.network_allocations.c.share_server_id).distinct())
                .scalars()
                .all()
            )
            self.assertEqual(
                [], [owner for owner in owners if not share_server_queries.list_by_ids(conn, (owner,))]
            )

    def clear_away(self, server, shares):
        """Delete the shares, and their server."""
        for share in shares:
            self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.admin.ok('DELETE', f'/share-servers/{server["id"]}')

    def nothing_is_mounted(self, backend='beta'):
        self.assertEqual([], list((self.service.state / backend / 'moves').glob('*')))


class Moved(CopiedServers):
    def test_server_moves_with_all_shares_and_keeps_its_addresses(self):
        server, shares = self.made(f='hello')
        old, own = self.paths(shares[0]), self.addresses(server['id'])
        target = self.begin(server, shares, go_on=False)
        for share in shares:
            # The host is admitted to the first one shortly after.
            base.eventually(
                lambda share=share: (_CLIENT, 'ro') in self.rules('alpha', share), 'it stays writable'
            )
        self.service.knob('beta', '')
        self.task_is(server, READY)
        for share in shares:
            self.assertEqual([(_CLIENT, 'ro'), (_ME, 'ro')], self.rules('alpha', share))
            self.assertEqual([(_ME, 'rw')], self.rules('beta', share))
            [rule] = self.admin.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']
            self.assertEqual(('rw', 'active'), (rule['access_level'], rule['state']))
        told = self.act(server, 'migration_get_progress')[1]
        self.assertEqual(
            (100, 1, 1, target),
            (told['total_progress'], told['phase'], told['passes'], told['destination_share_server_id']),
        )
        self.nothing_is_mounted()
        self.complete(server)
        self.has_moved(server, shares, target)
        for share in shares:
            self.assertEqual('hello', (self.folder(target, share) / 'f').read_text())
            self.until_rules('beta', share, (_CLIENT, 'rw'))
        self.assertEqual((own, old), (self.addresses(target), self.paths(shares[0])))
        self.assertEqual([own], list(self.store('beta').servers.get(target).addresses.values()))
        self.assertEqual(100, self.act({'id': target}, 'migration_get_progress')[1]['total_progress'])
        # The shares can leave again, and the server be deleted.
        self.clear_away({'id': target}, shares)

    def test_server_moves_into_another_network(self):
        server, shares = self.made(1, f='hello')
        network = self.make_network('other')
        target = self.begin(server, shares, new_share_network_id=network)
        self.task_is(server, READY)
        self.complete(server)
        self.has_moved(server, shares, target)
        self.assertTrue(self.paths(shares[0])[0].startswith('10.2.'), self.paths(shares[0]))

    def test_nothing_changes_for_requests_of_manila(self):
        server, shares = self.made(1)
        self.service.knob('beta', CANNOT)
        status, document = self.start(server)
        self.assertEqual(409, status, document)
        wanted = {'host': 'test@beta', 'writable': False, 'nondisruptive': False, 'preserve_snapshots': True}
        _, told = self.act(server, 'migration_check', wanted)
        self.assertFalse(told['compatible'])
        self.assertNotIn('force_host_assisted_migration', told['requested_capabilities'])
        self.assertEqual(['active'], [row['status'] for row in self.servers()])
        # A driver that can migrate does so, unless it is told otherwise.
        self.service.knob('beta', '')
        self.start(server, force_host_assisted_migration=False)
        self.task_is(server, 'migration_driver_phase1_done')
        self.act(server, 'migration_cancel')
        self.is_as_before(server, shares)

    def test_check_tells_what_a_copy_by_the_host_can(self):
        server, _ = self.made(1)
        for backend, writable in (('beta', False), ('live', True)):
            wanted = {
                'host': f'test@{backend}',
                'writable': False,
                'nondisruptive': False,
                'preserve_snapshots': True,
                'force_host_assisted_migration': True,
            }
            _, told = self.act(server, 'migration_check', wanted)
            self.assertTrue(told['compatible'], told)
            can = told['supported_capabilities']
            self.assertEqual(
                (writable, False, True, True),
                tuple(
                    can[name]
                    for name in ('writable', 'nondisruptive', 'preserve_snapshots', 'migration_cancel')
                ),
            )
            _, told = self.act(server, 'migration_check', {**wanted, 'nondisruptive': True})
            self.assertEqual(
                (False, f'test@{backend} does not support: nondisruptive.'),
                (told['compatible'], told['reason']),
            )

    def test_requests_that_no_host_can_fulfil_are_refused(self):
        server, shares = self.made(1)
        status, document = self.start(server, **_FORCED, nondisruptive=True)
        self.assertEqual(
            (400, True),
            (status, 'force_host_assisted_migration: cannot be combined with nondisruptive' in str(document)),
            document,
        )
        for bad in ('maybe', 7, {}, ['true']):
            status, document = self.start(server, force_host_assisted_migration=bad)
            self.assertEqual(
                (400, True), (status, 'force_host_assisted_migration' in str(document)), document
            )
        network = self.make_network('other')
        status, document = self.start(server, 'test@alpha', **_FORCED, new_share_network_id=network)
        self.assertEqual(
            (409, True), (status, 'no share server within one backend' in str(document)), document
        )
        self.set('data_node_access_admin_user', None)
        cifs = self.admin.share(
            share_type='served',
            share_proto='CIFS',
            share_network_id=self.network,
            scheduler_hints={'only_host': 'test@alpha#pool1'},
        )
        status, document = self.start(server, **_FORCED)
        self.assertEqual(
            (409, True),
            (
                status,
                f'Share {cifs["id"]}: The host that copies has no user for CIFS shares' in str(document),
            ),
            document,
        )
        self.admin.ok('DELETE', f'/shares/{cifs["id"]}')
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[0]['id']}})[
            'snapshot'
        ]['id']
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        status, document = self.start(server, **_FORCED)
        self.assertEqual(
            (409, True),
            (status, f'Share {shares[0]["id"]}: The host cannot mount the snapshots' in str(document)),
            document,
        )
        self.is_as_before(server, shares)

    def test_others_may_not_move_it(self):
        server, _ = self.made(1)
        body = {
            'migration_start': {
                'host': 'test@beta',
                'writable': False,
                'nondisruptive': False,
                'preserve_snapshots': True,
                'force_host_assisted_migration': True,
            }
        }
        for caller, expected in ((self.caller('p'), 403), (self.caller('q'), 403)):
            self.assertEqual(expected, caller.call('POST', f'/share-servers/{server["id"]}/action', body)[0])
        self.assertEqual(404, self.admin.call('POST', '/share-servers/no-such-server/action', body)[0])

    def test_snapshots_are_taken_again_oldest_first(self):
        server, shares = self.made(kind='mountable', f='now')
        ids = {}
        for share in shares:
            for text in ('first', 'second'):
                one = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})[
                    'snapshot'
                ]['id']
                self.admin.wait(f'/snapshots/{one}', 'snapshot', 'available')
                ids[one] = share, text
                (self.folder(server['id'], share).parent / one).mkdir()
                (self.folder(server['id'], share).parent / one / 'f').write_text(text)
        self.at_rest()
        taken, create = [], type(self.service.managers['beta'].driver).create_snapshot

        def create_snapshot(driver, snapshot):
            if driver.backend.name == 'beta':
                taken.append((snapshot.id, (self.folder(target, ids[snapshot.id][0]) / 'f').read_text()))
            return create(driver, snapshot)

        self.patch(type(self.service.managers['beta'].driver), 'create_snapshot', create_snapshot)
        for act in ('migration_cancel', 'migration_complete'):
            taken.clear()
            target = self.begin(server, shares)
            self.task_is(server, READY)
            self.assertEqual({one: text for one, (_, text) in ids.items()}, dict(taken))
            for share in shares:
                self.assertEqual(
                    ['first', 'second'], [ids[one][1] for one, _ in taken if ids[one][0] == share]
                )
                self.assertEqual('now', (self.folder(target, share) / 'f').read_text())
            self.assertEqual([[(_ME, 'ro')]] * 4, [self.rules_of_snapshot('alpha', one) for one in ids])
            self.act(server, act)
            if act == 'migration_cancel':
                self.has_stayed(server, shares, 'migration_cancelled')
                self.assertEqual([[]] * 4, [self.rules_of_snapshot('alpha', one) for one in ids])
                self.assertEqual([None] * 4, [self.store('beta').snapshots.get(one) for one in ids])
        self.has_moved(server, shares, target)
        for one in ids:
            self.assertEqual('available', self.admin.ok('GET', f'/snapshots/{one}')['snapshot']['status'])
            self.assertEqual([], self.rules_of_snapshot('beta', one))
            self.assertIsNone(self.store('alpha').snapshots.get(one))
            self.admin.ok('DELETE', f'/snapshots/{one}')

    def rules_of_snapshot(self, backend, snapshot):
        store = self.store(backend)
        with store.locked():
            return sorted((to, level) for _, to, level in store.snapshots.get(snapshot).rules.values())

    def test_writable_source_is_made_readonly_for_the_last_round_only(self):
        server, shares = self.made(f='first')
        target = self.begin(server, shares, 'live')
        self.task_is(server, READY)
        for share in shares:
            self.assertEqual([(_CLIENT, 'rw'), (_ME, 'ro')], self.rules('alpha', share))
            (self.folder(server['id'], share) / 'f').write_text('last of all')
            (self.folder(server['id'], share) / 'more').write_text('more')
        self.complete(server)
        self.has_moved(server, shares, target, 'live')
        for share in shares:
            self.assertEqual(
                {'f': 'last of all', 'more': 'more'},
                {path.name: path.read_text() for path in self.folder(target, share).iterdir()},
            )

    def test_acknowledged_writes_of_clients_survive(self):
        server, shares = self.made()
        writers = [Writer(self, server['id'], share) for share in shares]
        target = self.begin(server, shares, 'live')
        self.task_is(server, READY)
        for writer in writers:
            writer.until_more(20)
        self.complete(server)
        self.has_moved(server, shares, target, 'live')
        for writer, share in zip(writers, shares, strict=True):
            writer.end()
            there = {path.name: path.read_text() for path in self.folder(target, share).iterdir()}
            self.assertGreater(len(writer.acknowledged), 20)
            self.assertEqual(
                {}, {name: there.get(name) for name in writer.acknowledged if there.get(name) != name}
            )

    def test_rules_that_change_meanwhile_are_those_of_the_target(self):
        server, shares = self.made(1)
        [share] = shares
        early, late = self.grant(share, '10.1.0.7'), self.grant(share, '10.1.0.8')
        target = self.begin(server, shares, 'live', go_on=False)
        self.admin.action(share['id'], 'deny_access', {'access_id': early})
        self.until_rules('alpha', share, (_CLIENT, 'rw'), ('10.1.0.8', 'rw'), (_ME, 'ro'))
        self.service.knob('live', '')
        self.task_is(server, READY)
        serve = host_copy.serve

        def denied_just_then(copy):
            serve(copy)
            self.admin.action(share['id'], 'deny_access', {'access_id': late})

        self.patch(host_copy, 'serve', denied_just_then)
        self.complete(server)
        self.has_moved(server, shares, target, 'live')
        self.until_rules('live', share, (_CLIENT, 'rw'))
        self.assertEqual(
            {_CLIENT},
            {
                rule['access_to']
                for rule in self.admin.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']
            },
        )

    def test_target_that_a_reboot_stopped_is_started_again(self):
        server, shares = self.made(1, f='hello')
        target = self.begin(server, shares)
        self.task_is(server, READY)
        store = self.store('beta')
        with store.locked():
            record = store.servers.get(target)
            record.running = False
            store.servers.put(record)
        self.complete(server)
        self.has_moved(server, shares, target)
        self.assertTrue(store.servers.get(target).running)


class Writer:
    """A client that writes files to a share, one after another, as long as the backend's rules allow it."""

    def __init__(self, test, server_id, share):
        self.acknowledged = []
        self._folder, self._ended = test.folder(server_id, share), threading.Event()
        self._test, self._share = test, share
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()
        test.addCleanup(self.end)

    def _write(self):
        store, instance, number = self._test.store('alpha'), self._test.instance(self._share), 0
        while not self._ended.is_set():
            number += 1
            # A rule that is read-only is in force once the driver has returned: it holds the lock meanwhile.
            with store.locked(), contextlib.suppress(OSError):
                record = store.shares.get(instance)
                if record is None or [_CLIENT, 'rw'] not in [rule[1:] for rule in record.rules.values()]:
                    continue
                (self._folder / f'w{number}').write_text(f'w{number}')
                self.acknowledged.append(f'w{number}')
            self._ended.wait(0.02)

    def until_more(self, count):
        """Wait until so many more files are written."""
        goal = len(self.acknowledged) + count
        base.eventually(lambda: len(self.acknowledged) >= goal, 'nothing is written')

    def end(self):
        """Stop writing."""
        self._ended.set()
        self._thread.join(waiting.LIMIT)


class Evacuated(CopiedServers):
    """Backends of their own, since everything leaves ``alpha``."""

    def test_evacuation_by_host_takes_share_servers_along(self):
        server, shares = self.made(f='hello')
        self.service.knob('beta', CANNOT, 'create_share:hang')
        self.service.knob('live', CANNOT)
        self.addCleanup(
            self.admin.ok, 'PUT', '/services/enable', {'host': 'test@alpha', 'binary': 'manila-share'}
        )
        body = {'host': 'test@alpha', 'destinations': ['test@beta']}
        for by_host in (False, True):
            plan = self.ended(self.evacuate(**body, dry_run=True, by_host=by_host))['report']['plan']
            self.assertEqual(
                [('mount again', 'test@beta')] if by_host else [],
                [(row['clients'], row['to']) for row in plan.values()],
                by_host,
            )
        run = self.evacuate(**body, by_host=True)
        self.task_is(server, COPYING)
        target = self.act(server, 'migration_get_progress')[1]['destination_share_server_id']
        self.reach(server['id'], target)
        for share in shares:
            self.folder(target, share).mkdir()
        self.service.knob('beta', CANNOT)
        self.has_moved(server, shares, target)
        self.ended(run)

    def evacuate(self, **body):
        status, document, headers = self.admin.call('POST', '/services/evacuate', body)
        self.assertEqual(202, status, document)
        return headers['Operation-Id']

    def ended(self, operation_id):
        return self.admin.wait(f'/operations/{operation_id}', 'operation', 'done', field='state')


class SameAddresses(CopiedServers):
    """The target has addresses of its own, and gets those of the source at the cut-over."""

    def ready(self, backend='beta'):
        """Copy a server. Return it, its shares, their paths, and the target."""
        server, shares = self.made(f='hello')
        paths = [self.paths(share) for share in shares]
        target = self.begin(server, shares, backend)
        self.task_is(server, READY)
        return server, shares, paths, target

    def on(self, backend, server_id):
        """Return the addresses that the backend gives the server."""
        return sorted(
            address
            for texts in self.store(backend).servers.get(server_id).addresses.values()
            for address in texts
        )

    def failed(self, server, why):
        """Wait until the cut-over has failed, with both servers in error, and the operator told why."""
        self.task_is(server, 'migration_error')
        self.at_rest()
        self.assertEqual({'error'}, {row['status'] for row in self.servers()})
        self.assertIn(why, self.messages(server))

    def worked_on(self, server):
        """Return the operation that gives the source other addresses, once a worker has it."""
        with self.service.services.db.reader() as conn:
            found = operations.list_of_resource(conn, server['id'], share_server_migration.READDRESS)
        return next((op for op in found if op.owner), None)

    def rewrite(self, server, new):
        """Set the data of the server's migration to ``new`` of it."""
        op = self.untouched(server)
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.operations.update()
                .where(models.operations.c.id == op.id)
                .values(data=new(dict(op.data)))
            )

    def test_no_two_servers_have_an_address_at_the_same_time(self):
        server, shares, paths, target = self.ready()
        own, others = self.on('alpha', server['id']), self.on('beta', target)
        seen, ensure = [], DummyDriver.ensure_servers

        def ensure_servers(driver, servers):
            seen.append((driver.backend.name, self.on('alpha', server['id']), self.on('beta', target)))
            return ensure(driver, servers)

        self.patch(DummyDriver, 'ensure_servers', ensure_servers)
        self.complete(server)
        self.has_moved(server, shares, target)
        (first, *before), (second, between, unchanged) = seen
        self.assertEqual(('alpha', [own, others], 'beta', others), (first, before, second, unchanged))
        self.assertEqual((1, set()), (len(between), set(between) & {*own, *others}))
        self.assertEqual((own, own), (self.on('beta', target), self.addresses(target)))
        self.assertEqual(paths, [self.paths(share) for share in shares])

    def test_source_that_keeps_its_addresses_is_told_and_the_cut_over_can_be_repeated(self):
        server, shares, paths, target = self.ready()
        own = self.on('alpha', server['id'])
        self.service.knob('alpha', 'ensure_servers:fail_final')
        self.complete(server)
        self.failed(server, 'did not let go of its addresses. ensure_servers cannot be done')
        self.assertEqual(own, self.on('alpha', server['id']))
        self.assertNotEqual(own, self.on('beta', target))
        self.service.knob('alpha', '')
        self.complete(server)
        self.has_moved(server, shares, target)
        self.assertEqual((own, paths), (self.on('beta', target), [self.paths(share) for share in shares]))

    def test_source_that_does_not_begin_is_waited_for_no_longer_than_a_lease(self):
        server, shares, paths, target = self.ready()
        self.set('lease', 2, 'operations')
        self.rewrite(server, lambda data: data | {'from': 'test@gone'})
        self.complete(server)
        self.task_is(server, 'migration_error')
        self.assertIn('did not let go of its addresses for 2 seconds', self.messages(server))
        self.set('lease', waiting.LIMIT, 'operations')
        self.rewrite(server, lambda data: data | {'from': 'test@alpha'})
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.operations.update()
                .where(models.operations.c.host == 'test@gone')
                .values(host='test@alpha')
            )
        self.at_rest()
        self.complete(server)
        self.has_moved(server, shares, target)
        self.assertEqual(paths, [self.paths(share) for share in shares])

    def test_source_that_takes_long_is_waited_for(self):
        server, shares, paths, target = self.ready()
        self.service.knob('alpha', 'ensure_servers:hang')
        self.complete(server)
        op = waiting.until(lambda: self.worked_on(server), 'the source does not begin')
        with self.service.services.db.writer() as conn:  # it began several leases ago
            conn.execute(
                models.operations.update()
                .where(models.operations.c.id == op.id)
                .values(next_run_at=op.next_run_at - datetime.timedelta(seconds=5 * waiting.LIMIT))
            )
        seen = set()

        def looked():
            with self.service.services.db.reader() as conn:
                seen.add(share_server_migration.last(conn, server['id']).next_run_at)
            return len(seen) > 3

        base.eventually(looked, 'the destination does not look')
        self.assertEqual('', self.messages(server))
        self.service.knob('alpha', '')
        self.has_moved(server, shares, target)
        self.assertEqual(paths, [self.paths(share) for share in shares])

    def test_target_that_cannot_take_the_addresses_yet_takes_them_later(self):
        for knob in ('ensure_servers:fail@times=2', 'ensure_shares:fail@times=2'):
            server, shares, paths, target = self.ready()
            self.service.knob('beta', knob)
            self.complete(server)
            self.has_moved(server, shares, target)
            self.assertEqual(paths, [self.paths(share) for share in shares])
            self.service.knob('beta', '')
            self.clear_away({'id': target}, shares)

    def test_migration_that_the_release_before_began_keeps_its_addresses(self):
        server, shares, _, target = self.ready()
        others = self.addresses(target)
        self.rewrite(
            server, lambda data: {name: value for name, value in data.items() if name != 'takes_addresses'}
        )
        self.complete(server)
        self.has_moved(server, shares, target)
        self.assertEqual(others, self.addresses(target))

    def test_servers_with_different_numbers_of_addresses_keep_their_own(self):
        self.patch(self.service.managers['beta'].driver, 'ALLOCATIONS_PER_SUBNET', 2)
        server, shares = self.made(1)
        own, target = self.addresses(server['id']), self.begin(server, shares)
        self.task_is(server, READY)
        others = self.addresses(target)
        self.assertEqual(2, len(others))
        self.complete(server)
        self.has_moved(server, shares, target)
        self.assertEqual((others, set()), (self.addresses(target), set(others) & set(own)))


class Stayed(CopiedServers):
    """Migrations that do not end well."""

    def test_cancelled_migrations_leave_nothing(self):
        for act in ('migration_cancel', 'by force'):
            for moment in ('before', READY):
                server, shares = self.made(f='hello')
                self.begin(server, shares, go_on=moment == READY)
                if moment == READY:
                    self.task_is(server, READY)
                    self.until_rules('alpha', shares[0], (_CLIENT, 'ro'), (_ME, 'ro'))
                if act == 'by force':
                    self.assertEqual(
                        202, self.act(server, 'reset_task_state', {'task_state': 'migration_cancelled'})[0]
                    )
                else:
                    self.assertEqual(202, self.act(server, act)[0])
                self.service.knob('beta', '')
                self.has_stayed(server, shares, 'migration_cancelled')
                self.clear_away(server, shares)

    def test_forced_cancel_shuts_out_the_host_while_the_destination_is_down(self):
        server, shares = self.made(f='hello')
        self.begin(server, shares)
        self.task_is(server, READY)
        self.service.knob('beta', 'delete_share:hang')
        self.act(server, 'reset_task_state', {'task_state': 'migration_cancelled'})
        for share in shares:
            self.until_rules('alpha', share, (_CLIENT, 'rw'))
            self.assertEqual('available', self.admin.ok('GET', f'/shares/{share["id"]}')['share']['status'])
        status, document = self.start(server, **_FORCED)
        self.assertEqual(
            (409, True), (status, 'still has to delete the data of share' in str(document)), document
        )
        self.service.knob('beta', '')
        self.has_stayed(server, shares, 'migration_cancelled')

    def test_target_with_a_copy_that_could_not_be_removed_can_be_deleted(self):
        server, shares = self.made(f='hello')
        target = self.begin(server, shares)
        self.task_is(server, READY)
        self.service.knob('beta', 'delete_share:fail_final')
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'error')
        self.at_rest()
        self.assertEqual(2, len(self.mine('beta', shares)))
        # Ids of shares are the same on both sides: another move to the same backend would find the old copies.
        status, document = self.start(server, **_FORCED)
        self.assertEqual(
            (409, True), (status, 'still has to delete the data of share' in str(document)), document
        )
        self.service.knob('beta', '')
        self.admin.ok('DELETE', f'/share-servers/{target}')
        self.has_stayed(server, shares, 'migration_cancelled')
        self.begin(server, shares)
        self.task_is(server, READY)
        self.act(server, 'migration_cancel')
        self.has_stayed(server, shares, 'migration_cancelled')

    def test_destination_that_refuses_is_told(self):
        for method in ('update_access', 'create_share', 'setup_server'):
            server, shares = self.made(1, f='hello')
            self.service.knob('beta', f'{method}:fail_final')
            self.assertEqual((202, None), self.start(server, **_FORCED))
            self.has_stayed(server, shares, 'migration_error')
            self.assertIn(f'{method} cannot be done', self.messages(server))
            self.clear_away(server, shares)

    def test_destination_that_cannot_be_mounted_is_told(self):
        server, shares = self.made(1)
        self.begin(server, shares, mounts=False)
        self.task_is(server, 'migration_error')
        self.assertIn(f'Share {shares[0]["id"]}: ', self.messages(server))
        self.has_stayed(server, shares, 'migration_error')

    def test_source_that_does_not_admit_the_host_in_time_stays(self):
        self.set('data_access_wait_access_rules_timeout', 1)
        server, shares = self.made(1)
        self.service.knob('alpha', 'update_access:hang')
        self.begin(server, shares, 'live')
        self.task_is(server, 'migration_error')
        self.assertIn(f'did not admit the host that copies ({_ME}) within 1 seconds', self.messages(server))
        self.service.knob('alpha', '')
        self.has_stayed(server, shares, 'migration_error', 'live')

    def test_copy_that_differs_at_the_end_is_not_used(self):
        server, shares = self.made(f='hello')
        target = self.begin(server, shares)
        self.task_is(server, READY)
        compare = share_moves.ShareMoves.compare

        def spoilt(moves, *sides):
            (self.folder(target, shares[1]) / 'extra').write_text('by somebody else')
            return compare(moves, *sides)

        self.patch(host_copy, '_PARTS', (share_moves.ShareMoves.copy, spoilt))
        self.complete(server)
        self.task_is(server, 'migration_error')
        self.has_stayed(server, shares, 'migration_error')
        self.assertIn(
            f'Share {shares[1]["id"]}: After the last pass the copy differs from the share. Differing: extra.',
            self.messages(server),
        )

    def test_host_is_shut_out_although_the_source_refuses_for_long(self):
        server, shares = self.made(1)
        self.begin(server, shares, 'live')
        self.task_is(server, READY)
        self.service.knob('alpha', 'update_access:fail_final')
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')
        self.at_rest()
        self.assertEqual([(_CLIENT, 'rw'), (_ME, 'ro')], self.rules('alpha', shares[0]))
        self.service.knob('alpha', '')
        manager = self.service.managers['alpha']
        manager._work_if_may(share_backups.clean)
        self.has_stayed(server, shares, 'migration_cancelled', 'live')
        manager._work_if_may(share_backups.clean)
        self.assertEqual({}, manager.shut_out_tries)

    def test_source_is_writable_again_although_its_last_try_to_be_readonly_failed(self):
        server, shares = self.made(1)
        asked, go_on, told = threading.Event(), threading.Event(), []
        update = DummyDriver.update_access

        def update_access(driver, share, rules):
            if driver.backend.name == 'alpha' and not told:
                told.append([rule.level for rule in rules])
                asked.set()
                go_on.wait(waiting.LIMIT)
                update(driver, share, rules)
                raise errors.Final('The rules are in force, and the backend does not say so.')
            return update(driver, share, rules)

        self.patch(DummyDriver, 'update_access', update_access)
        self.assertEqual((202, None), self.start(server, **_FORCED))
        self.assertTrue(asked.wait(waiting.LIMIT))
        self.act(server, 'reset_task_state', {'task_state': 'migration_cancelled'})
        go_on.set()
        self.has_stayed(server, shares, 'migration_cancelled')
        self.assertEqual([['ro']], told)

    def test_shares_that_change_faster_than_they_are_copied_wait_for_the_operator(self):
        self.set('data_copy_short_pass', 0.0)
        self.set('data_copy_passes', 3)
        server, shares = self.made(f='hello')
        target = self.begin(server, shares, 'live')
        self.task_is(server, READY)
        self.assertEqual(3, self.act(server, 'migration_get_progress')[1]['passes'])
        self.assertIn('The last of 3 passes took', self.messages(server))
        self.complete(server)
        self.has_moved(server, shares, target, 'live')

    def test_owners_are_told_what_the_copies_will_lack(self):
        self.patch(share_moves.exports, 'losses', lambda place: ('NFSv4 ACLs',))
        server, shares = self.made()
        self.begin(server, shares)
        self.task_is(server, READY)
        for share in shares:
            self.assertIn('does not see NFSv4 ACLs', self.messages(share))
        self.act(server, 'migration_cancel')
        self.has_stayed(server, shares, 'migration_cancelled')

    def test_mounts_of_a_running_copy_are_kept_and_others_removed(self):
        server, shares = self.made(1, f='hello')
        moves = self.service.managers['beta'].moves
        self.begin(server, shares)
        self.task_is(server, READY)
        mine = self.instance(shares[0])
        for name in (mine, 'left-behind'):
            for place in moves.mount_points(name):
                place.mkdir(parents=True)
        self.service.managers['beta']._clean_moves()
        self.assertEqual(frozenset((mine,)), moves.left())
        self.act(server, 'migration_cancel')
        self.has_stayed(server, shares, 'migration_cancelled')

    def test_room_is_promised_while_the_host_copies(self):
        server, shares = self.made()
        self.begin(server, shares)
        self.task_is(server, READY)
        self.assertEqual({'test@beta#pool1': 2}, self.promised())
        self.act(server, 'migration_cancel')
        self.has_stayed(server, shares, 'migration_cancelled')
        self.assertEqual({}, self.promised())

    def promised(self):
        with self.service.services.db.reader() as conn:
            return migration_promises.list_all(conn)
