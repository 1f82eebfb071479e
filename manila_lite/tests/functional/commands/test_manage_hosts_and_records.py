# SPDX-License-Identifier: Apache-2.0
"""``manila-manage`` on services and on records of shares, beside a running service."""

import datetime

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite import release
from manila_lite.db import models
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import share_types
from manila_lite.tests.factories import backups, groups, replicas
from manila_lite.tests.factories import shares as share_rows
from manila_lite.tests.functional import base, manage

_LONG_AGO = datetime.datetime.fromisoformat('2020-01-01')


class RecordsTest(manage.ManageTest):
    """Base class with hosts and backends that exist, and others that do not."""

    def backend(self, host, heartbeat=_LONG_AGO, pools=('p',)):
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.services.insert().values(
                    host=host,
                    binary='manila-share',
                    topic='manila-share',
                    heartbeat_at=heartbeat,
                    created_at=_LONG_AGO,
                )
            )
            for pool in pools:
                conn.execute(
                    models.pools.insert().values(
                        host=f'{host}#{pool}',
                        backend_host=host,
                        total_gb=1,
                        free_gb=1,
                        capabilities={},
                        reported_at=timeutils.utcnow(),
                    )
                )

    def refused(self, *words):
        """Check that the command is refused with one line on standard error; return the line."""
        out, said = self.manage(*words, status=1)
        self.assertEqual('', out)
        self.assertEqual(1, len(said.strip().splitlines()), said)
        return said

    def calls(self):
        """Return the calls of the backend, without reports of its capacity."""
        lines = (self.service.state / 'alpha' / 'calls').read_text().splitlines()
        return [line for line in lines if not line.startswith('report ')]

    def hosts(self, resource_id):
        """Return the host of a share and the host of its operation."""
        instances, work = models.share_instances, models.operations
        with self.service.services.db.reader() as conn:
            return [
                conn.execute(sa.select(table.c.host).where(*so)).scalar()
                for table, so in (
                    (instances, [instances.c.share_id == resource_id]),
                    (work, [work.c.resource_id == resource_id, work.c.kind == 'share.extend']),
                )
            ]

    def placed(self, host):
        """Create a share on a backend that does not exist, with an operation that waits for it; return the share's id."""
        share = self.admin.share()
        self.write(models.share_instances, self.instance(share['id']), host=host, status='extending')
        with self.service.services.db.writer() as conn:
            rows.insert(
                conn,
                kind='share.extend',
                resource_type='share',
                resource_id=share['id'],
                topic='share',
                host=host.partition('#')[0],
                lane='work',
                data={'size': 1, 'new_size': 1},
            )
        return share['id']

    def test_lists_are_shown_in_each_format(self):
        self.backend('other@backend', pools=('one', 'two'))
        for option in ('--format', '--format_output'):
            out, _ = self.manage('service', 'list', option, 'json')
            self.assertIn('"host": "test@alpha"', out)
        services = {(one['binary'], one['host']): one for one in self.listed('service', 'list')}
        self.assertEqual('up', services['manila-share', 'test@alpha']['state'])
        self.assertEqual('down', services['manila-share', 'other@backend']['state'])
        self.assertEqual('nova', services['manila-scheduler', 'test']['zone'])
        self.assertEqual(
            (release.VERSION, None),
            (
                services['manila-scheduler', 'test']['release'],
                services['manila-share', 'other@backend']['release'],
            ),
        )
        self.admin.share()
        found = {one['host']: one for one in self.listed('host', 'list')}
        self.assertLess(0, found['test@alpha']['shares'])
        self.assertEqual(2, found['other@backend']['pools'])
        self.assertEqual({'test@alpha'}, {one['host'] for one in self.listed('host', 'list', 'nova')})
        self.assertEqual([], self.listed('host', 'list', 'nowhere'))
        out, _ = self.manage('host', 'list')
        self.assertEqual(['host', 'zone', 'status', 'state', 'pools', 'shares'], out.splitlines()[0].split())

    def test_cleanup_removes_down_services_without_shares_or_operations(self):
        self.backend('old@one')
        self.backend('old@two')
        self.backend('old@three')
        self.write(models.share_instances, self.instance(self.admin.share()['id']), host='old@two#p')
        self.placed('old@three#p')
        with self.service.services.db.writer() as conn:  # the operation alone keeps the host, too
            conn.execute(
                models.shares.delete().where(
                    models.shares.c.id.in_(
                        sa.select(models.share_instances.c.share_id).where(
                            models.share_instances.c.host == 'old@three#p'
                        )
                    )
                )
            )
        self.assertIn('service_down_time', self.refused('service', 'cleanup', '--down', '1'))
        found = {one['host']: one['result'] for one in self.listed('service', 'cleanup', status=1)}
        self.assertEqual('removed', found['old@one'])
        self.assertIn('kept', found['old@two'])
        self.assertIn('kept', found['old@three'])
        self.assertNotIn('test@alpha', found)
        left = {one['host'] for one in self.listed('service', 'list')}
        self.assertEqual(
            {'old@two', 'old@three', 'test@alpha'}, left & {'old@one', 'old@two', 'old@three', 'test@alpha'}
        )
        with self.service.services.db.reader() as conn:
            self.assertIsNone(
                conn.execute(
                    sa.select(models.pools.c.host).where(models.pools.c.host == 'old@one#p')
                ).scalar()
            )

    def test_update_host_by_host_name_moves_shares_and_operations(self):
        self.backend('was_x@alpha')
        share, other = self.placed('was_x@alpha#p'), self.placed('wasnx@alpha#p')
        out, _ = self.manage('share', 'update_host', '--currenthost', 'was_x', '--newhost', 'test')
        self.assertIn('1 share instances', out)
        self.assertEqual(['test@alpha#p', 'test@alpha'], self.hosts(share))
        self.assertEqual(['wasnx@alpha#p', 'wasnx@alpha'], self.hosts(other))
        base.eventually(
            lambda: self.admin.ok('GET', f'/shares/{share}')['share']['status'] == 'available',
            'the new host does not do what waited for the old one',
        )

    def test_update_host_by_pool_moves_only_that_pool(self):
        self.backend('from@b', pools=('p', 'q'))
        self.backend('to@c', pools=('p',))
        moved, left = self.placed('from@b#p'), self.placed('from@b#q')
        with self.service.services.db.writer() as conn:
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
            (group,) = groups.make(conn, [moved], type_id=kind, host='from@b#p')
            snapshot = (
                conn.execute(
                    sa.select(models.share_group_snapshots.c.id).where(
                        models.share_group_snapshots.c.share_group_id == group
                    )
                )
                .scalars()
                .first()
            )
            rows.insert(
                conn,
                kind='share_group_snapshot.delete',
                resource_type='share_group_snapshot',
                topic='share',
                host='from@b',
                resource_id=snapshot,
                lane='work',
                data={},
            )
        self.manage('share', 'update_host', '--currenthost', 'from@b#p', '--newhost', 'to@c#p')
        self.assertEqual(['to@c#p', 'to@c'], self.hosts(moved))
        self.assertEqual(['from@b#q', 'from@b'], self.hosts(left))
        with self.service.services.db.reader() as conn:
            self.assertEqual(
                'to@c',
                conn.execute(
                    sa.select(models.operations.c.host).where(models.operations.c.resource_id == snapshot)
                ).scalar(),
            )
        with self.service.services.db.reader() as conn:
            pools = set(conn.execute(sa.select(models.pools.c.host)).scalars())
        self.assertIn('to@c#p', pools)
        self.assertNotIn('from@b#p', pools)

    def test_update_host_refuses_wrong_names_live_hosts_and_busy_shares(self):
        move = ('share', 'update_host', '--currenthost')
        for old, new in (('a', 'a@b'), ('a@b', 'a@b'), ('a#p', 'b#p'), ('a@', 'b@')):
            self.assertIn('host@backend#pool', self.refused(*move, old, '--newhost', new))
        self.assertIn('no service reports nobody', self.refused(*move, 'test', '--newhost', 'nobody'))
        self.backend('alive@d', heartbeat=timeutils.utcnow())
        self.assertIn('alive@d is up: stop it first', self.refused(*move, 'alive', '--newhost', 'test'))
        share = self.placed('dead@e#p')
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.operations.update()
                .where(models.operations.c.resource_id == share)
                .values(owner='x', lease_expires_at=timeutils.utcnow() + datetime.timedelta(hours=1))
            )
        self.assertIn(
            '1 operation of dead@e in progress', self.refused(*move, 'dead@e', '--newhost', 'test@alpha')
        )
        self.manage(*move, 'dead@e', '--newhost', 'nobody@e', '--force')
        self.assertEqual(['nobody@e#p', 'nobody@e'], self.hosts(share))

    def test_share_in_use_is_deleted_by_force_only_without_a_backend_call(self):
        share = self.admin.share()
        path = f'/shares/{share["id"]}'
        self.assertIn('openstack share delete', self.refused('share', 'delete', share['id']))
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot'][
            'id'
        ]
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.admin.action(share['id'], 'reset_status', {'status': 'error'})
        self.assertIn('has 1 snapshot', self.refused('share', 'delete', share['id']))
        calls = self.calls()
        out, _ = self.manage('share', 'delete', share['id'], '--force')
        self.assertIn('No backend was touched', out)
        self.assertEqual(404, self.admin.call('GET', path)[0])
        self.assertEqual(404, self.admin.call('GET', f'/snapshots/{snapshot}')[0])
        self.assertEqual(calls, self.calls())
        self.assertIn('could not be found', self.refused('share', 'delete', share['id']))

    def test_delete_refuses_backups_and_needs_force_for_group_snapshots(self):
        """Check the deletion of a share with group snapshots, replicas and backups."""
        share = self.admin.share()['id']
        self.admin.action(share, 'reset_status', {'status': 'error'})
        with self.service.services.db.writer() as conn:
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
            groups.make(conn, [share], type_id=kind)
            replicas.replicable(conn, [share])
            rows.insert(
                conn,
                kind='replica.update',
                resource_type='share_replica',
                topic='share',
                host='nobody@far',
                resource_id=self._instance(conn, share),
                lane='work',
                data={},
            )
            backups.of(conn, [share])
        self.assertIn('has 1 backup', self.refused('share', 'delete', share, '--force'))
        self.drop(models.share_backups, models.share_backups.c.share_id == share)
        self.assertIn('is in 2 snapshots of its group', self.refused('share', 'delete', share))
        out, _ = self.manage('share', 'delete', share, '--force')
        self.assertIn('and of 2 snapshots', out)
        self.assertEqual(404, self.admin.call('GET', f'/shares/{share}')[0])
        with self.service.services.db.reader() as conn:
            self.assertEqual(
                [],
                list(
                    conn.execute(
                        sa.select(models.operations.c.id).where(
                            models.operations.c.host == 'nobody@far', models.operations.c.state == 'open'
                        )
                    )
                ),
            )

    def test_share_with_a_replica_elsewhere_is_deleted_by_force_only_and_all_its_instances_are_named(self):
        share, replica = self.admin.share()['id'], uuidutils.generate_uuid()
        self.write(models.share_instances, self.instance(share), host='lost@one#p')
        with self.service.services.db.writer() as conn:
            [own] = replicas.replicable(conn, [share])
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
            share_rows.instance(
                conn,
                share,
                replica,
                share_type_id=kind,
                host='test@alpha#pool1',
                is_secondary=True,
                replica_state='in_sync',
            )
        for status in ('available', 'error'):
            self.write(models.share_instances, own, status=status)
            said = self.refused('share', 'delete', share)
            self.assertIn(f'instance {replica} on test@alpha#pool1', said)
            self.assertIn('promote or delete it first', said)
        out, _ = self.manage('share', 'delete', share, '--force')
        for instance_id, host in ((own, 'lost@one#p'), (replica, 'test@alpha#pool1')):
            self.assertIn(f'instance {instance_id} on {host}', out)

    @staticmethod
    def _instance(conn, share):
        instances = models.share_instances
        return conn.execute(sa.select(instances.c.id).where(instances.c.share_id == share)).scalar_one()

    def test_delete_of_a_share_with_a_running_operation_needs_force(self):
        share_id = self.placed('far@away#p')
        later = timeutils.utcnow() + datetime.timedelta(hours=1)
        self.write(models.share_instances, self.instance(share_id), status='extending_error')
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.operations.update()
                .where(models.operations.c.resource_id == share_id)
                .values(owner='x', lease_expires_at=later)
            )
        self.assertIn('has an operation in progress', self.refused('share', 'delete', share_id))
        self.manage('share', 'delete', '--share_id', share_id, '--force')
        with self.service.services.db.reader() as conn:
            self.assertEqual(
                rows.FAILED,
                conn.execute(
                    sa.select(models.operations.c.state).where(
                        models.operations.c.resource_id == share_id,
                        models.operations.c.kind == 'share.extend',
                    )
                ).scalar(),
            )
