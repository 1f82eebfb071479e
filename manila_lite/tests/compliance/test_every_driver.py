# SPDX-License-Identifier: Apache-2.0
"""No driver of ours goes without the suite."""

import importlib
from importlib import metadata

import testtools

from manila_lite.drivers import interface, load
from manila_lite.tests.compliance import base, calls, promises, server_promises

SUITES = (calls.EveryCall, calls.BesideAccess, promises.Promises)
SERVER_SUITES = (server_promises.EveryServerCall, server_promises.BesideServer, server_promises.ServerPromises)


class EveryDriverTest(testtools.TestCase):
    def test_every_driver_is_bound_to_every_suite(self):
        ours = {entry.name for entry in metadata.entry_points(group=load.NAMESPACE)
                if entry.value.startswith('manila_lite.drivers.')}
        self.assertTrue(ours)
        for name in ours:
            module = importlib.import_module(f'{__package__}.test_{name}')
            bound = [item for item in vars(module).values()
                     if isinstance(item, type) and issubclass(item, base.Binding) and name == item.DRIVER]
            makes_servers = issubclass(load.load_class(name), interface.MakesServers)
            for suite in SUITES + (SERVER_SUITES if makes_servers else ()):
                self.assertTrue(any(issubclass(item, suite) for item in bound), f'{name} is not tried on {suite}')
