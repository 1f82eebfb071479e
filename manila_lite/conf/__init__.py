# SPDX-License-Identifier: Apache-2.0
"""Configuration: one module per group, each with ``register_opts(conf)`` and ``list_opts()``."""

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
    neutron,
    operations,
    quota,
    rate_limits,
    rpc,
    scheduler,
    secrets,
)

MODULES = (api, backend, backup, console, data, database, deletion, encryption, events, limits, metrics, network, neutron,
           operations, quota, rate_limits, rpc, scheduler, secrets)


def register(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    """Register all options on ``conf``; may be called twice."""
    for module in MODULES:
        module.register_opts(conf)
    return conf
