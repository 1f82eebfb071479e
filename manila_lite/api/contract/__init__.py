# SPDX-License-Identifier: Apache-2.0
"""The API as data: ``OPS`` has a row for every call. The modules of this package are found automatically."""

import importlib
import pkgutil

_MACHINERY = frozenset(
    {'bodies', 'call', 'fields', 'literal', 'metadata', 'sentences', 'shapes', 'unknown_fields'}
)

OPS = [
    op
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name)
    if info.name not in _MACHINERY
    for op in importlib.import_module(f'manila_lite.api.contract.{info.name}').OPS
]
