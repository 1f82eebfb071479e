# SPDX-License-Identifier: Apache-2.0
"""Pools of limited capacity; the seed chooses how fast and how reliable their calls are."""

from manila_lite import errors, values
from manila_lite.drivers.interface import Resizes, ShareDriver
from manila_lite.tests.simulation.shares import leases
from manila_lite.tests.simulation.strangers import Injected

#: Results of calls, with their weights. ``half``: it fails and was done all the same.
_OUTCOMES = {'ok': 9, 'slow': 4, 'late': 3, 'again': 2, 'fail': 2, 'half': 2, 'final': 1}


class Backend:
    """All pools of a history, and their content: sizes in GiB by the ids of shares."""

    def __init__(self, rng, baton, faults, model):
        self._rng = rng
        self._baton = baton
        self._faults = faults
        self._model = model
        self.pools = {}  # by host string: capacity in GiB,
        self.held = {}  # and content
        self._never = {}  # by call, share and pool: whether it always fails
        self._wild = rng.choice((0.0, 0.2, 0.6))

    def add(self, host, total):
        """Add a pool."""
        self.pools[host], self.held[host] = total, {}

    def free(self, host):
        """Return the free capacity."""
        return self.pools[host] - sum(self.held[host].values())

    def _outcome(self, what, share, host):
        key = (what, share.id, host)
        if key not in self._never:
            self._never[key] = what != 'delete' and self._rng.random() < self._wild / 3
        if self._never[key]:
            return 'half'
        if self._faults.on and self._rng.random() < self._wild:
            return self._rng.choices(list(_OUTCOMES), list(_OUTCOMES.values()))[0]
        return 'ok'

    def call(self, what, share, host, change):
        """Make the change, or fail, or ask for another attempt, or make the change and fail."""
        self._model.leases.called(what, host.partition('#')[0])
        outcome = self._outcome(what, share, host)
        self._baton.point(f'{what} of {self._model.share_name(share.id)} at {host}: {outcome}')
        if outcome == 'again':
            raise errors.Again(self._rng.choice((0.0, 0.3, 2.0)), 'not yet')
        if outcome == 'final':
            raise errors.Final('never')
        if outcome == 'fail':
            raise Injected('the backend says no')
        if outcome == 'slow':
            self._baton.sleep(self._faults.long())
        if not leases.relies(self._baton.current.process):
            # A process froze in the call: only a fence at the storage keeps out what it does after its lease (admin/processes).
            raise Injected('the backend has given the call up')
        change()
        self._model.backend_changed(f'{what} of {self._model.share_name(share.id)}')
        if outcome == 'late':
            self._baton.sleep(self._faults.long())
        self._baton.point(f'{what} at {host} is done')
        if outcome == 'half':
            raise Injected('it was done, and nobody knows')

    def _look(self, what, host):
        """Make a call without effect, or fail."""
        self._baton.point(f'{what} of {host}')
        if self._faults.on and self._rng.random() < self._wild / 3:
            raise Injected('the backend says no')

    def setup(self, host):
        """Make the backend ready for the running process, or fail."""
        self._look('setup', host)
        if self._faults.on and self._rng.random() < self._wild:
            self._baton.sleep(self._faults.long())
        self._model.leases.ready()

    def ensure(self, host):
        """Check the shares, or fail."""
        self._model.leases.called('ensure', host)
        self._look('ensure', host)

    def report(self, host):
        """Return the pools of the backend, each as it is when its turn comes."""
        self._model.leases.asked(host)
        pools = []
        for pool in self.pools:
            if pool.partition('#')[0] == host:
                self._baton.point('asked how much is free')
                pools.append(
                    values.Pool(
                        name=pool.partition('#')[2], total_gb=self.pools[pool], free_gb=self.free(pool)
                    )
                )
                if self._rng.random() < 0.1:
                    self._baton.sleep(self._rng.uniform(0, 3))
        return pools


class Driver(ShareDriver, Resizes):
    """The driver of a share manager."""

    def __init__(self, backend, host):  # reads no section of a configuration
        self._backend = backend
        self._host = host

    def setup(self):
        self._backend.setup(self._host)

    def report(self):
        return self._backend.report(self._host)

    def _pool(self, share):
        return f'{self._host}#{share.pool}'

    def _resize(self, what, share, size):
        held = self._backend.held[self._pool(share)]

        def change():
            if share.id not in held:
                raise errors.Final('no such share')
            held[share.id] = size

        self._backend.call(what, share, self._pool(share), change)

    def create_share(self, share):
        pool = self._pool(share)
        self._backend.call(
            'create', share, pool, lambda: self._backend.held[pool].setdefault(share.id, share.size)
        )
        return [values.ExportLocation(f'/{share.id}')]

    def delete_share(self, share):
        pool = self._pool(share)
        self._backend.call('delete', share, pool, lambda: self._backend.held[pool].pop(share.id, None))

    def extend_share(self, share, new_size):
        self._resize('extend', share, new_size)

    def shrink_share(self, share, new_size):
        self._resize('shrink', share, new_size)

    def update_access(self, share, rules):
        return {}

    def ensure_shares(self, targets):
        self._backend.ensure(self._host)
        return {
            target.share.id: values.EnsureResult(tuple(target.share.export_locations)) for target in targets
        }
