# SPDX-License-Identifier: Apache-2.0
"""A copy of this machine with a kernel of Debian that has an NFS client: its file system, below a layer in memory.

QEMU runs it without KVM, so that it runs anywhere; the file system comes by virtiofs. Changes inside are not seen
outside, and its network is isolated.
"""

import contextlib
import os
import shlex
import subprocess
from pathlib import Path

from manila_lite.tests import waiting
from manila_lite.tests.services import initramfs

_CIFS = (
    'cifs',
    'nls_utf8',
    'cmac',
    'ccm',
    'gcm',
    'ctr',
    'ecb',
    'ghash_generic',
    'sha512_generic',
    'md4',
    'des_generic',
)
MODULES = ('virtio_pci', 'virtiofs', 'overlay', 'nfsv4', 'btrfs', 'loop', 'veth', 'bridge', *_CIFS)
_VIRTIOFSD = '/usr/lib/qemu/virtiofsd'
_MEMORY = '2048M'
#: Seconds for virtiofsd until it listens.
_SECONDS = 30
_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /below /layer /new
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in {modules}; do insmod /$module.ko; done
hostname twin
ip link set lo up
mount -t virtiofs machine /below
mount -t tmpfs -o size=80% layer /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/below,upperdir=/layer/upper,workdir=/layer/work overlay /new
for place in proc sys dev; do mount --move /$place /new/$place; done
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts devpts /new/dev/pts
mount -t tmpfs shm /new/dev/shm
mount -t tmpfs run /new/run
mkdir -p /new/run/netns /new/run/lock
cp /script /new/run/script
exec chroot /new /bin/sh /run/script </new/dev/null >/new/dev/ttyS1 2>&1
"""
#: Files of tests are on btrfs: a file system in memory has no extended attributes.
_SCRIPT = """{exports}
export TMPDIR=/run/disk
truncate -s 4G /run/image && mkfs.btrfs --quiet /run/image && mkdir $TMPDIR && mount -o loop /run/image $TMPDIR
cd {here}
{words}
echo "ENDED $?"
sleep 1
"""


def missing():
    """Return a text about all that this machine lacks for its twin, or ''."""
    lacks = [
        initramfs.missing(MODULES),
        '' if Path(_VIRTIOFSD).exists() else 'virtiofsd (package qemu-system-common)',
    ]
    return ', '.join(filter(None, lacks))


def run(folder, words, env, patience):
    """Run a command in a twin; return (its exit status, or None if it did not end, and its output).

    ``folder`` is for files that are needed meanwhile; ``patience`` in seconds: the twin is emulated.
    """
    exports = '\n'.join(f'export {name}={shlex.quote(value)}' for name, value in env.items())
    script = _SCRIPT.format(exports=exports, here=shlex.quote(os.getcwd()), words=shlex.join(words))
    image, initrd = initramfs.build(MODULES, _INIT, {'script': (0o100644, script.encode())})
    (folder / 'initrd').write_bytes(initrd)
    with _started(
        folder,
        _VIRTIOFSD,
        f'--socket-path={folder / "socket"}',
        '-f',
        '-o',
        'source=/,cache=always,xattr,sandbox=chroot',
    ) as served:
        with contextlib.suppress(waiting.Late):  # the machine's output is returned then
            waiting.until(lambda: (folder / 'socket').exists() or served.poll() is not None, 'the socket')
        with (
            _started(folder, *_qemu(folder, image)) as machine,
            contextlib.suppress(subprocess.TimeoutExpired),
        ):
            machine.wait(patience)
    return _ended(folder)


def _qemu(folder, image):
    return (
        initramfs.QEMU,
        '-accel',
        'tcg,thread=multi',
        '-smp',
        '2',
        '-M',
        'q35',
        '-cpu',
        'max',
        '-m',
        _MEMORY,
        '-nodefaults',
        '-no-reboot',
        '-display',
        'none',
        '-object',
        f'memory-backend-memfd,id=memory,size={_MEMORY},share=on',
        '-numa',
        'node,memdev=memory',
        '-chardev',
        f'socket,id=files,path={folder / "socket"}',
        '-device',
        'vhost-user-fs-pci,chardev=files,tag=machine',
        '-serial',
        f'file:{folder / "console"}',
        '-serial',
        f'file:{folder / "said"}',
        '-kernel',
        str(image),
        '-initrd',
        str(folder / 'initrd'),
        '-append',
        'console=ttyS0 quiet panic=-1 no_timer_check random.trust_cpu=on',
    )


@contextlib.contextmanager
def _started(folder, *words):
    """Run the process for the time of the context."""
    with (folder / 'trouble').open('ab') as trouble:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=trouble, stderr=trouble)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _ended(folder):
    said, console, trouble = (
        (folder / name).read_text(errors='replace').replace('\r', '') if (folder / name).exists() else ''
        for name in ('said', 'console', 'trouble')
    )
    before, mark, status = said.rpartition('ENDED ')
    if not mark:
        return None, f'{said}\n{console[-2000:]}\n{trouble[-1000:]}'
    return int(status), before
