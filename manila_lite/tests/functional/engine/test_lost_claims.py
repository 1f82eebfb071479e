# SPDX-License-Identifier: Apache-2.0
"""Lost claims: a worker whose operation is taken over writes nothing more, and the new owner finishes the operation.

Every kind of operation of the crash matrix is run, and also refused at its end and undone. Before each transaction in
which its worker could write, another worker takes the operation over, and continues from its saved state.
"""

import concurrent.futures
import functools
import itertools

import fixtures

from manila_lite import context
from manila_lite.actions import share_migration
from manila_lite.db import models
from manila_lite.drivers import load
from manila_lite.tests import waiting
from manila_lite.tests.crash import files, places, truth
from manila_lite.tests.crash.faulty import WithFiles
from manila_lite.tests.crash.subjects import ALONE, SUBJECTS, Cell, Subject, Way
from manila_lite.tests.fixtures import DEFAULT_TYPE
from manila_lite.tests.functional import base
from manila_lite.tests.functional.taken_over import Deployment, Robbed

_NETWORKS = """
networks:
- id: net
  network_type: flat
  subnets:
  - {id: four, cidr: 10.16.0.0/16}
  - {id: six, cidr: 'fd00::/64'}
- id: management
  network_type: flat
  subnets:
  - {id: wide, cidr: 172.16.0.0/24}
"""
_BACKEND = (
    'dummy_pool_size_gb = {size}\nmigration_driver_continue_update_interval = 0.1\n'
    'dummy_replication_domain = matrix\n'
)
_SERVING = (
    'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
    'dummy_writable_migration = false\n'
)
_ADMINISTERED = (
    'dummy_admin_allocations = 1\nadmin_network_id = management\nadmin_subnet_id = wide\n'
    'admin_network_config_group = standalone_network\n'
)
#: Earlier steps to refuse, for plans whose last step is retried and not undone.
_BEFORE_IT_IS_TOO_LATE = {
    ('share', kind): [('copy', '_while_copying')] for kind in ('share.migrate', 'share_server.migrate')
}
#: Subjects of the crash matrix that begin while a copy waits for its completion, or that change the configuration file of
#: processes. Here everything rests before a story begins, and is one process without a file of its own.
_ELSEWHERE = (
    'cancel the move of a share server by force',
    'cancel the move of a share by force',
    'cancel the move of a share by its host by force',
    'cancel the move of a share server by its host by force',
    'ensure with a changed section',
)
_numbers = itertools.count(1)


class Mover(Cell):
    """Cell with migrations that the crash matrix does not have."""

    def move_elsewhere(self):
        """Move the server to another network, where it gets other addresses."""
        network = self.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'net', 'neutron_subnet_id': 'six'}},
        )['share_network']['id']
        self._minded(
            models.share_servers,
            f'/share-servers/{self.server}/action',
            self.server,
            lambda: {**self._move(), 'new_share_network_id': network},
        )

    def move_frozen(self):
        """Move the share to a backend that cannot copy while clients write."""
        wanted = {**self._move_share(), 'writable': False}
        backend, conf = wanted['host'].partition('@')[2], self.deployment.service.conf
        conf.set_override('dummy_writable_migration', False, backend)
        try:
            self._minded(models.shares, f'/shares/{self.share}/action', self.share, lambda: wanted)
        finally:
            conf.clear_override('dummy_writable_migration', backend)

    def move_by_itself(self):
        """Move the share as an evacuation does: the migration completes without a second request."""
        ctx = context.RequestContext(
            user_id='a',
            project_id=self.project,
            roles=['admin'],
            is_admin=True,
            services=self.deployment.service.services,
            overwrite=False,
        )
        share_migration.start(ctx, self.share, {**self._move_share(), 'by_itself': True})


_MIGRATE, _RELEASE = Way('share', 'share.migrate'), Way('share', 'share.release')
MORE = (
    Subject(
        'move a share server into another network',
        Mover.with_server,
        Mover.move_elsewhere,
        (Way('share', 'share_server.migrate'), Way('share', 'share_server.release')),
        'server',
        'gone',
    ),
    Subject(
        'move a share that is frozen',
        Mover.with_rule,
        Mover.move_frozen,
        (_MIGRATE, _RELEASE),
        'share',
        'available',
    ),
    Subject(
        'move a share by itself',
        Mover.with_rule,
        Mover.move_by_itself,
        (_MIGRATE, _RELEASE),
        'share',
        'available',
    ),
)


class Stories(base.ServiceTest):
    BACKENDS = {
        name: _BACKEND.format(size=1000 if name in Deployment.EVACUATED else 100000)
        + _SERVING * (name in Deployment.SERVING)
        for name in Deployment.BACKENDS
    }
    EXTRA = (
        'driver_updatable_subnet_metadata = quality\ndata_node_access_ips = 192.0.2.33\n'
        '[quota]\nshare_networks = -1\nshares = -1\ngigabytes = -1\nsnapshots = -1\nsnapshot_gigabytes = -1\n'
    )

    @classmethod
    def setUpClass(cls):
        patch = fixtures.MonkeyPatch(f'{load.__name__}.load_class', lambda name: WithFiles)
        patch.setUp()
        cls.addClassCleanup(patch.cleanUp)
        super().setUpClass()
        cls.addClassCleanup(files.unmount_below, cls.service.state)
        cls.service.conf.set_override(
            'data_node_local_exports', files.local_exports(cls.service.state).split(', ')
        )
        cls.service.use_networks(_NETWORKS)
        cls.service.conf.set_override('poll_interval', 0.1, 'operations')
        cls.deployment = Deployment(cls.service)
        cls.enterClassContext(cls.deployment.unseen())
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'served',
                    'extra_specs': {**DEFAULT_TYPE, 'driver_handles_share_servers': 'True'},
                }
            },
        )
        cls.robbed = Robbed(cls.service)

    def found(self, project):
        return truth.read(self.deployment.engine)[project]

    def tell(self, subject, refused=None):
        """Run the operation to its end. Return the cell, its rows before, and its rows now."""
        cell = Mover(self.deployment, f'c{next(_numbers):04}')
        subject.prepare(cell)
        self.settled(cell)
        before = self.found(cell.project)
        self.robbed.watch(cell.project, refused)
        self.addCleanup(self.robbed.watch, None)
        with concurrent.futures.ThreadPoolExecutor(1) as client:
            refusal = client.submit(subject.begin, cell).exception(waiting.LIMIT)
        if refusal and not (refused and subject.asks):
            raise refusal
        self.settled(cell)
        self.assertEqual([], self.robbed.wrong)
        self.assertTrue(self.robbed.tried, 'nobody was taken over')
        return cell, before, self.found(cell.project)

    def settled(self, cell):
        """Wait until nothing of the project is under way."""
        try:
            base.eventually(lambda: not list(self.found(cell.project).unsettled()), '')
        except AssertionError:
            self.fail('\n'.join([*self.found(cell.project).unsettled(), *self.robbed.wrong]))

    def agrees(self, cell, rows):
        """Check that backends, quota and messages agree with the rows."""
        backends = truth.Backends(self.deployment.state, self.deployment.BACKENDS)
        orphans = [
            what
            for project, what in backends.orphans(truth.read(self.deployment.engine))
            if project == cell.project
        ]
        self.assertEqual(
            [],
            [
                *orphans,
                *backends.differences(rows),
                *truth.untold(rows),
                *truth.quota(self.deployment, cell.project, rows),
            ],
        )

    def done(self, subject):
        cell, before, rows = self.tell(subject)
        old, now = before.of(subject.resource_type), rows.of(subject.resource_type)
        mine = {state for resource_id, state in now.items() if (resource_id in old) != subject.makes}
        self.assertEqual({subject.good} - {'gone'}, mine)
        self.agrees(cell, rows)

    def refused(self, subject, way, step):
        cell, _, rows = self.tell(subject, (way.role, way.kind, step))
        self.agrees(cell, rows)


def stories(subjects):
    """Give a class a test for each operation, and one for each of its plans that is refused."""

    def given(cls):
        for subject in subjects:
            name = subject.name.replace(' ', '_')
            setattr(cls, f'test_{name}', functools.partialmethod(cls.done, subject))
            for way in subject.ways:
                last = places.PLANS[way.role][way.kind].names[-1]
                for step, where in ((last, ''), *_BEFORE_IT_IS_TOO_LATE.get((way.role, way.kind), ())):
                    setattr(
                        cls,
                        f'test_{name}_refused_in_{way.role}_{way.kind.replace(".", "_")}{where}',
                        functools.partialmethod(cls.refused, subject, way, step),
                    )
        return cls

    return given


@stories([subject for subject in (*SUBJECTS, *ALONE, *MORE) if subject.name not in _ELSEWHERE])
class LostClaims(Stories):
    """One process with an API, a scheduler, and the managers of six backends."""


@stories(
    [subject for subject in SUBJECTS if subject.name in ('make a share server', 'delete a share server')]
)
class Administered(Stories):
    """Share servers that also have an address in the administrators' network."""

    BACKENDS = dict.fromkeys(Deployment.SERVING, _BACKEND.format(size=100000) + _SERVING + _ADMINISTERED)

    def agrees(self, cell, rows):
        """Check that every address belongs to a server. The crash matrix has none in an administrators' network."""
        with self.service.services.db.reader() as conn:
            owners = {row.share_server_id for row in conn.execute(models.network_allocations.select())}
            servers = set(conn.execute(models.share_servers.select()).scalars())
        self.assertEqual(([], set()), (list(truth.untold(rows)), owners - servers))
