# SPDX-License-Identifier: Apache-2.0
"""The options for the sample generator. All modules of the package are searched, so that none can be forgotten."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from oslo_config import cfg

import manila_lite.conf

_NOT_OPTIONS = ('numeric', 'opts')


def modules() -> Iterator[ModuleType]:
    """Yield every option module; each must have ``list_opts``."""
    for info in pkgutil.iter_modules(manila_lite.conf.__path__):
        if info.name not in _NOT_OPTIONS:
            yield importlib.import_module(f'manila_lite.conf.{info.name}')


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return (group, options) pairs for oslo-config-generator. A module without ``list_opts`` is an error."""
    options = []
    for module in modules():
        options.extend(module.list_opts())
    return options
