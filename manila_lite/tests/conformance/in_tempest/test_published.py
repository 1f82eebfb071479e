# SPDX-License-Identifier: Apache-2.0
"""The published scenario tests under their own names, each with the base class ``Clients`` before its own."""

import functools
import importlib
import pkgutil
import unittest

import adapter
from manila_tempest_tests.tests import scenario


def load_tests(loader, tests, pattern):
    """Load them; see unittest."""
    adapter.ask_for_no_neutron()
    names = (found.name for found in pkgutil.iter_modules(scenario.__path__))
    modules = (importlib.import_module(f'{scenario.__name__}.{name}') for name in names)
    published = (test for module in modules for test in _each(loader.loadTestsFromModule(module)))
    return unittest.TestSuite(_with_clients(type(test))(test._testMethodName) for test in published)


def _each(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _each(test)
        else:
            yield test


@functools.cache
def _with_clients(published):
    return type(published.__name__, (adapter.Clients, published), {'__module__': published.__module__})
