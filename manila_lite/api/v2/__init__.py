# SPDX-License-Identifier: Apache-2.0
"""The share API, one file for each resource: its fields and views, its handlers, and a row for each call.

``OPS`` has the rows of all files, which are found automatically.
"""

import dataclasses
import importlib
import pkgutil

OPS = [
    dataclasses.replace(op, resource=info.name)
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name)
    for op in importlib.import_module(f'{__name__}.{info.name}').OPS
]
