# SPDX-License-Identifier: Apache-2.0
"""Migration of share servers to the driver. Mixed into a binding, it adds a second backend of the same kind, the source."""

import contextlib
import dataclasses

from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers import load
from manila_lite.tests import waiting

#: Prefixes of the driver's methods, by type of migration.
_CALLS = {values.ServerMigration: 'share_server_migration', values.ShareMigration: 'share_migration'}
ORIGIN = 'origin'
ORIGIN_HOST = f'here@{ORIGIN}'


class Origin:
    """Mixin for a ``base.Binding``: a source backend."""

    #: Whether the source of the present migration is on the backend that is tested, and not on the one beside it.
    is_within = False

    def origin_options(self) -> dict[str, str]:
        """Return the options of the source backend that differ."""
        return {}

    def setUp(self):
        super().setUp()
        with self.config_file.open('a') as file:
            about = self.options() | self.origin_options()
            file.write(
                '\n'.join([f'[{ORIGIN}]', *(f'{name} = {value}' for name, value in about.items()), ''])
            )
        conf = cfg.ConfigOpts()
        conf([], project='manila_lite', default_config_files=[str(self.config_file)])
        self.origin = load.make(self.DRIVER, ORIGIN, ORIGIN_HOST, conf, self.root / ORIGIN)
        self.addCleanup(self.close_origin)
        self.origin.setup()

    def close_origin(self) -> None:
        """Shut the source backend down."""
        self.origin.shutdown()

    @contextlib.contextmanager
    def at_origin(self):
        """Direct the calls of the test at the backend of the source."""
        here, self.driver = self.driver, self.driver if self.is_within else self.origin
        try:
            yield
        finally:
            self.driver = here

    def there(self, method: str, *args):
        """Call a method of the test for the backend of the source."""
        with self.at_origin():
            return getattr(self, method)(*args)

    def step(self, name: str, migration: values.ServerMigration | values.ShareMigration):
        """Run one step of the migration at the driver."""
        return getattr(self.driver, f'{_CALLS[type(migration)]}_{name}')(migration)

    def call_off(self, migration: values.ServerMigration | values.ShareMigration) -> None:
        """Cancel the migration unless it is complete."""
        with contextlib.suppress(errors.Final):  # it is complete
            self.step('cancel', migration)

    def near(self, migration: values.ServerMigration | values.ShareMigration) -> bool:
        """Wait until the copy is near."""
        return bool(waiting.until(lambda: self.step('continue', migration), 'the copy is near', pause=0.05))


class Migrates(Origin):
    """Mixin for a ``base.Binding`` with ``servers.OnServers``."""

    def served(self, content: str, server: values.ShareServer) -> values.Share:
        """Return a share on a server, with content and rules."""
        share = self.a_share(server=server)
        self.driver.create_share(share)
        self.driver.update_access(share, self.rules(self.GOOD))
        self.write(share, content)
        return share

    def a_migration(self, *, keeps_addresses: bool = False, within: bool = False) -> values.ServerMigration:
        """Return the migration of a share server that runs and is in use, with two shares and a snapshot.

        ``within``: into another share network of the same backend.
        """
        self.is_within = within
        with self.at_origin():
            source = self.made_server()
            one, two = (self.served(content, source) for content in ('first', 'second'))
            snapshot = values.Snapshot(uuidutils.generate_uuid(), one, one.size)
            snapshot = dataclasses.replace(snapshot, provider_location=self.driver.create_snapshot(snapshot))
            self.write(one, 'later')
        target = self.a_server(
            *(('more',) if within else ()), **({'networks': source.networks} if keeps_addresses else {})
        )
        migration = values.ServerMigration(
            source,
            self.driver.backend.host if within else ORIGIN_HOST,
            target,
            self.driver.report()[0].name,
            (one, two),
            (snapshot,),
            {share.id: tuple(self.rules(self.GOOD)) for share in (one, two)},
            keeps_addresses=keeps_addresses,
        )
        for share in migration.shares:
            self.addCleanup(self.driver_call, 'delete_share', dataclasses.replace(share, server=target))
        self.addCleanup(self.call_off, migration)
        self.addCleanup(self.driver_call, 'delete_snapshot', snapshot)
        return migration

    def bother_origin(self, migration: values.ServerMigration) -> None:
        """Do the periodic work of the source's backend; none of it may start the server there."""
        with self.at_origin():
            self.driver.report()

    def left_of(self, migration: values.ServerMigration) -> list[str]:
        """Return all that was made for the migration only and is left at either backend, as the backends report it."""
        raise NotImplementedError

    def assert_serves_there(self, migration: values.ServerMigration) -> None:
        """Check that the source backend serves as if nothing had happened."""
        for share, content in zip(migration.shares, ('later', 'second'), strict=True):
            self.assertEqual(set(self.GOOD), self.there('in_force', share))
            self.assertEqual(content, self.there('read', share))
        self.assertEqual(self.planned(migration.source), self.there('addresses', migration.source))
