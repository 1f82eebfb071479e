# SPDX-License-Identifier: Apache-2.0
"""Resource locks cannot be bypassed: each line of ``locks.yaml`` is tested at every version, by callers who must be refused."""

import concurrent.futures
import datetime
import itertools
import threading
from pathlib import Path

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite.api import versions
from manila_lite.db import models
from manila_lite.db.queries import shares as share_rows
from manila_lite.scheduler import expiry
from manila_lite.tests.factories import backups
from manila_lite.tests.functional import base, world
from manila_lite.tests.security import lock_table

_NETWORKS = """
networks:
- id: net
  network_type: vlan
  segmentation_id: 100
  subnets:
  - {id: four, cidr: 10.1.0.0/20, gateway: 10.1.0.1}
"""
_EXPERIMENTAL = {versions.EXPERIMENTAL_HEADER: 'true'}
_BY = {'user': 'member,reader', 'service': 'service', 'admin': 'admin,member,reader'}


def living(op, *, every=True):
    """Return the versions that have the call: all, or only both ends and the change of names of paths and actions."""
    alive = [version for version in range(versions.MIN, versions.MAX + 1) if op.lives(version)]
    edges = {alive[0], versions.PLAIN_NAMES - 1, versions.PLAIN_NAMES, alive[-1]}
    return [version for version in alive if every or version in edges]


class LockTest(base.ServiceTest):
    """A project ``p`` with two users, an administrator, and a service that places locks, as Nova does."""

    EXTRA = '[quota]\nshares = -1\ngigabytes = -1\n'

    def setUp(self):
        super().setUp()
        self.user, self.mate = self.caller(), self.caller(user='mate')
        self.nova, self.other = self.caller('services', 'nova', 'service'), self.caller('q', 'w')
        #: Locks that other tests left.
        self.before = set()
        self.before = self.locks()

    def rule(self, share, **more):
        status, document, _ = self.user.action(
            share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.5', **more}
        )
        self.assertEqual(200, status, document)
        return document['access']['id']

    def lock(self, caller, resource_id, kind='share', **more):
        """Lock a resource. Return the lock's id, or the refusal."""
        body = {'resource_lock': {'resource_id': resource_id, 'resource_type': kind, **more}}
        status, document, _ = caller.call('POST', '/resource-locks', body)
        return document['resource_lock']['id'] if status == 200 else (status, self.reason(document))

    @staticmethod
    def reason(document):
        [fault] = document.values()
        return fault['reason']

    def ask(self, caller, op, version, values, **more):
        """Make a call. Return the status and the reason of a refusal, or the status alone."""
        body = world.body(op, version, {**values, **more})
        status, document, _ = caller.call(
            op.method,
            op.path_at(version).format_map(values),
            body,
            headers=_EXPERIMENTAL,
            version=versions.show(version),
        )
        return (status, self.reason(document)) if status >= 400 else status

    def refused(self, callers, label, answer, values, *, every=True, **more):
        """Check that each of the callers is refused, at ``every`` version that has the call."""
        for op in (op for op in lock_table.CHANGING if lock_table.label(op) == label):
            for version, caller in itertools.product(living(op, every=every), callers):
                refusal = self.ask(caller, op, version, values, **more)
                self.assertEqual(tuple(answer), refusal, (label, versions.show(version), caller.token))

    def project(self, share):
        return self.admin.ok('GET', f'/shares/{share}')['share']['project_id']

    def locks(self, **filters):
        asked = ''.join(f'&{name}={value}' for name, value in filters.items())
        lock_ids = {
            row['id']
            for row in self.admin.ok('GET', f'/resource-locks?all_projects=true{asked}')['resource_locks']
        }
        return lock_ids - self.before


class First(LockTest):
    """Locks that every caller has to lift first."""

    def plain(self):
        """Return the ids of a share without snapshots or backups."""
        share = self.user.share()['id']
        [instance] = self.admin.ok('GET', f'/shares/{share}/instances')['share_instances']
        return {'share_id': share, 'share_instance_id': instance['id']}

    def snapped(self):
        """Return the ids of a share and its snapshot."""
        share = self.user.share()['id']
        snapshot = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.user.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        return {'share_id': share, 'snapshot_id': snapshot}

    def backed_up(self):
        """Return the ids of a share and its backup."""
        share = self.user.share()['id']
        with self.service.services.db.writer() as conn:
            [backup] = backups.of(conn, [share], 'b')
        return {'share_id': share, 'backup_id': backup}

    def asked(self):
        """Return, for each line, the ids of a share for which the call would succeed without a lock."""
        plain, snapped, backed_up = self.plain(), self.snapped(), self.backed_up()
        return {
            label: snapped if label.endswith('revert') else backed_up if 'backup' in label else plain
            for label in lock_table.FIRST
        }

    def test_destructive_calls_on_a_locked_share_are_refused(self):
        """A locked share stays as it is, for every owner of the lock and every caller."""
        for by, roles in _BY.items():
            asked = self.asked()
            shares = {values['share_id'] for values in asked.values()}
            placed = {self.lock(self.caller(roles=roles), share_id) for share_id in shares}
            for label, answer in lock_table.FIRST.items():
                callers = [self.admin, *([self.user] if self.owner_may(label) else [])]
                self.refused(callers, label, answer, asked[label], every=by == 'admin')
            for share_id in shares:
                self.assertEqual('available', self.user.ok('GET', f'/shares/{share_id}')['share']['status'])
            self.assertLessEqual(placed, self.locks())

    def owner_may(self, label):
        [policy] = {op.policy for op in lock_table.CHANGING if lock_table.label(op) == label}
        return self.service.context('p', 'u').can(policy)

    def test_share_with_rules_locked_by_others_cannot_be_deleted_or_reverted(self):
        """A lock of a rule that was there before is on the rule alone."""
        asked = self.asked()
        placed = {
            share: self.lock(self.nova, self.rule(share), 'access_rule')
            for share in {values['share_id'] for values in asked.values()}
        }
        for label, answer in lock_table.FIRST.items():
            if self.owner_may(label):
                self.refused([self.user], label, answer, asked[label], every=False)
        self.assertLessEqual(set(placed.values()), self.locks())
        share = self.user.share()['id']
        self.lock(self.user, self.rule(share), 'access_rule')
        self.assertEqual(
            202, self.user.call('DELETE', f'/shares/{share}')[0], 'whose own lock goes with the rule'
        )

    def test_share_in_the_recycle_bin_cannot_be_locked(self):
        """A share in the recycle bin can no longer be locked, nor can a rule of it."""
        share = self.user.share()['id']
        rule = self.rule(share)
        self.assertEqual(202, self.user.action(share, 'soft_delete')[0])
        for caller, resource_id, kind in itertools.product(
            (self.user, self.nova, self.admin), (share, rule), ('share', 'access_rule')
        ):
            if (resource_id == share) == (kind == 'share'):
                self.assertEqual((409, 'too_late_to_lock'), self.lock(caller, resource_id, kind))
        with self.service.services.db.writer() as conn:
            share_rows.update(
                conn, share, scheduled_to_be_deleted_at=timeutils.utcnow() - datetime.timedelta(seconds=1)
            )
        expiry.empty_bin(self.service.services)
        self.user.wait(f'/shares/{share}', 'share', 'gone')

    def test_deferred_deletion_counts_as_deletion(self):
        self.service.conf.set_override('is_deferred_deletion_enabled', True)
        self.addCleanup(self.service.conf.clear_override, 'is_deferred_deletion_enabled')
        self.addCleanup(self.service.knob, 'alpha', '')
        self.service.knob('alpha', 'delete_share:fail_final\n')
        share = self.user.share()['id']
        lock = self.lock(self.nova, share)
        self.assertEqual(403, self.user.call('DELETE', f'/shares/{share}')[0])
        self.nova.call('DELETE', f'/resource-locks/{lock}')
        self.assertEqual(202, self.user.call('DELETE', f'/shares/{share}')[0])
        self.admin.wait(f'/shares/{share}', 'share', 'error_deferred_deleting')
        self.assertEqual((409, 'too_late_to_lock'), self.lock(self.admin, share))


class Lift(LockTest):
    """Locks that some callers may lift, and others not."""

    def test_rule_locks_of_others_cannot_be_lifted(self):
        share = self.user.share()['id']
        rule = self.rule(share)
        placed = {self.lock(caller, rule, 'access_rule') for caller in (self.nova, self.mate, self.admin)}
        for label in ('POST /shares/{share_id}/action deny_access', 'PUT /share-access-rules/{access_id}'):
            for unrestrict in (False, True):
                self.refused(
                    [self.user],
                    label,
                    lock_table.LIFT[label],
                    {'share_id': share, 'access_id': rule},
                    unrestrict=unrestrict,
                )
        for lock in placed:
            for method in ('PUT', 'DELETE'):
                label = f'{method} /resource-locks/{{resource_lock_id}}'
                seen = self.user.call('GET', f'/resource-locks/{lock}')[0] == 200
                answer = lock_table.LIFT[label] if seen else (404, 'resource_lock_not_found')
                self.refused([self.user], label, answer, {'resource_lock_id': lock}, resource_action='show')
        self.assertEqual(placed, self.locks(resource_id=rule))
        self.assertEqual('rw', self.user.ok('GET', f'/share-access-rules/{rule}')['access']['access_level'])

    def test_transfer_of_a_share_locked_by_others_is_refused(self):
        """A share that others locked cannot be moved to another project of the caller, where others' locks would not be."""
        share = self.user.share()['id']
        rule = self.rule(share)
        label = 'POST /share-transfers'
        for who, resource_id, kind, action in itertools.product(
            (self.admin, self.nova, self.mate), (share, rule), ('share', 'access_rule'), ('delete', 'show')
        ):
            if (resource_id == share) != (kind == 'share') or (kind, action) == ('share', 'show'):
                continue
            lock = self.lock(who, resource_id, kind, resource_action=action)
            self.refused(
                [self.user], label, lock_table.LIFT[label], {'share_id': share}, every=who is self.mate
            )
            self.assertEqual({lock}, self.locks())
            self.assertEqual(204, who.call('DELETE', f'/resource-locks/{lock}')[0])
        self.assertEqual('available', self.user.ok('GET', f'/shares/{share}')['share']['status'])

    def offer(self, share, by=None):
        made = (by or self.user).ok('POST', '/share-transfers', {'transfer': {'share_id': share}})['transfer']
        return {'transfer_id': made['id'], 'auth_key': made['auth_key']}

    def test_lock_placed_after_the_offer_prevents_its_acceptance(self):
        label = 'POST /share-transfers/{transfer_id}/accept'
        for who, on_rule in itertools.product((self.user, self.mate, self.nova, self.admin), (False, True)):
            share = self.user.share()['id']
            rule = self.rule(share)
            given_up = self.lock(self.user, share)
            offered = self.offer(share)
            lock = self.lock(who, *((rule, 'access_rule') if on_rule else (share,)))
            for clear in (False, True):
                self.refused(
                    [self.other, self.admin],
                    label,
                    lock_table.LIFT[label],
                    offered,
                    clear_access_rules=clear,
                    auth_key=offered['auth_key'],
                    every=who is self.mate,
                )
            self.assertEqual('p', self.project(share))
            self.assertLessEqual({lock, given_up}, self.locks())
            self.assertEqual(204, who.call('DELETE', f'/resource-locks/{lock}')[0])
            self.assertEqual(202, self.accept(offered))
            self.assertEqual(('q', set()), (self.project(share), self.locks() & {given_up}))

    def accept(self, offered):
        body = {'accept': {'auth_key': offered['auth_key']}}
        return self.other.call('POST', f'/share-transfers/{offered["transfer_id"]}/accept', body)[0]

    def test_withdrawn_offer_lifts_no_locks(self):
        share = self.user.share()['id']
        lock = self.lock(self.user, share)
        offered = self.offer(share)
        self.user.ok('DELETE', f'/share-transfers/{offered["transfer_id"]}')
        self.assertEqual({lock}, self.locks(resource_id=share))
        self.assertEqual(403, self.user.call('DELETE', f'/shares/{share}')[0])
        # Nothing of an earlier transfer is left: locks that were given up for it are asked for anew.
        self.assertEqual(204, self.user.call('DELETE', f'/resource-locks/{lock}')[0])
        offered = self.offer(share)
        self.assertEqual(202, self.accept(offered))

    def test_accepted_transfer_removes_locks_of_the_former_project(self):
        """Neither a lock that the new project could not lift is left, nor a rule that it could not see or deny."""
        share = self.user.share()['id']
        rule = self.rule(share, lock_visibility=True, lock_deletion=True)
        self.lock(self.nova, rule, 'access_rule')
        self.assertEqual(202, self.accept(self.offer(share, by=self.admin)))
        self.assertEqual(set(), self.locks())
        self.assertEqual(
            '10.0.0.5', self.other.ok('GET', f'/share-access-rules/{rule}')['access']['access_to']
        )
        self.assertEqual(202, self.other.action(share, 'deny_access', {'access_id': rule})[0])
        self.other.wait(f'/share-access-rules/{rule}', 'access', 'gone', field='state')
        self.assertEqual(202, self.other.call('DELETE', f'/shares/{share}')[0])

    def test_concurrent_lock_and_transfer_exclude_each_other(self):
        """Either the lock is placed, and it and the share stay, or the transfer is made."""
        for _ in range(8):
            share = self.user.share()['id']
            start = threading.Barrier(4)

            def place(number, share=share, start=start):
                start.wait()
                return self.lock(self.caller(user=f'mate-{number}'), share)

            def give(share=share, start=start):
                start.wait()
                status, document, _ = self.user.call(
                    'POST', '/share-transfers', {'transfer': {'share_id': share}}
                )
                if status != 202:
                    return self.reason(document)
                made = document['transfer']
                return self.accept({'transfer_id': made['id'], 'auth_key': made['auth_key']})

            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                given = pool.submit(give)
                placed = {lock_id for lock_id in pool.map(place, range(3)) if isinstance(lock_id, str)}
            self.assertEqual('p' if placed else 'q', self.project(share), given.result())
            self.assertEqual(placed, self.locks(resource_id=share))


class Used(LockTest):
    """Calls that are refused because the share is in use."""

    BACKENDS = {'alpha': '', 'gamma': 'driver_handles_share_servers = true\n'}

    def setUp(self):
        super().setUp()
        path = Path(self.service.state / 'networks.yaml')
        path.write_text(_NETWORKS)
        self.service.conf.set_override('file', str(path), 'standalone_network')
        kind = self.admin.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'served', 'extra_specs': {'driver_handles_share_servers': 'True'}}},
        )['share_type']['id']
        network = self.user.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'net', 'neutron_subnet_id': 'four'}},
        )['share_network']['id']
        [subnet] = self.user.ok('GET', f'/share-networks/{network}')['share_network']['share_network_subnets']
        groups = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': 'grouped', 'share_types': ['default']}},
        )['share_group_type']['id']
        group = self.user.ok('POST', '/share-groups', {'share_group': {'share_group_type_id': groups}})[
            'share_group'
        ]['id']
        self.user.wait(f'/share-groups/{group}', 'share_group', 'available')
        served = self.user.share(share_type='served', share_network_id=network)['id']
        self.shares = {served, self.user.share(share_group_id=group)['id']}
        server = self.admin.ok('GET', f'/shares/{served}')['share']['share_server_id']
        self.values = {
            'share_group_id': group,
            'share_network_id': network,
            'share_network_subnet_id': subnet['id'],
            'share_server_id': server,
            'type_id': kind,
        }

    def test_deleting_resources_that_a_locked_share_uses_is_refused(self):
        placed = {self.lock(self.nova, share) for share in self.shares}
        for label, answer in lock_table.USED.items():
            self.refused([self.admin], label, answer, self.values, every=False)
        self.assertEqual(placed, self.locks())
        for share in self.shares:
            self.assertEqual('available', self.user.ok('GET', f'/shares/{share}')['share']['status'])


class Moves(LockTest):
    """A locked share is resized, backed up and moved to another backend, and is as locked as before."""

    _BACKEND = 'migration_driver_continue_update_interval = 0.1\n'
    BACKENDS = {'alpha': _BACKEND, 'beta': _BACKEND}

    def test_locks_survive_resize_backup_and_migration(self):
        share, caller = self.user.share()['id'], self.caller('p', 'nova', 'service')
        rule = self.rule(share)
        self.user.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        placed = {self.lock(caller, share), self.lock(caller, rule, 'access_rule')}
        for action, size in (('extend', 2), ('shrink', 1)):
            self.assertEqual(202, self.user.action(share, action, {'new_size': size})[0])
            self.user.wait(f'/shares/{share}', 'share', 'available')
        made = self.admin.ok(
            'POST', '/share-backups', {'share_backup': {'share_id': share}}, headers=_EXPERIMENTAL
        )
        base.eventually(
            lambda: (
                self.admin.ok('GET', f'/share-backups/{made["share_backup"]["id"]}', headers=_EXPERIMENTAL)[
                    'share_backup'
                ]['status']
                == 'available'
            ),
            'no backup is made',
        )
        host = self.admin.ok('GET', f'/shares/{share}')['share']['host']
        wanted = {
            'host': f'test@{"beta" if "@alpha" in host else "alpha"}',
            'writable': False,
            'nondisruptive': False,
            'preserve_snapshots': True,
            'preserve_metadata': True,
        }
        for action, body, then in (
            ('migration_start', wanted, 'migration_driver_phase1_done'),
            ('migration_complete', None, 'migration_success'),
        ):
            self.assertEqual(202, self.admin.action(share, action, body)[0])
            self.admin.wait(f'/shares/{share}', 'share', then, field='task_state')
        self.assertEqual(placed, self.locks())
        self.assertEqual(
            (403, 403),
            (
                self.user.call('DELETE', f'/shares/{share}')[0],
                self.user.action(share, 'deny_access', {'access_id': rule, 'unrestrict': True})[0],
            ),
        )


class Free(LockTest):
    """Calls that are not refused: all locked resources still exist afterwards, unchanged."""

    def setUp(self):
        super().setUp()
        self.world = world.make(self.service, self.admin, self.user)
        for share in self.listed('/shares/detail?all_tenants=1', 'shares'):
            if share['status'] == 'available':
                self.rule(share['id'])
                self.lock(self.nova, share['id'])
            for rule in self.listed(f'/share-access-rules?share_id={share["id"]}', 'access_list'):
                self.lock(self.nova, rule['id'], 'access_rule')
        self.before = self.locked()

    def listed(self, path, key):
        return self.admin.ok('GET', path)[key]

    def locked(self):
        """Return all locked resources, as locks protect them: the project of the share, and to whom it is exported."""
        lock, share, rule = models.resource_locks, models.shares, models.access_rules
        query = sa.select(
            lock.c.id,
            lock.c.resource_action,
            share.c.id,
            share.c.project_id,
            share.c.deletion_deferred,
            rule.c.id,
            rule.c.access_type,
            rule.c.access_to,
            rule.c.access_level,
        ).select_from(
            lock.join(share, share.c.id == lock.c.share_id).outerjoin(rule, rule.c.id == lock.c.access_id)
        )
        with self.service.services.db.reader() as conn:
            return {row[0]: tuple(row) for row in conn.execute(query)}

    def test_permitted_calls_leave_locked_resources_unchanged(self):
        self.assertLess(5, len(self.before))
        self.service.stop()  # operations stay as they began
        worked = set()
        for label, caller in itertools.product(lock_table.FREE, (self.user, self.admin)):
            op = [op for op in lock_table.CHANGING if lock_table.label(op) == label][-1]
            answer = self.ask(caller, op, living(op)[-1], self.world)
            if isinstance(answer, int):
                worked.add(label)
            self.assertLessEqual(self.before.items(), self.locked().items(), (label, caller.token, answer))
        self.service.start()
        base.eventually(lambda: not self.busy(), 'something is still under way')
        self.assertLessEqual(self.before.items(), self.locked().items())
        self.assertLess(len(lock_table.FREE) // 2, len(worked))

    def busy(self):
        return [one for one in self.listed('/operations', 'operations') if one['state'] == 'open']
