# SPDX-License-Identifier: Apache-2.0
"""The file of a SQLite database, and its owner."""

import contextlib
import os
from pathlib import Path

import sqlalchemy


def make(connection: str) -> None:
    """Make the file of the URL ``connection``, if it is missing and this process is root's. It has the owner of its folder.

    Otherwise a command that root types once would leave a database that the services cannot open, as they run as that owner.
    SQLite gives the files beside the database to the owner of the database. What fails here, it tells better.
    """
    url = sqlalchemy.make_url(connection)
    if os.geteuid() != 0 or url.get_backend_name() != 'sqlite' or not url.database or url.database.startswith((':', 'file:')):
        return
    path = Path(url.database)
    with contextlib.suppress(OSError):
        owner = path.parent.stat()
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.fchown(file, owner.st_uid, owner.st_gid)
        finally:
            os.close(file)
