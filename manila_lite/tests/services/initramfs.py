# SPDX-License-Identifier: Apache-2.0
"""Kernel and initramfs of guests: a kernel of Debian, from tools/guest-kernel or the machine, and an archive of files."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from manila_lite.tests import waiting
from manila_lite.tests.services import groups

QEMU = 'qemu-system-x86_64'
_PACKAGES = {
    QEMU: 'qemu-system-x86',
    'busybox': 'busybox-static',
    'sshd': 'openssh-server',
    'mount.nfs': 'nfs-common',
}


def program(name):
    """Return the path of a program of the machine, or None."""
    return shutil.which(name, path=f'{os.environ["PATH"]}:/usr/sbin:/sbin')


def missing(modules, *programs):
    """Return a text about all that this machine lacks for a guest with these modules and programs, or ''."""
    groups.want('guests')
    lacks = [
        f'{name} (package {_PACKAGES.get(name, name)})'
        for name in (QEMU, 'busybox', *programs)
        if not program(name)
    ]
    if not kernel(modules):
        lacks.append(
            f'a kernel with the modules {", ".join(modules)} in /boot and /lib/modules (or from tools/guest-kernel)'
        )
    if not os.path.exists('/dev/net/tun'):
        lacks.append('/dev/net/tun')
    return ', '.join(lacks)


def kernel(modules):
    """Return a kernel image and the files of all its modules by name, or None if no kernel has these modules."""
    for root in (Path(sys.prefix, 'guest'), Path('/')):
        for image in sorted((root / 'boot').glob('vmlinuz-*'), reverse=True):
            found = {
                file.stem.replace('-', '_'): file
                for file in (root / 'lib/modules' / image.name.removeprefix('vmlinuz-')).rglob('*.ko')
            }
            if found.keys() >= set(modules):
                return image, found
    return None


def in_order(files, wanted, found):
    """Add modules to ``found``, each after those that it needs. A module without a file is built in."""
    for name in wanted:
        if name in files and name not in found:
            told = files[name].read_bytes().partition(b'\0depends=')[2].partition(b'\0')[0].decode()
            in_order(files, told.replace('-', '_').split(','), found)
            found[name] = files[name]
    return found


def with_libraries(*programs):
    """Return the entries of programs of this machine and of their libraries, each at its path on this machine."""
    paths = [program(name) for name in programs]
    told = subprocess.run(
        ['ldd', *paths], check=True, capture_output=True, text=True, timeout=waiting.LIMIT
    ).stdout
    paths += [os.path.normpath(path) for path in re.findall(r'(/\S+) \(0x', told)]
    return {path.lstrip('/'): (0o100755, Path(path).read_bytes()) for path in paths}


def archive(entries):
    """Return a cpio archive (newc); ``entries`` maps a path to (mode, content). Parent folders are added."""
    folders = sorted({str(parent) for path in entries for parent in Path(path).parents} - {'.'})
    whole = bytearray()
    named = [
        *((path, (0o40755, b'')) for path in folders if path not in entries),
        *entries.items(),
        ('TRAILER!!!', (0, b'')),
    ]
    for number, (path, (mode, content)) in enumerate(named, 1):
        name = path.encode() + b'\0'
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        for part in (b'070701' + b''.join(b'%08x' % field for field in fields) + name, content):
            whole += part + b'\0' * (-len(part) % 4)
    return bytes(whole)


def build(modules, init, entries=()):
    """Return (kernel image, initramfs): busybox, an init script that may use ``{modules}``, the modules and more entries."""
    image, files = kernel(modules)
    ordered = in_order(files, modules, {})
    return image, archive(
        {
            'bin/busybox': (0o100755, Path(program('busybox')).read_bytes()),
            'init': (0o100755, init.replace('{modules}', ' '.join(ordered)).encode()),
            **{f'{name}.ko': (0o100644, file.read_bytes()) for name, file in ordered.items()},
            **dict(entries),
        }
    )
