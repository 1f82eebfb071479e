# SPDX-License-Identifier: Apache-2.0
"""Finds the network plugin by its entry point."""

from typing import Any

from stevedore import driver as stevedore_driver
from stevedore import exception, extension

from manila_lite import errors
from manila_lite.network.interface import NetworkPlugin

NAMESPACE = 'manila_lite.network'


def names() -> list[str]:
    """Return the names of all installed plugins, in order."""
    return sorted(extension.ExtensionManager(NAMESPACE).entry_points_names())


def make(conf: Any) -> NetworkPlugin:
    """Return the plugin that ``[network] plugin`` names.

    :raises errors.BadConfig: there is no such plugin, it cannot be imported, is none, or cannot work.
    """
    name = conf.network.plugin
    try:
        cls: Any = stevedore_driver.DriverManager(NAMESPACE, name).driver
    except exception.NoMatches:
        raise errors.BadConfig(f'[network] plugin: no such plugin: {name}; known: {", ".join(names()) or "none"}') from None
    except (exception.MultipleMatches, ImportError, AttributeError) as broken:
        raise errors.BadConfig(f'[network] plugin: {name} cannot be loaded: {broken}') from broken
    if not (isinstance(cls, type) and issubclass(cls, NetworkPlugin)):
        raise errors.BadConfig(f'[network] plugin: {name} is no NetworkPlugin but {cls!r}')
    return cls(conf)
