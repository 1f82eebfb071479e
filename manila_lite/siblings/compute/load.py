# SPDX-License-Identifier: Apache-2.0
"""Loader of hypervisor drivers, by their entry points."""

from oslo_config import cfg

from manila_lite import entry_points
from manila_lite.siblings.compute.drivers.interface import InstanceDriver

NAMESPACE = 'manila_lite.compute.drivers'


def make(conf: cfg.ConfigOpts) -> InstanceDriver:
    """Return the driver of this host, without touching the host.

    :raises errors.BadConfig: there is no such driver, or it cannot work as configured.
    """
    name = conf.compute.driver
    cls: type[InstanceDriver] = entry_points.load(NAMESPACE, name, InstanceDriver, f'[compute] driver = {name}')
    conf.register_opts(cls.OPTIONS, group=cls.GROUP)
    return cls(conf)
