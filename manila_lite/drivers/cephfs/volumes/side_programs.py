# SPDX-License-Identifier: Apache-2.0
"""Programs of this driver for the system's Python, which has Ceph's bindings. A call that hangs ends with its program."""

import json
import subprocess
from types import ModuleType
from typing import Any

from manila_lite.drivers.cephfs.cluster import connected
from manila_lite.drivers.cephfs.cluster.answers import Away
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.host.commands import ENV, CommandFailed, run

#: The Python for which distributions build Ceph's bindings.
PYTHON = '/usr/bin/python3'
#: Seconds for one answer of a metadata server, which may have to wait for a client that died; and for all.
_PATIENCE, WHOLE = 120, 86400.0


def can_run() -> bool:
    try:
        run(PYTHON, '-I', '-c', 'import cephfs, rados')
    except CommandFailed:
        return False
    return True


def ask(
    program: ModuleType, identity: Identity, filesystem: str, seconds: float = WHOLE, **asked: Any
) -> Any:
    """Have the program connect as the service, and do what is asked. Returns its answer, of JSON.

    :raises Away: the cluster does not answer, or it takes longer.
    """
    asked |= {
        'conf': str(identity.conf_path),
        'cluster': identity.cluster,
        'entity': identity.entity,
        'filesystem': filesystem,
        'patience': _PATIENCE,
    }
    try:
        # Its errors may name files of tenants, as their bytes are.
        done = subprocess.run(
            [PYTHON, '-I', str(connected.__file__), str(program.__file__)],
            input=json.dumps(asked),
            env={**ENV, 'CEPH_ARGS': ''},
            capture_output=True,
            text=True,
            errors='backslashreplace',
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as bad:
        raise Away(f'A look into the file system {filesystem} is not possible: {bad}') from bad
    if done.returncode:
        raise Away(
            f'A look into the file system {filesystem} is not possible: '
            f'{done.stderr[-500:] or f"exit status {done.returncode}"}'
        )
    return json.loads(done.stdout)
