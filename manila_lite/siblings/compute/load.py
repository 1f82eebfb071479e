# SPDX-License-Identifier: Apache-2.0
"""Loader of hypervisor drivers, by their entry points."""

from typing import Any

from oslo_config import cfg
from stevedore import driver, exception, extension

from manila_lite import errors
from manila_lite.siblings.compute.drivers.interface import InstanceDriver

NAMESPACE = 'manila_lite.compute.drivers'


def load_class(name: str) -> type[InstanceDriver]:
    """Return the driver class behind an entry point.

    :raises errors.BadConfig: there is no such driver, or it cannot be imported.
    """
    try:
        cls: Any = driver.DriverManager(NAMESPACE, name).driver
    except exception.NoMatches:
        known = ', '.join(sorted(extension.ExtensionManager(NAMESPACE).entry_points_names())) or 'none'
        raise errors.BadConfig(f'[compute] driver: {name}: no such driver; known: {known}') from None
    except (exception.MultipleMatches, ImportError, AttributeError) as broken:
        raise errors.BadConfig(f'[compute] driver: {name}: cannot be loaded: {broken}') from broken
    return cls


def make(conf: cfg.ConfigOpts) -> InstanceDriver:
    """Return the driver of this host, without touching the host.

    :raises errors.BadConfig: it cannot work as configured.
    """
    cls = load_class(conf.compute.driver)
    conf.register_opts(cls.OPTIONS, group=cls.GROUP)
    return cls(conf)
