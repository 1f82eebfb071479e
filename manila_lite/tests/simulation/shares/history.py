# SPDX-License-Identifier: Apache-2.0
"""A history of shares: requests of projects with little quota, at pools with little capacity."""

import sqlalchemy
from oslo_db import exception as db_exception

from manila_lite import context, errors
from manila_lite.actions import share_creation, shares
from manila_lite.db.queries import quotas
from manila_lite.tests.simulation import history, strangers
from manila_lite.tests.simulation.shares import invariants
from manila_lite.tests.simulation.shares.deployment import SharesDeployment
from manila_lite.tests.simulation.shares.model import Model
from manila_lite.tests.simulation.shares.world import API, World

_MOST = 5  # GiB of a request, at most
_REQUESTS = (*('create',) * 6, *('extend',) * 8, *('shrink',) * 3, *('delete',) * 4, 'force')


class SharesHistory(history.History):
    """A history of shares."""

    kind = 'shares'
    must_succeed = ('share.create', 'share.extend', 'share.shrink', 'share.delete', 'service.ensure')
    world_class, model_class, deployment_class = World, Model, SharesDeployment
    steps = 40000
    requests = (5, 11)

    def __init__(self, seed, deployment):
        super().__init__(seed, deployment)
        self.world.deployment = deployment
        self._requests = []
        projects = 'abc'[: self._rng.choice((2, 3))]
        self.model.limits = {
            project: {'shares': self._rng.randint(2, 8), 'gigabytes': self._rng.randint(6, 24)}
            for project in projects
        }

    def _live(self):
        with self._db.writer() as conn:
            for project, limits in self.model.limits.items():
                quotas.set_limits(conn, project, limits)
        super()._live()

    def _pause(self):
        way = self._rng.random()
        if way < 0.4:
            self.baton.wait(self._all_ended, 20)
        elif way < 0.7:
            self.baton.sleep(self._rng.uniform(0, 0.4))  # while the scheduler's knowledge is still fresh
        else:
            super()._pause()

    def _all_ended(self):
        return all(task.ended for task in self._requests) and super()._all_ended()

    def _last(self):
        invariants.ended(self.model)
        self.world.work_and_report()
        invariants.reported(self.model)
        if self._rng.random() < 0.5:
            self.world.take_over()
        self.baton.point('')

    # Requests of users --------------------------------------------------------------------------------

    def _ask(self):
        """Send one to four requests to processes of the API that live."""
        for _ in range(self._rng.choice((1, 1, 2, 4))):
            there = [one for one in self.model.processes.values() if one.topic == API and not one.dead]
            if there:
                project = self._rng.choice(list(self.model.limits))
                what = self._rng.choice(_REQUESTS if self._own(project) else ('create',))
                process = self._rng.choice(there)
                self._requests.append(
                    self.baton.spawn(
                        process,
                        f'{process.name}.{what}-{process.number()}',
                        lambda what=what, project=project: self._request(what, project),
                    )
                )

    def _request(self, what, project):
        ctx = context.RequestContext(
            project_id=project, user_id='u', services=self.world.services, overwrite=False
        )
        try:
            getattr(self, f'_{what}')(ctx, self._rng.randint(1, _MOST))
            self.model.seen[what] += 1
        except (errors.ManilaLiteError, db_exception.DBError, sqlalchemy.exc.DBAPIError) as error:
            strangers.look(self.baton, error)
            self.model.seen[type(error).__name__] += 1
            why = str(error) if isinstance(error, errors.ManilaLiteError) else ''
            self.baton.note(self.model.with_names(f'{what} for {project}: {type(error).__name__} {why}'))

    def _own(self, project):
        return [share for share in self.model.shares.values() if share.project == project]

    def _one(self, ctx, *statuses):
        """Return a share of the project, probably one with one of these statuses.

        :raises errors.NotFound: the project has none.
        """
        own = self._own(ctx.project_id)
        fit = [share for share in own if share.status in statuses]
        if fit and self._rng.random() < 0.9:
            own = fit
        if not own:
            raise errors.NotFound('no share')
        return self._rng.choice(own)

    def _create(self, ctx, size):
        share_creation.create(ctx, {'size': size, 'share_proto': 'NFS'})

    def _extend(self, ctx, more):
        share = self._one(ctx, 'available')
        shares.extend(ctx, share.share_id, share.size + more)

    def _shrink(self, ctx, less):
        share = self._one(ctx, 'available')
        shares.shrink(ctx, share.share_id, max(1, share.size - less))

    def _delete(self, ctx, _size):
        shares.delete(ctx, self._one(ctx, *invariants.SETTLED).share_id)

    def _force(self, ctx, _size):
        shares.delete(ctx, self._one(ctx, *invariants.SETTLED).share_id, force=True)
