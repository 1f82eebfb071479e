# SPDX-License-Identifier: Apache-2.0
"""Loader of the network plugin, by its entry point."""

from typing import Any

from manila_lite import entry_points, errors
from manila_lite.conf import network
from manila_lite.network.interface import NetworkPlugin

NAMESPACE = 'manila_lite.network'


def names() -> list[str]:
    """Return the names of all installed plugins, in order."""
    return entry_points.names(NAMESPACE)


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
    cls = entry_points.load(NAMESPACE, name, NetworkPlugin, f'[{section}] plugin = {name}', 'plugin')
    try:
        plugin: NetworkPlugin = cls(conf)
        return plugin
    except errors.BadConfig as bad:
        if not group:
            raise
        raise errors.BadConfig(f'[{group}] instead of {bad}') from bad
