# SPDX-License-Identifier: Apache-2.0
"""Loader of the network plugin, by its entry point."""

from typing import Any

from stevedore import driver as stevedore_driver
from stevedore import exception, extension

from manila_lite import errors
from manila_lite.conf import network
from manila_lite.network.interface import NetworkPlugin

NAMESPACE = 'manila_lite.network'


def names() -> list[str]:
    """Return the names of all installed plugins, in order."""
    return sorted(extension.ExtensionManager(NAMESPACE).entry_points_names())


class _Instead:
    """A configuration in which one section replaces those of the network plugin."""

    def __init__(self, conf: Any, group: str):
        network.register_instead(conf, group)
        self._conf = conf
        self._group = group

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, self._group if name in network.INSTEAD_OF else name)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __contains__(self, name: str) -> bool:
        return name in self._conf


def make(conf: Any, group: str | None = None) -> NetworkPlugin:
    """Return the plugin that ``[network] plugin`` names, or, with ``group``, the plugin that this section names and configures.

    :raises errors.BadConfig: there is no such plugin, it cannot be imported, is not a NetworkPlugin, or cannot work.
    """
    section = group or 'network'
    if group:
        conf = _Instead(conf, group)
    name = conf.network.plugin
    try:
        cls: Any = stevedore_driver.DriverManager(NAMESPACE, name).driver
    except exception.NoMatches:
        raise errors.BadConfig(f'[{section}] plugin: no such plugin: {name}; known: {", ".join(names()) or "none"}') from None
    except (exception.MultipleMatches, ImportError, AttributeError) as broken:
        raise errors.BadConfig(f'[{section}] plugin: {name} cannot be loaded: {broken}') from broken
    if not (isinstance(cls, type) and issubclass(cls, NetworkPlugin)):
        raise errors.BadConfig(f'[{section}] plugin: {name} is no NetworkPlugin but {cls!r}')
    try:
        return cls(conf)
    except errors.BadConfig as bad:
        if not group:
            raise
        raise errors.BadConfig(f'[{group}] instead of {bad}') from bad
