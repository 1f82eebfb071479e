# SPDX-License-Identifier: Apache-2.0
"""Programs and accelerators of this host: which virtiofsd it has, and whether KVM really runs guests."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from manila_lite import errors
from manila_lite.host.commands import ENV, CommandFailed, run

#: Paths of virtiofsd in distributions: the one in Rust, and the one of QEMU before 8.0.
_VIRTIOFSD = ('/usr/libexec/virtiofsd', '/usr/lib/virtiofsd', '/usr/lib/qemu/virtiofsd')
#: A boot sector: put 16 into the port of the exit device, which ends QEMU with this status, and halt.
_SECTOR = bytes.fromhex('b010e6f4f4ebfd').ljust(510, b'\0') + b'\x55\xaa'
_RAN = 16 << 1 | 1
#: Seconds for the probe. A processor boots the sector in a fifth of a second, and so does translation (tcg). A KVM that
#: emulates most of the firmware's instructions takes many times as long, and stops when an operating system begins.
_PROBE_SECONDS = 10.0
_TIMES, _MORE_SECONDS = 3, 0.3
_PROBES = 2


def program(name: str) -> str:
    """Return the path of a program.

    :raises errors.BadConfig: there is none.
    """
    path = shutil.which(name, path=ENV['PATH'])
    if path is None:
        raise errors.BadConfig(f'[compute_qemu] {name} is not installed')
    return path


def virtiofsd(wanted: str) -> str:
    """Return the path of virtiofsd.

    :raises errors.BadConfig: there is none.
    """
    for name in [wanted] if wanted else _VIRTIOFSD:
        if path := shutil.which(name):
            return path
    raise errors.BadConfig(f'[compute_qemu] virtiofsd = {wanted or "(default)"}: not found')


def flavour(path: str) -> str:
    """Return 'c' or 'rust', the implementation of virtiofsd: they take different arguments.

    :raises errors.BadConfig: the program does not even print its version.
    """
    try:
        said = run(path, '--version')
    except CommandFailed as bad:
        raise errors.BadConfig(f'[compute_qemu] virtiofsd: {bad}') from bad
    return 'c' if 'QEMU Project' in said or 'FUSE kernel interface' in said else 'rust'


def accelerator(wanted: str, qemu: str) -> str:
    """Return 'kvm' or 'tcg'. An accessible /dev/kvm proves nothing, so a guest has to run."""
    if wanted != 'auto':
        return wanted
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return 'tcg'
    # The very first run is slower, since it reads files; and any run may be delayed, so KVM is probed again.
    tcg = takes(qemu, 'tcg')
    return 'kvm' if any(_is_as_fast(takes(qemu, 'kvm'), tcg) for _ in range(_PROBES)) else 'tcg'


def _is_as_fast(kvm: float | None, tcg: float | None) -> bool:
    return kvm is not None and (tcg is None or kvm < _TIMES * tcg + _MORE_SECONDS)


def takes(qemu: str, accel: str) -> float | None:
    """Return the seconds that a guest of one sector takes; None if it does not end as expected."""
    with tempfile.TemporaryDirectory(prefix='qemu-probe-') as folder:
        disk = Path(folder, 'disk')
        disk.write_bytes(_SECTOR)
        words = [
            qemu,
            '-accel',
            accel,
            '-machine',
            'pc',
            '-m',
            '16',
            '-nodefaults',
            '-display',
            'none',
            '-no-reboot',
            '-drive',
            f'if=ide,format=raw,file={disk}',
            '-device',
            'isa-debug-exit,iobase=0xf4,iosize=1',
        ]
        begin = time.monotonic()
        try:
            done = subprocess.run(
                words,
                env=ENV,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return time.monotonic() - begin if done.returncode == _RAN else None
