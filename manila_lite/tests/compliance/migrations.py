# SPDX-License-Identifier: Apache-2.0
"""The driver takes over share servers. Mixed into a binding, there is a second backend of the same kind, to come from."""

import contextlib
import dataclasses

from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import errors, kinds
from manila_lite.drivers import load
from manila_lite.tests import waiting
from manila_lite.tests.compliance import base

#: What the names of a driver's methods begin with, by what moves.
_CALLS = {kinds.ServerMigration: 'share_server_migration', kinds.ShareMigration: 'share_migration'}
ORIGIN = 'origin'
ORIGIN_HOST = f'here@{ORIGIN}'


class Origin:
    """For a class that is a ``base.Binding`` too."""

    def origin_options(self) -> dict[str, str]:
        """Return the section of the backend to come from, as far as it differs."""
        return {}

    def setUp(self):
        super().setUp()
        with self.config_file.open('a') as file:
            about = self.options() | self.origin_options()
            file.write('\n'.join([f'[{ORIGIN}]', *(f'{name} = {value}' for name, value in about.items()), '']))
        conf = cfg.ConfigOpts()
        conf([], project='manila_lite', default_config_files=[str(self.config_file)])
        self.origin = load.make(self.DRIVER, ORIGIN, ORIGIN_HOST, conf, self.root / ORIGIN)
        self.addCleanup(self.close_origin)
        self.origin.setup()

    def close_origin(self) -> None:
        """Nothing is left of the backend to come from."""
        self.origin.shutdown()

    @contextlib.contextmanager
    def at_origin(self):
        """What the test does, it does to the backend to come from."""
        here, self.driver = self.driver, self.origin
        try:
            yield
        finally:
            self.driver = here

    def there(self, method: str, *args):
        """Ask the test something about the backend to come from."""
        with self.at_origin():
            return getattr(self, method)(*args)

    def step(self, name: str, migration: kinds.ServerMigration | kinds.ShareMigration):
        """Have the driver do a step of the migration."""
        return getattr(self.driver, f'{_CALLS[type(migration)]}_{name}')(migration)

    def call_off(self, migration: kinds.ServerMigration | kinds.ShareMigration) -> None:
        """The migration is over."""
        with contextlib.suppress(errors.Final):     # it is complete
            self.step('cancel', migration)

    def near(self, migration: kinds.ServerMigration | kinds.ShareMigration) -> bool:
        """The copy got as near as it gets."""
        return bool(waiting.until(lambda: self.step('continue', migration), 'the copy is near', base.STUCK, pause=0.05))


class Migrates(Origin):
    """For a class that is a ``base.Binding`` and ``servers.OnServers`` too."""

    def served(self, content: str, server: kinds.ShareServer) -> kinds.Share:
        """Return a share on a server, with content and rules."""
        share = self.a_share(server=server)
        self.driver.create_share(share)
        self.driver.update_access(share, self.rules(self.GOOD))
        self.write(share, content)
        return share

    def a_migration(self, *, keeps_addresses: bool = False) -> kinds.ServerMigration:
        """Return the migration of a server that runs, with two shares and a snapshot, and is used."""
        with self.at_origin():
            source = self.made_server()
            one, two = (self.served(content, source) for content in ('first', 'second'))
            snapshot = kinds.Snapshot(uuidutils.generate_uuid(), one, one.size)
            snapshot = dataclasses.replace(snapshot, provider_location=self.driver.create_snapshot(snapshot))
            self.write(one, 'later')
        target = self.a_server(**({'networks': source.networks} if keeps_addresses else {}))
        migration = kinds.ServerMigration(
            source, ORIGIN_HOST, target, self.driver.report()[0].name, (one, two), (snapshot,),
            {share.id: tuple(self.rules(self.GOOD)) for share in (one, two)}, keeps_addresses=keeps_addresses)
        for share in migration.shares:
            self.addCleanup(self.driver_call, 'delete_share', dataclasses.replace(share, server=target))
        self.addCleanup(self.call_off, migration)
        self.addCleanup(self.driver_call, 'delete_snapshot', snapshot)
        return migration

    def bother_origin(self, migration: kinds.ServerMigration) -> None:
        """The backend to come from does what backends do by themselves; nothing of that makes the server run there."""
        self.origin.report()

    def left_of(self, migration: kinds.ServerMigration) -> list[str]:
        """Return what either backend still has that was made for the migration only, as they themselves have it."""
        raise NotImplementedError

    def assert_serves_there(self, migration: kinds.ServerMigration) -> None:
        """The backend to come from serves as if nothing had happened."""
        for share, content in zip(migration.shares, ('later', 'second'), strict=True):
            self.assertEqual(set(self.GOOD), self.there('in_force', share))
            self.assertEqual(content, self.there('read', share))
        self.assertEqual(self.planned(migration.source), self.there('addresses', migration.source))
