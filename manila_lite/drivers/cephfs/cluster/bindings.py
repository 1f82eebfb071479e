# SPDX-License-Identifier: Apache-2.0
"""Ceph's Python bindings ``rados`` and ``cephfs``, also in a virtual environment that does not see the system's packages.

They are no packages of PyPI: Debian has them, compiled for its own Python. Where this Python is of the same version, the
shared objects are loaded from where Debian keeps them; nothing is installed.
"""

import functools
import importlib
import importlib.machinery
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType

#: Where distributions keep Python packages of the system.
PLACES = (
    Path('/usr/lib/python3/dist-packages'),
    *(Path(f'/usr/{lib}/python3.{sys.version_info.minor}/site-packages') for lib in ('lib64', 'lib')),
)

_lock = threading.Lock()


@functools.cache
def load(name: str) -> ModuleType | None:
    """Return the module ``rados`` or ``cephfs``, or None if it is not installed for this Python."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pass
    with _lock:
        for path in _shared_objects(name):
            try:
                return sys.modules.get(name) or _load(name, path)
            except ImportError:
                sys.modules.pop(name, None)
    return None


def _shared_objects(name: str) -> list[Path]:
    # The last suffix, a plain ".so", says nothing about the version of Python.
    return [
        path
        for folder in PLACES
        for suffix in importlib.machinery.EXTENSION_SUFFIXES[:-1]
        if (path := folder / f'{name}{suffix}').exists()
    ]


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f'{path} is no module')
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # ``cephfs`` imports ``rados`` by its name
    spec.loader.exec_module(module)
    return module
