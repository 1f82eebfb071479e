# SPDX-License-Identifier: Apache-2.0
"""Fill a product with shares through the database and the dummy's own files, as the API would take hours.

``python filling.py CONFIG PROJECT FIRST LAST``: shares number FIRST to LAST - 1 of all. A tenth of them are the project's, the
others belong to ``PROJECTS - 1`` further projects. A process of its own, since the product must not run meanwhile.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import subprocess
import sys
from collections.abc import Iterator

from manila_lite import context, errors
from manila_lite.cmd import setup
from manila_lite.db import models
from manila_lite.db.queries import share_types
from manila_lite.manager.runtime.service import ShareManager
from manila_lite.tests.factories import held

PROJECTS, POOLS = 1000, 200
#: Has a server look at its tables now: without that it plans for empty ones for a while.
_LOOK = {'mysql': 'ANALYZE TABLE {}', 'postgresql': 'ANALYZE {}'}
#: Shares that are made at once, all of one project and in one pool.
_CHUNK = 50


def pool(number: int) -> str:
    """Return the name of a pool."""
    return f'pool{number % POOLS}'


def fill(config: object, project: str, first: int, last: int) -> None:
    """Run this module."""
    subprocess.run([sys.executable, __file__, str(config), project, str(first), str(last)], check=True)


def _portions(project: str, count: int) -> Iterator[tuple[str, int]]:
    """Yield projects, each with its number of new shares."""
    mine = count // 10
    yield project, mine
    others = PROJECTS - 1
    for number in range(others):
        if portion := (count - mine) // others + (number < (count - mine) % others):
            yield f'project-{number}', portion


def main(config: str, project: str, first: int, last: int) -> None:
    """Make the shares, and the default type if there is none."""
    services = setup.services(setup.configure([f'--config-file={config}']))
    manager = ShareManager(services, 'alpha')
    manager.driver.store.prepare()
    with services.db.writer() as conn:
        try:
            type_id = share_types.find(conn, context.admin(services), 'default').id
        except errors.NotFound:
            type_id = share_types.create(conn, 'default', {'driver_handles_share_servers': 'False'})
    turn = first
    for owner, portion in _portions(project, last - first):
        for start in range(0, portion, _CHUNK):
            held.make(
                services,
                manager.driver,
                min(_CHUNK, portion - start),
                type_id=type_id,
                project=owner,
                pool=pool(turn := turn + 1),
            )
    look = _LOOK.get(services.db.engine.dialect.name)
    for table in models.metadata.sorted_tables if look else ():
        with services.db.writer() as conn:
            conn.exec_driver_sql(look.format(table.name))
    services.db.dispose()


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
