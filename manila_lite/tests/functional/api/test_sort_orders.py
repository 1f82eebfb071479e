# SPDX-License-Identifier: Apache-2.0
"""Each list is in the order of each of its sort keys, in both directions, and beside a marker."""

import urllib.parse

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.tests.factories import dirty, full
from manila_lite.tests.functional import refused, sort_keys

_instances, _types, _zones = models.share_instances, models.share_types, models.availability_zones
_locks, _held = models.resource_locks, models.replica_snapshots
_in_zone = _zones.c.id == _instances.c.availability_zone_id
_placed = _instances.outerjoin(_zones, _in_zone)
_groups, _taken, _moved = models.share_groups, models.share_group_snapshots, models.share_transfers
_NAMES = {alias: alias.removeprefix('display_') for alias in sort_keys.ALIASES.split()}

#: By list: its table, that joined with others, and columns of another table or name than the key.
_ROWS = {
    '/shares': (
        models.shares,
        models.shares.join(_instances).outerjoin(_types).outerjoin(_zones, _in_zone),
        {
            **_NAMES,
            **{
                name: _instances.c[name]
                for name in (
                    'status',
                    'host',
                    'share_type_id',
                    'share_network_id',
                    'share_server_id',
                    'availability_zone_id',
                    'access_rules_status',
                    'progress',
                )
            },
            'share_type': _instances.c.share_type_id,
            'share_type_name': _types.c.name,
            'instance_id': _instances.c.id,
            'availability_zone': _zones.c.name,
        },
    ),
    '/snapshots': (models.snapshots, models.snapshots, _NAMES),
    '/snapshot-instances': (
        models.snapshots,
        models.snapshots.join(_instances, _instances.c.share_id == models.snapshots.c.share_id),
        {'snapshot_id': 'id', 'share_instance_id': _instances.c.id},
    ),
    '/share_instances': (_instances, _placed, {'availability_zone': _zones.c.name}),
    '/share-replicas': (_instances, _placed, {'availability_zone': _zones.c.name}),
    '/share-networks': (models.share_networks, models.share_networks, {}),
    '/share-groups': (_groups, _groups.outerjoin(_zones), {'availability_zone': _zones.c.name}),
    '/share-group-snapshots': (
        _taken,
        _taken.join(_groups, _groups.c.id == _taken.c.share_group_id),
        {'host': _groups.c.host},
    ),
    '/share-backups': (models.share_backups, models.share_backups, {**_NAMES, 'topic': sa.literal('share')}),
    '/share-transfers': (
        _moved,
        _moved,
        {
            **_NAMES,
            'resource_id': 'share_id',
            'source_project_id': 'project_id',
            'resource_type': sa.literal('share'),
        },
    ),
    '/resource-locks': (
        _locks,
        _locks,
        {
            'resource_id': sa.func.coalesce(_locks.c.access_id, _locks.c.share_id),
            'resource_type': sa.case((_locks.c.access_id.is_(None), 'share'), else_='access_rule'),
        },
    ),
    '/security-services': (models.security_services, models.security_services, {}),
    '/qos-types': (models.qos_types, models.qos_types, {}),
    '/messages': (models.messages, models.messages, {}),
    '/operations': (models.operations, models.operations, {}),
    '/schedules': (models.schedules, models.schedules, {}),
}
#: Keys with one value for all rows.
_SAME = {('/share-backups', 'topic'), ('/share-transfers', 'resource_type')}
#: Columns by which rows are in no list, or not in that one.
_HIDING = {'deletion_deferred', 'is_soft_deleted', 'is_secondary'}
_COUNT = 6


def _changed(table, **values):
    """Return a statement that sets columns, and does not touch the time of the last change."""
    return table.update().values(updated_at=table.c.updated_at, **values)


class Ordered(refused.Refusing):
    """Lists of rows that have other values in each column, and each column in another order."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.conf.set_override('response_validation', False, 'api')  # the texts mean nothing
        db = cls.service.services.db
        with dirty.unguarded(db.engine) as conn:
            for table in reversed(models.metadata.sorted_tables):
                conn.execute(table.delete())
            full.make(conn, _COUNT, mixed=True)
            conn.execute(_held.delete())  # the list of snapshot instances has these, too
            for table in models.metadata.tables.values():
                for name in _HIDING & set(table.c.keys()):
                    conn.execute(_changed(table, **{name: False}))
            on_shares = conn.execute(sa.select(_locks.c.id)).scalars().all()[::2]
            conn.execute(_changed(_locks, access_id=None).where(_locks.c.id.in_(on_shares)))

    def rows(self, path, key):
        """Return the ids of a list in ascending order of a key, by its rows in the database."""
        table, joined, columns = _ROWS[path]
        column = columns.get(key, key)
        with self.service.services.db.reader() as conn:
            found = [
                (value, resource_id)
                for resource_id, value in conn.execute(
                    sa.select(table.c.id, table.c[column] if isinstance(column, str) else column).select_from(
                        joined
                    )
                )
            ]
        self.assertEqual(_COUNT, len(found), path)
        if (path, key) not in _SAME:
            self.assertLess(1, len({value for value, _ in found}), (path, key))
        return [resource_id for _, resource_id in sorted(found)]

    def listed(self, path, **query):
        """Return the ids of a list, in its order."""
        rows, *_ = self.admin.ok(
            'GET', f'{path}?{urllib.parse.urlencode({"all_tenants": 1, **query})}'
        ).values()
        return [row['id'] for row in rows]

    def test_each_list_is_sorted_by_each_of_its_keys(self):
        """What comes after the first row says where that one is, too."""
        for path, keys in sort_keys.KEYS.items():
            for key in keys.split():
                rising = self.rows(path, key)
                for way, order in (('asc', rising), ('desc', rising[::-1])):
                    asked = {'sort_key': key, 'sort_dir': way, 'marker': order[0]}
                    self.assertEqual(order[1:], self.listed(path, **asked), (path, asked))

    def test_each_list_begins_where_it_is_asked_to(self):
        for path, keys in sort_keys.KEYS.items():
            key = keys.split()[0]
            order = self.rows(path, key)
            self.assertEqual(order, self.listed(path, sort_key=key, sort_dir='asc'), path)
            for start in ({'marker': order[1]}, {'offset': 2}, {'marker': order[0], 'offset': 1}):
                asked = {'sort_key': key, 'sort_dir': 'asc', 'limit': 2, **start}
                self.assertEqual(order[2:4], self.listed(path, **asked), (path, asked))
