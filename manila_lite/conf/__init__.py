# SPDX-License-Identifier: Apache-2.0
"""Configuration: one module per group, each with its ``OPTIONS`` by group.

The options of Neutron, osprofiler and RabbitMQ are registered where they are used: their packages are slow to import.
"""

from typing import Any

from oslo_config import cfg
from oslo_db import options as database_options
from oslo_reports import opts as reports_opts

from manila_lite import trace
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


def register_module(conf: cfg.ConfigOpts, module: Any) -> None:
    """Register the options of a module of this package on ``conf``."""
    for group, options in module.OPTIONS.items():
        conf.register_opts(options, group=None if group == 'DEFAULT' else group)


def register(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    """Register all options on ``conf``, with those of oslo.db and oslo.reports, and that which enables osprofiler. May be
    called twice.
    """
    for module in MODULES:
        register_module(conf, module)
    database_options.set_defaults(conf)
    reports_opts.set_defaults(conf)
    conf.register_opt(trace.ENABLED, group='profiler')
    return conf
