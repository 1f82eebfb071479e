# SPDX-License-Identifier: Apache-2.0
"""``mlite-compute-api``, ``mlite-compute-agent`` and ``mlite-compute``, which is both in one process."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

from pathlib import Path

from manila_lite.siblings import process
from manila_lite.siblings.compute import agent, conf, policies
from manila_lite.siblings.compute.api import API

COMPUTE = process.Sibling(
    name='compute',
    api=API,
    rules=policies.RULES,
    register=conf.register_opts,
    check=agent.check,
    migrations=Path(__file__).parent / 'migrations',
    table='servers',
    worker=agent.Agent,
)


def api() -> int:
    """Run the API until a signal ends it."""
    return process.run_api(COMPUTE)


def host_agent() -> int:
    """Run the agent of this host until a signal ends it."""
    return process.run_worker(COMPUTE, 'mlite-compute-agent')


def both() -> int:
    """Run both until a signal ends them."""
    return process.run_all(COMPUTE)
