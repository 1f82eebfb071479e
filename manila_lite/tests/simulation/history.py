# SPDX-License-Identifier: Apache-2.0
"""One history: the events of a seed, from the first request until all operations have ended."""

import contextlib
import random
import uuid

import fixtures

from manila_lite import context, engine
from manila_lite.db.queries import operations as rows
from manila_lite.tests.simulation import plans
from manila_lite.tests.simulation.baton import Baton, Stopped, Stuck
from manila_lite.tests.simulation.deployment import Deployment
from manila_lite.tests.simulation.faults import Faults
from manila_lite.tests.simulation.model import Model
from manila_lite.tests.simulation.world import World

#: Seconds from the last fault of a history to the end of its last operation, at most.
_SECONDS = 400


class History:
    """The events that ``seed`` chooses; ``run`` returns the failure, or None. ``trace`` has each step."""

    kind = 'engine'
    must_succeed = (plans.PLACED, plans.CHANGED, plans.SYNCED)  # kinds of operations
    world_class, model_class, deployment_class = World, Model, Deployment
    steps = 10000  # points, at most
    requests = (2, 5)  # at least and at most

    def __init__(self, seed, deployment):
        self.seed = seed
        rng = self._rng = random.Random(seed)
        conf = deployment.services.conf.operations
        self.baton = Baton(rng, self.steps, rng.choice((0.3, 0.7, 0.95)))
        self.faults = Faults(rng, conf.lease)
        self.faults.now = lambda: self.baton.now
        self.model = self.model_class(self.baton, deployment.table, self.faults, conf)
        self.world = self.world_class(rng, self.baton, self.faults, self.model, deployment.services)
        self.baton.on_point = self.faults.at_point
        self._deployment = deployment
        self._db = deployment.services.db

    @property
    def trace(self):
        """Return the trace, a line for each step."""
        return self.baton.trace

    @property
    def again(self):
        """Return the command that shows this history."""
        return f'tools/simulate --kind {self.kind} --seed {self.seed} --histories 1'

    def run(self):
        """Run the history. Return its failure, or None."""
        self._deployment.table.clear()
        self.baton.begin(self.world.outside)
        self._deployment.use(self)
        # Shares are ensured in the order of their ids.
        ids = random.Random(self.seed)
        with (
            fixtures.MonkeyPatch('uuid.uuid4', lambda: uuid.UUID(int=ids.getrandbits(128), version=4)),
            contextlib.suppress(Stopped),
        ):
            self._live_or_say()
        failure = self.baton.failure
        self.baton.end()
        self._deployment.use(None)
        return failure

    def _live_or_say(self):
        try:
            self._live()
        except Stuck as stuck:
            stuck.add_note(self.again)
            raise

    def _live(self):
        self.world.begin()
        for _ in range(self._rng.randint(*self.requests)):
            self._pause()
            self._ask()
        self.baton.wait(self._all_ended, 60)
        self.faults.off()
        if not self.baton.wait(self._all_ended, _SECONDS):
            open_ones = [
                f'{self.model.name_of(row.id)} ({row.kind}, {row.topic}, step {row.step}, {row.attempts} tries, '
                f'owner {row.owner})'
                for row in self.model.rows.values()
                if row.state == rows.OPEN
            ]
            self.baton.fail(f'not ended {_SECONDS} s after the last fault: {", ".join(open_ones)}')
            self.baton.point('')
        self._last()

    def _pause(self):
        self.baton.sleep(self._rng.choice((0, 0, self._rng.uniform(0, 5))))

    def _last(self):
        """Check the end: all operations have ended."""

    def _all_ended(self):
        return all(row.state != rows.OPEN for row in self.model.rows.values())

    # Requests of users --------------------------------------------------------------------------------

    def _ask(self):
        self._rng.choice(
            (
                self._make,
                self._make,
                self._change,
                self._change,
                self._sync,
                self._sync_again,
                self._strange,
                self._hurry,
            )
        )()

    def _begin(self, kind, begin=engine.begin, topic=plans.SHARE, **more):
        project = self._rng.choice('abc')
        ctx = context.RequestContext(
            project_id=project, user_id='u', services=self.world.services, overwrite=False
        )
        number = len(self.model.facts)
        with self._db.writer() as conn:
            wake = begin(
                conn,
                ctx,
                kind,
                'thing',
                f'thing-{number}',
                topic=topic,
                host=self.world.host if topic == plans.SHARE else '',
                **more,
            )
        wake.send(ctx)
        return wake

    def _make(self):
        self._begin(plans.PLACED, topic=plans.SCHEDULER, mutex_key=self._rng.choice((None, 'x')))

    def _change(self):
        wake = self._begin(plans.CHANGED, mutex_key=self._rng.choice((None, 'x', 'y')))
        if self._rng.random() < 0.05:
            self._make_unreadable(wake.operation_id)

    def _make_unreadable(self, operation_id):
        if self.model.rows[operation_id].owner is None and not self.model.facts[operation_id].claims:
            self.model.facts[operation_id].unreadable = True
            self._deployment.table.make_unreadable(operation_id)
            self.model.rows = self._deployment.table.read()

    def _sync(self):
        self.model.asking = True
        self._begin(plans.SYNCED, engine.begin_once, unique_key='sync', lane=engine.FAST, mutex_key='sync')
        self.model.asking = False

    def _sync_again(self):
        self._sync()
        self.baton.sleep(self._rng.uniform(0, 2))
        self._sync()

    def _strange(self):
        if self._rng.random() < 0.2:
            self._begin(plans.STRANGE)
        else:
            self._change()

    def _hurry(self):
        if not self.model.rows:
            self._make()
        with self._db.writer() as conn:
            rows.make_due(conn, list(self.model.rows)[-1])
