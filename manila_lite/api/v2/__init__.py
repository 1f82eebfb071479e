# SPDX-License-Identifier: Apache-2.0
"""The share API, one file for each resource: its fields and views, its handlers, and a row for each call.

``CALLS`` has the rows of all files, which are found automatically.
"""

import dataclasses
import importlib
import pkgutil

CALLS = [
    dataclasses.replace(call, resource=info.name)
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name)
    for call in importlib.import_module(f'{__name__}.{info.name}').CALLS
]
