# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the URL of a database, or with its file, in one line with the cure."""

import os
from pathlib import Path

import sqlalchemy

from manila_lite import errors

#: The schemes of URLs with which this product was tried, and what to install for each.
_DRIVERS = {
    'sqlite': '',
    'postgresql+psycopg2': 'the extra postgresql (psycopg2-binary)',
    'mysql+pymysql': 'the extra mysql (PyMySQL)',
    'mysql+mysqldb': 'mysqlclient, or write mysql+pymysql and install the extra mysql (PyMySQL)',
}
_FORM = (
    'write DRIVER://USER:PASSWORD@HOST/DATABASE, or sqlite:////PATH; in the password write @ as %40, / as %2F, : as %3A '
    'and % as %25'
)


def check(url: str, option: str = '[database] connection') -> None:
    """Load the driver of the URL, which is the value of the option.

    :raises errors.BadConfig: it is no URL, or there is no such driver, or it is not installed. The message does not quote the
        URL, for it may hold a password.
    """
    try:
        sqlalchemy.make_url(url).get_dialect().import_dbapi()
    except (sqlalchemy.exc.ArgumentError, ImportError, ValueError) as bad:
        raise errors.BadConfig(f'{option}: {explain(bad, url or "")}') from None


def explain(error: Exception, url: str) -> str:
    """Return the cause and the cure, for an error that came when the database of the URL was opened; or ''."""
    scheme = url.partition(':')[0]
    if isinstance(error, sqlalchemy.exc.NoSuchModuleError):
        return f'there is no driver {scheme}; use one of {", ".join(_DRIVERS)}'
    if isinstance(error, sqlalchemy.exc.ArgumentError | ValueError):
        return f'it is no URL of a database; {_FORM}'
    if isinstance(error, ImportError):
        return f'the driver of {scheme} is missing ({error}); install {_DRIVERS.get(scheme, "it")}'
    if 'unable to open database file' in str(error) or 'readonly database' in str(error):
        return _of_file(sqlalchemy.make_url(url).database or '')
    return ''


def _of_file(name: str) -> str:
    folder = Path(name).parent
    if not folder.is_dir():
        return f'there is no directory {folder}; make it, or change [DEFAULT] state_path or the URL'
    return f'{name} cannot be written by the user {os.geteuid()}; run this as the user of the service, or change its directory'
