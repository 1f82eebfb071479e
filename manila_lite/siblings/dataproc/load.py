# SPDX-License-Identifier: Apache-2.0
"""Loader of infrastructures and handlers, by their entry points."""

from typing import Any

from manila_lite import entry_points
from manila_lite.siblings.dataproc.interface import Infra, ShareHandler

_INFRAS, _HANDLERS = 'manila_lite.dataproc.infras', 'manila_lite.dataproc.handlers'


def infra(conf: Any) -> Infra:
    """Return the infrastructure that ``[dataproc] infra`` names. :raises errors.BadConfig: it cannot be loaded."""
    name = conf.dataproc.infra
    cls: type[Infra] = entry_points.load(_INFRAS, name, Infra, f'[dataproc] infra = {name}', 'infrastructure')
    return cls(conf)


def handlers(conf: Any) -> dict[str, ShareHandler]:
    """Return a handler for every protocol of ``[dataproc] handlers``. :raises errors.BadConfig: one cannot be loaded."""
    return {
        protocol.upper(): entry_points.load(
            _HANDLERS, name, ShareHandler, f'[dataproc] handlers: {protocol}:{name}', 'handler'
        )(conf)
        for protocol, name in conf.dataproc.handlers.items()
    }
