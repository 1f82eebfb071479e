# SPDX-License-Identifier: Apache-2.0
"""``mlite-dataproc-api``, ``mlite-dataproc-engine``, and ``mlite-dataproc``, which is both in one process."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import sys
from pathlib import Path

from manila_lite.siblings import process
from manila_lite.siblings.dataproc import conf, load, policies
from manila_lite.siblings.dataproc.api import API
from manila_lite.siblings.dataproc.engine import Engine


def _check(options: object) -> None:
    load.infra(options)
    load.handlers(options)


SIBLING = process.Sibling(
    name='dataproc',
    api=API,
    rules=policies.RULES,
    register=conf.register_opts,
    migrations=Path(__file__).parent / 'migrations',
    table='clusters',
    worker=Engine,
    check=_check,
)


def api() -> int:
    """Run the API until a signal ends it."""
    return process.run_api(SIBLING)


def engine() -> int:
    """Run an engine until a signal ends it."""
    return process.run_worker(SIBLING, 'mlite-dataproc-engine')


def main() -> int:
    """Run both until a signal ends them."""
    return process.run_all(SIBLING)


if __name__ == '__main__':
    sys.exit(main())
