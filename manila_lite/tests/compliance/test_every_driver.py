# SPDX-License-Identifier: Apache-2.0
"""Every driver of ours runs every suite."""

import importlib
from importlib import metadata

import testtools

from manila_lite.drivers import interface, load
from manila_lite.tests.compliance import (
    backups,
    base,
    calls,
    edge_cases,
    manage_shares,
    replication,
    server_calls,
    share_migrations,
)

SUITES = (calls.EveryCall, calls.BesideAccess, edge_cases.EdgeCases)
SERVER_SUITES = (server_calls.EveryServerCall, server_calls.BesideServer, server_calls.ServerEdgeCases)
MANAGE_SUITES = (manage_shares.EveryManageCall, manage_shares.ManageEdgeCases)
SHARE_MIGRATION_SUITES = (share_migrations.EveryShareMigrationCall,)
MIGRATION_SUITES = (server_calls.EveryMigrationCall, server_calls.MigrationEdgeCases)


class EveryDriverTest(testtools.TestCase):
    def test_every_driver_is_bound_to_every_suite(self):
        ours = {
            entry.name
            for entry in metadata.entry_points(group=load.NAMESPACE)
            if entry.value.startswith('manila_lite.drivers.')
        }
        self.assertTrue(ours)
        for name in ours:
            module = importlib.import_module(f'{__package__}.test_{name}')
            bound = [
                item
                for item in vars(module).values()
                if isinstance(item, type) and issubclass(item, base.Binding) and name == item.DRIVER
            ]
            makes_servers = issubclass(load.load_class(name), interface.MakesServers)
            takes_servers = issubclass(load.load_class(name), interface.MigratesServers)
            manages = issubclass(load.load_class(name), interface.ManagesShares)
            takes_shares = issubclass(load.load_class(name), interface.MigratesShares)
            backs_up = issubclass(load.load_class(name), interface.BacksUp)
            replicates = issubclass(load.load_class(name), interface.Replicates)
            wanted = (
                *SUITES,
                *((replication.EveryReplicationCall,) if replicates else ()),
                *((backups.EveryBackupCall,) if backs_up else ()),
                *(MANAGE_SUITES if manages else ()),
                *(SHARE_MIGRATION_SUITES if takes_shares else ()),
                *(SERVER_SUITES if makes_servers else ()),
                *(MIGRATION_SUITES if takes_servers else ()),
            )
            for suite in wanted:
                self.assertTrue(
                    any(issubclass(item, suite) for item in bound), f'{name} is not tried on {suite}'
                )
