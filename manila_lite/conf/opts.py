# SPDX-License-Identifier: Apache-2.0
"""The options for the sample generator. All modules of the package are searched, so that none can be forgotten."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from oslo_config import cfg

import manila_lite.conf
from manila_lite.conf import backend, backup

_NOT_OPTIONS = ('numeric', 'opts')
#: Options of sections that operators name.
_EXAMPLES = {'backend_example': backend.BACKEND, 'backup_type_example': backup.TYPE}


def modules() -> Iterator[ModuleType]:
    """Yield every option module; each must have ``OPTIONS``."""
    for info in pkgutil.iter_modules(manila_lite.conf.__path__):
        if info.name not in _NOT_OPTIONS:
            yield importlib.import_module(f'manila_lite.conf.{info.name}')


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return (group, options) pairs for oslo-config-generator. A module without ``OPTIONS`` is an error."""
    return [*(pair for module in modules() for pair in module.OPTIONS.items()), *_EXAMPLES.items()]
