# SPDX-License-Identifier: Apache-2.0
"""Each value that an administrator may set by hand: what the doctor says of it, and what heals it. See ``resets.csv``."""

import csv
import itertools
from pathlib import Path
from typing import NamedTuple

from oslo_utils import timeutils

from manila_lite import doctor, states
from manila_lite.api.v2 import CALLS
from manila_lite.db.core import transitions
from manila_lite.doctor import share_replicas
from manila_lite.doctor.finding import RepairContext
from manila_lite.states import Replica
from manila_lite.tests.factories import backups, networks
from manila_lite.tests.functional import base

TABLE = Path(__file__).parents[4] / 'doc/source/admin/resets.csv'
_REFUSED = 'refused: '
#: Backups are an experimental part of the API.
_EXPERIMENTAL = {'X-OpenStack-Manila-API-Experimental': 'true'}
_BACKEND = 'dummy_replication_domain = far\nbackend_availability_zone = {}\n'


class Row(NamedTuple):
    """One value: what it is set on, and what the doctor says and makes of it."""

    resource: str
    field: str
    value: str | None
    doctor: str
    after: str


def table():
    """Return the rows of the table, one for each resource and value."""
    with TABLE.open() as file:
        return [
            Row(resource, row['field'], None if value == 'null' else value, row['doctor'], row['after'])
            for row in csv.DictReader(file)
            for resource, value in itertools.product(row['resource'].split(', '), row['values'].split())
        ]


class Place(NamedTuple):
    """The path of a resource and the key of its document, the values that may be set, and the id of its findings."""

    path: str
    key: str
    values: dict
    found: str


def task_states(path):
    """Return the task states that a resource's call sets, without their other names."""
    [schema] = [
        field.schema
        for op in CALLS
        for field in (op.body.fields if op.body else ())
        if (op.action, op.path.split('/')[1]) == ('reset_task_state', path)
    ]
    return {None, *schema['enum']} - states.MIGRATION_ALIASES.keys()


class Resets(base.ServiceTest):
    BACKENDS = {
        'alpha': _BACKEND.format('a'),
        'beta': _BACKEND.format('b'),
        'gamma': 'driver_handles_share_servers = true\n',
    }
    EXTRA = 'default_share_group_type = plain\nreplica_state_update_interval = 1000\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(networks.FILE)
        for name, specs in (
            ('served', {'driver_handles_share_servers': 'True'}),
            ('dr', {'driver_handles_share_servers': 'False', 'replication_type': 'dr'}),
        ):
            cls.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': specs}})
        cls.admin.ok(
            'POST', '/share-group-types', {'share_group_type': {'name': 'plain', 'share_types': ['default']}}
        )
        cls.places = {**cls.plain(), **cls.replicas(), **cls.served(), **cls.groups()}

    @classmethod
    def create(cls, path, key, status='available', field='status', **body):
        made = cls.admin.ok('POST', f'/{path}', {key: body})[key]['id']
        cls.admin.wait(f'/{path}/{made}', key, status, field=field)
        return made

    @classmethod
    def plain(cls):
        share = cls.admin.share()['id']
        snapshot = cls.create('snapshots', 'snapshot', share_id=share)
        [instance] = cls.admin.ok('GET', f'/shares/{share}/instances')['share_instances']
        [of_snapshot] = cls.admin.ok('GET', f'/snapshot-instances?snapshot_id={snapshot}')[
            'snapshot_instances'
        ]
        with cls.service.services.db.writer() as conn:
            [backup] = backups.of(conn, [share])
        statuses = {'status': states.SHARE.resettable}
        of_snapshots = {'status': states.SNAPSHOT.resettable}
        return {
            'share': Place(
                f'/shares/{share}', 'share', {**statuses, 'task_state': task_states('shares')}, share
            ),
            'share instance': Place(f'/share_instances/{instance["id"]}', 'share_instance', statuses, share),
            'snapshot': Place(f'/snapshots/{snapshot}', 'snapshot', of_snapshots, snapshot),
            'snapshot instance': Place(
                f'/snapshot-instances/{of_snapshot["id"]}', 'snapshot_instance', of_snapshots, snapshot
            ),
            'share backup': Place(
                f'/share-backups/{backup}', 'share_backup', {'status': states.SHARE_BACKUP.resettable}, backup
            ),
        }

    @classmethod
    def replicas(cls):
        share = cls.admin.share(share_type='dr', availability_zone='a')['id']
        [active] = cls.admin.ok('GET', f'/share-replicas?share_id={share}')['share_replicas']
        aside = cls.create(
            'share-replicas',
            'share_replica',
            'in_sync',
            'replica_state',
            share_id=share,
            availability_zone='b',
        )
        settable = {'status': states.SHARE.resettable, 'replica_state': set(Replica)}
        return {
            'active replica': Place(f'/share-replicas/{active["id"]}', 'share_replica', settable, share),
            'replica': Place(f'/share-replicas/{aside}', 'share_replica', settable, aside),
        }

    @classmethod
    def served(cls):
        network = cls.create(
            'share-networks', 'share_network', 'active', neutron_net_id='blue', neutron_subnet_id='blue-v4'
        )
        cls.admin.share(share_type='served', share_network_id=network)
        [server] = [row['id'] for row in cls.admin.ok('GET', '/share-servers')['share_servers']]
        return {
            'share network': Place(
                f'/share-networks/{network}',
                'share_network',
                {'status': states.SHARE_NETWORK.resettable},
                network,
            ),
            'share server': Place(
                f'/share-servers/{server}',
                'share_server',
                {'status': states.SHARE_SERVER.resettable, 'task_state': task_states('share-servers')},
                server,
            ),
        }

    @classmethod
    def groups(cls):
        group = cls.create('share-groups', 'share_group')
        snapshot = cls.create('share-group-snapshots', 'share_group_snapshot', share_group_id=group)
        return {
            'share group': Place(
                f'/share-groups/{group}', 'share_group', {'status': states.SHARE_GROUP.resettable}, group
            ),
            'group snapshot': Place(
                f'/share-group-snapshots/{snapshot}',
                'share_group_snapshot',
                {'status': states.SHARE_GROUP_SNAPSHOT.resettable},
                snapshot,
            ),
        }

    def reset(self, place, field, value):
        return self.admin.call(
            'POST', f'{place.path}/action', {f'reset_{field}': {field: value}}, headers=_EXPERIMENTAL
        )[:2]

    def value(self, place, field):
        return self.admin.ok('GET', place.path, headers=_EXPERIMENTAL)[place.key][field]

    def found(self, place, field):
        """Return the findings about the field."""
        states_of = {'status': '', 'replica_state': 'replica state', 'task_state': 'task state'}
        return [
            one
            for one in doctor.list_findings(self.service.services)
            if one.id == place.found and one.state.startswith(states_of[field])
        ]

    def test_49_5_the_table_has_each_reset_call_and_each_value(self):
        calls = {
            (op.path.split('/')[1], op.action.removeprefix('reset_'))
            for op in CALLS
            if op.action and op.action.startswith('reset_')
        }
        self.assertEqual(
            calls, {(self.places[row.resource].path.split('/')[1], row.field) for row in table()}
        )
        rows = [row[:3] for row in table()]
        wanted = {
            (name, field, value)
            for name, place in self.places.items()
            for field, values in place.values.items()
            for value in values
        }
        self.assertEqual((wanted, len(wanted)), (set(rows), len(rows)))

    def test_49_5_the_doctor_says_and_mends_what_the_table_says(self):
        for row in table():
            place = self.places[row.resource]
            before = self.value(place, row.field)
            status, document = self.reset(place, row.field, row.value)
            if row.doctor.startswith(_REFUSED):
                self.assertEqual(400, status, row)
                self.assertEqual(row.doctor.removeprefix(_REFUSED), document['badRequest']['reason'])
                self.assertEqual(before, self.value(place, row.field))
                continue
            self.assertEqual(202, status, (row, document))
            self.heals(place, row)
            self.reset(place, row.field, before)
            self.assertEqual(before, self.value(place, row.field))

    def heals(self, place, row):
        """Check what the doctor says, and the value once it finds nothing more."""
        # While a backend is being ensured, nothing is wrong yet.
        base.eventually(
            lambda: all(one.wrong for one in self.found(place, row.field)), f'{row}: it is under way'
        )
        found = self.found(place, row.field)
        self.assertEqual([row.value] if row.doctor else [], [one.state.split()[-1] for one in found], row)
        for one in found:
            self.assertTrue(one.wrong and one.mend and row.doctor in one.why, one)

        def well():
            for one in self.found(place, row.field):
                if one.mend:
                    doctor.mend(self.service.services, one)
            return not self.found(place, row.field)

        base.eventually(well, lambda: f'{row}: {self.found(place, row.field)}')
        after = (None if row.after == 'null' else row.after) if row.doctor else row.value
        # Its backend may have looked at the replica already.
        well_after = (after, 'in_sync') if after == 'out_of_sync' else (after,)
        self.assertIn(self.value(place, row.field), well_after, row)

    def test_49_5_a_contradiction_that_an_earlier_release_left_is_found_and_mended(self):
        for name, bad, good in (
            ('active replica', Replica.IN_SYNC, 'active'),
            ('replica', Replica.ACTIVE, 'out_of_sync'),
        ):
            replica_id = self.places[name].path.rpartition('/')[2]
            services = self.service.services
            # In one transaction: an update of the replica that ends meanwhile would mend it first.
            with services.db.writer() as conn:
                transitions.set_replica_state(conn, replica_id, bad)
                repair = RepairContext(services, timeutils.utcnow())
                [found] = [
                    one for one in share_replicas.find_contradicting(conn, repair) if one.id == replica_id
                ]
                self.assertTrue(found.wrong and 'the active one' in found.why, found)
                self.assertEqual(f'its replica state is {good}', found.mend(conn, repair))
                self.assertEqual([], list(share_replicas.find_contradicting(conn, repair)))
