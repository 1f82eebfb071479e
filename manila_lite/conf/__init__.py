# SPDX-License-Identifier: Apache-2.0
"""Configuration: one module per group, each with ``register_opts(conf)`` and ``list_opts()``.

The options of Neutron, osprofiler and RabbitMQ are registered where they are used: their packages are slow to import.
"""

from oslo_config import cfg

from manila_lite.conf import (
    api,
    backend,
    backup,
    console,
    data,
    database,
    deletion,
    encryption,
    events,
    limits,
    metrics,
    network,
    operations,
    quota,
    rate_limits,
    rpc,
    scheduler,
    secrets,
)

MODULES = (
    api,
    backend,
    backup,
    console,
    data,
    database,
    deletion,
    encryption,
    events,
    limits,
    metrics,
    network,
    operations,
    quota,
    rate_limits,
    rpc,
    scheduler,
    secrets,
)
#: Modules whose options are registered, and which are imported, only where they are used.
ON_USE = ('neutron',)


def register(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    """Register all options on ``conf``; may be called twice."""
    for module in MODULES:
        module.register_opts(conf)
    return conf
