# SPDX-License-Identifier: Apache-2.0
"""The calls of the cephfs driver that change something: what is there before, and what must be held after, however often the
call was begun.
"""

import dataclasses
from typing import Any, ClassVar

from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers.cephfs.volumes.subvolumes import GIB, SHARE, SNAPSHOT, UNMANAGED
from manila_lite.tests.functional.ceph.worlds import Held, World, admin, ask, entities


class Call:
    """One call for a share of its own, in a world. ``driver`` is that of the process that makes the call."""

    #: The name in tables.
    NAME: ClassVar[str]
    #: The change at which the manager of the cluster restarts, by protocol.
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 1, 'NFS': 1}
    SIZE = 1

    def __init__(self, world: World):
        self.world = world
        self.share = world.share(self.SIZE)

    def arrange(self) -> None:
        """Make what is there before."""

    def make(self, driver: Any) -> Any:
        """Make the call; return its answer."""
        raise NotImplementedError

    def expected(self) -> Held | None:
        """Return what is held of the share after the call."""
        return self.holds()

    def check(self, answer: Any) -> str:
        """Return what is wrong with the answer of the last try, or ''."""
        return ''

    def remove(self, driver: Any) -> None:
        """Delete the share."""
        driver.delete_share(self.share)

    def held(self) -> Held | None:
        """Return what is held of the share."""
        return self.world.held(self.share)

    # For subclasses ---------------------------------------------------------------------------

    def holds(
        self, limit: float | None = None, snapshots: Any = None, marks: Any = None, **levels: str
    ) -> Held:
        """Return what is held of a share that is open to these clients."""
        return Held(
            limit or self.SIZE,
            {SHARE: self.share.id} if marks is None else marks,
            snapshots=snapshots or {},
            **self.world.open_to(self.share, **levels),
        )

    def made(self, **levels: str) -> None:
        """Make the share, open to these clients."""
        self.world.common.create_share(self.share)
        if levels:
            self.open(self.world.common, **levels)

    def open(self, driver: Any, **levels: str) -> Any:
        """Open the share to exactly these clients."""
        return driver.update_access(self.share, self.world.rules(self.share, **levels))

    def wrong_keys(self, results: Any) -> str:
        """Return what is wrong with the results of rules, or ''."""
        bad = [result.error for result in results.values() if result.error]
        if self.world.TYPE != 'cephx':
            return str(bad or '')
        known = entities()
        return str(bad or '') + ''.join(
            f'{name} has another key than the answer says. '
            for name, result in results.items()
            if result.access_key != known[self.world.client(name, self.share)]['key']
        )


class Create(Call):
    NAME = 'create_share'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 1, 'NFS': 3}

    def make(self, driver):
        return driver.create_share(self.share)

    def check(self, answer):
        info = ask('info', self.share.id)
        wrong = (
            ''
            if info['path'].startswith(f'/volumes/_nogroup/{self.share.id}/')
            else f'the path is {info["path"]}. '
        )
        return wrong + ('' if info['data_pool'] == self.share.pool else f'the pool is {info["data_pool"]}. ')


class Copy(Create):
    """A share from a snapshot. Its quota is larger than that of its source."""

    NAME = 'create_share_from_snapshot'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 1, 'NFS': 1}
    SIZE = 2

    def arrange(self):
        self.source = _Source.of(self.world)

    def make(self, driver):
        while True:
            try:
                return driver.create_share_from_snapshot(self.share, self.source)
            except errors.Again:
                pass


class _Source:
    """A share with a snapshot, one for each world."""

    @staticmethod
    def of(world):
        """Return the snapshot."""
        if not hasattr(world, 'source'):
            share = world.share()
            world.common.create_share(share)
            world.source = values.Snapshot(uuidutils.generate_uuid(), share, share.size)
            world.common.create_snapshot(world.source)
        return world.source


class Delete(Call):
    NAME = 'delete_share'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 6, 'NFS': 3}

    def arrange(self):
        self.made(alice='rw', bob='ro')

    def make(self, driver):
        driver.delete_share(self.share)

    def expected(self):
        return None


class Extend(Call):
    NAME = 'extend_share'

    def arrange(self):
        self.made()

    def make(self, driver):
        driver.extend_share(self.share, 2)

    def expected(self):
        return self.holds(2)


class Shrink(Extend):
    NAME = 'shrink_share'
    SIZE = 2

    def make(self, driver):
        driver.shrink_share(self.share, 1)

    def expected(self):
        return self.holds(1)


class Grant(Call):
    NAME = 'update_access: grant'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 2, 'NFS': 1}

    def arrange(self):
        self.made()

    def make(self, driver):
        return self.open(driver, alice='rw', bob='ro')

    def expected(self):
        return self.holds(alice='rw', bob='ro')

    def check(self, answer):
        return self.wrong_keys(answer)


class Lower(Call):
    """A client that writes may only read afterwards; its session ends."""

    NAME = 'update_access: lower'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 2, 'NFS': 1}
    AFTER: ClassVar[dict[str, str]] = {'alice': 'ro', 'bob': 'rw'}

    def arrange(self):
        self.made(alice='rw', bob='rw')
        self.end = self.world.session(self.share, 'alice')

    def make(self, driver):
        return self.open(driver, **self.AFTER)

    def expected(self):
        return self.holds(**self.AFTER)

    def check(self, answer):
        return self.wrong_keys(answer) + (
            'alice still has a session. ' if self.world.sessions(self.share, 'alice') else ''
        )

    def remove(self, driver):
        self.end()
        super().remove(driver)


class Deny(Lower):
    NAME = 'update_access: deny'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 2, 'NFS': 1}
    AFTER: ClassVar[dict[str, str]] = {'bob': 'rw'}


class TakeSnapshot(Call):
    NAME = 'create_snapshot'

    def arrange(self):
        self.made()
        self.snapshot = values.Snapshot(uuidutils.generate_uuid(), self.share, self.SIZE)

    def make(self, driver):
        return driver.create_snapshot(self.snapshot)

    def expected(self):
        return self.holds(snapshots={self.snapshot.id: {SNAPSHOT: self.snapshot.id}})

    def remove(self, driver):
        driver.delete_snapshot(self.snapshot)
        super().remove(driver)


class DeleteSnapshot(TakeSnapshot):
    NAME = 'delete_snapshot'

    def arrange(self):
        super().arrange()
        self.world.common.create_snapshot(self.snapshot)

    def make(self, driver):
        driver.delete_snapshot(self.snapshot)

    def expected(self):
        return self.holds()


class Manage(Call):
    """A subvolume of somebody else, whose id it is open to."""

    NAME = 'manage_share'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 4, 'NFS': 6}

    def arrange(self):
        self.name = f'found-{self.share.id}'
        admin().manager(
            'fs subvolume create',
            vol_name='a',
            sub_name=self.name,
            size=self.SIZE * GIB,
            namespace_isolated=True,
        )
        ask(
            'authorize',
            self.name,
            auth_id=f'before-{self.share.id}',
            access_level='rw',
            tenant_id='of-manila',
        )
        self.path = ask('getpath', self.name)

    def make(self, driver):
        answer = driver.manage_share(self.share, self.path, {})
        self.share = dataclasses.replace(self.share, export_locations=answer.export_locations)
        return answer

    def held(self):
        return self.world.held(self.share, self.name)

    def check(self, answer):
        return '' if answer.size == self.SIZE else f'the size is {answer.size}'


class Unmanage(Call):
    NAME = 'unmanage_share'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 5, 'NFS': 3}

    def arrange(self):
        self.made(alice='rw', bob='ro')

    def make(self, driver):
        driver.unmanage_share(self.share)

    def expected(self):
        return Held(self.SIZE, {SHARE: UNMANAGED}, frozenset(), frozenset())

    def remove(self, driver):
        ask('rm', self.share.id)


class ManageSnapshot(TakeSnapshot):
    NAME = 'manage_snapshot'

    def arrange(self):
        self.made()
        self.snapshot = values.Snapshot(
            uuidutils.generate_uuid(), self.share, self.SIZE, provider_location='found'
        )
        ask('snapshot create', self.share.id, snap_name='found')

    def make(self, driver):
        return driver.manage_snapshot(self.snapshot, {})

    def expected(self):
        return self.holds(snapshots={'found': {SNAPSHOT: self.snapshot.id}})


class UnmanageSnapshot(ManageSnapshot):
    NAME = 'unmanage_snapshot'

    def arrange(self):
        super().arrange()
        self.world.common.manage_snapshot(self.snapshot, {})

    def make(self, driver):
        return driver.unmanage_snapshot(self.snapshot)

    def expected(self):
        return self.holds(snapshots={'found': {SNAPSHOT: UNMANAGED}})

    def remove(self, driver):
        ask('snapshot rm', self.share.id, snap_name='found')
        Call.remove(self, driver)


class Ensure(Call):
    """A share whose limit and keys are lost, and the file of its export."""

    NAME = 'ensure_share'
    RESTART: ClassVar[dict[str, int]] = {'CEPHFS': 3, 'NFS': 1}

    def arrange(self):
        self.made(alice='rw', bob='ro')
        ask('resize', self.share.id, new_size='inf')
        lost, _ = min(self.world.open_to(self.share, alice='rw')['keys'])
        ask('deauthorize', self.share.id, auth_id=lost)
        for file in self.world.state.glob(f'exports.d/{self.share.id}.conf'):
            file.unlink()

    def make(self, driver):
        target = values.EnsureTarget(self.share, tuple(self.world.rules(self.share, alice='rw', bob='ro')))
        return driver.ensure_share(target)  # ensure_shares does it in threads of its own

    def expected(self):
        return self.holds(alice='rw', bob='ro')

    def check(self, answer):
        return answer.error or self.wrong_keys(answer.rules)


NATIVE: tuple[type[Call], ...] = (
    Create,
    Copy,
    Delete,
    Extend,
    Shrink,
    Grant,
    Lower,
    Deny,
    TakeSnapshot,
    DeleteSnapshot,
    Manage,
    Unmanage,
    ManageSnapshot,
    UnmanageSnapshot,
    Ensure,
)
#: The calls that make a share.
MAKERS = (Create, Copy)
#: Of NFS, the calls that change exports.
NFS: tuple[type[Call], ...] = (Create, Copy, Delete, Grant, Lower, Deny, Manage, Unmanage, Ensure)
