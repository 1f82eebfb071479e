# SPDX-License-Identifier: Apache-2.0
"""Loader of infrastructures and handlers, by their entry points."""

from typing import Any

from stevedore import driver
from stevedore.exception import NoMatches

from manila_lite import errors
from manila_lite.siblings.dataproc.interface import Infra, ShareHandler

_INFRAS, _HANDLERS = 'manila_lite.dataproc.infras', 'manila_lite.dataproc.handlers'


def infra(conf: Any) -> Infra:
    """Return the infrastructure that ``[dataproc] infra`` names. :raises errors.BadConfig: there is none of that name."""
    return _load(_INFRAS, conf.dataproc.infra, 'infra', conf)


def handlers(conf: Any) -> dict[str, ShareHandler]:
    """Return a handler for every protocol of ``[dataproc] handlers``.

    :raises errors.BadConfig: there is none of that name.
    """
    return {protocol.upper(): _load(_HANDLERS, name, 'handlers', conf)
            for protocol, name in conf.dataproc.handlers.items()}


def _load(namespace: str, name: str, option: str, conf: Any) -> Any:
    try:
        return driver.DriverManager(namespace, name, invoke_on_load=True, invoke_args=(conf,)).driver
    except NoMatches:
        raise errors.BadConfig(f'[dataproc] {option}: there is no {name!r}') from None
