# SPDX-License-Identifier: Apache-2.0
"""Try the packages under systemd, in a virtual machine: tools/packaging/guest.py DIRECTORY

The machine has a small Debian, made from packages of the mirrors, and a kernel of tools/guest-kernel. It uses KVM where that
works. In it, tools/packaging/in_guest.py installs the packages, reboots, upgrades and purges them.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import closure
import next_release
import trial_repository

import manila_lite.cmd  # noqa: F401 - threads, not eventlet
from manila_lite.siblings.compute.drivers import qemu_host
from manila_lite.tests.services import initramfs

#: Modules to find the disk, and those that the services and the client need later. Debian's kernel has ext4 built in.
_MODULES, _LATER = ('virtio_pci', 'virtio_blk'), ('btrfs', 'loop', 'nfsv4')
#: Packages of the machine: systemd, a database for separate services, and what manila-lite-share recommends.
_PACKAGES = ('dbus', 'init', 'kmod', 'logrotate', 'postgresql', 'udev')
_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /new
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in {modules}; do insmod /$module.ko; done
until [ -b /dev/vda ]; do usleep 100000; done
mount -t ext4 /dev/vda /new
for place in proc sys dev; do mount --move /$place /new/$place; done
exec switch_root /new /sbin/init
"""
_UNIT = """[Unit]
Description=Test of the packages
[Service]
ExecStart=/test/boot
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS1
[Install]
WantedBy=multi-user.target
"""
#: What the machine does after each of its two boots.
_BOOT = """#!/bin/sh
if [ ! -e /test/booted ]; then
    touch /test/booted
    python3 -u /test/in_guest.py installed && exec systemctl reboot
else
    python3 -u /test/in_guest.py rebooted && python3 -u /test/in_guest.py purged && echo 'ENDED well'
fi
systemctl poweroff
"""
_DISK = '6G'
_MEMORY = '1536M'
#: A machine inside of a machine may not set all that its processor has.
_PROCESSORS = {'kvm': 'host,arch-capabilities=off', 'tcg': 'max'}
#: Seconds for everything, with and without KVM.
_PATIENCE = {'kvm': 900, 'tcg': 5400}


def recommended() -> list[str]:
    """Return the packages that the linux driver needs: the lines of bindep.txt for every host."""
    lines = (
        line.split()
        for line in (closure.ROOT / 'bindep.txt').read_text().splitlines()
        if not line.startswith('#')
    )
    return [name for name, *groups in lines if groups == ['[platform:dpkg]']]


def disk(debs: Path, folder: Path, kernel: Path) -> Path:
    """Return a new file with the root file system of the machine, and the packages of this release and the next."""
    archive = debs / 'roots/guest.tar'
    archive.parent.mkdir(exist_ok=True)
    _run(closure.ROOT / 'tools/packaging/root', archive, *_PACKAGES, *recommended())
    root = folder / 'root'
    root.mkdir()
    _run('tar', '-C', root, '--numeric-owner', '--xattrs', '-xf', archive)
    for name in ('old', 'new'):
        (root / 'test' / name).mkdir(parents=True)
    for deb in debs.glob('*.deb'):
        shutil.copy(deb, root / 'test/old')
        next_release.make(deb, root / 'test/new')
    trial_repository.make(root / 'test/repository', 'bookworm', [*(root / 'test').glob('*/*.deb')])
    shutil.copy(Path(__file__).with_name('in_guest.py'), root / 'test')
    shutil.copy(closure.ROOT / 'doc/source/admin/packages.rst', root / 'test/page')
    (root / 'test/boot').write_text(_BOOT)
    (root / 'test/boot').chmod(0o755)
    (root / 'etc/systemd/system/packages-test.service').write_text(_UNIT)
    wants = root / 'etc/systemd/system/multi-user.target.wants'
    wants.mkdir(parents=True, exist_ok=True)
    (wants / 'packages-test.service').symlink_to('/etc/systemd/system/packages-test.service')
    (root / 'etc/hostname').write_text('guest\n')
    (root / 'etc/hosts').write_text('127.0.0.1 localhost guest\n')
    release = kernel.name.removeprefix('vmlinuz-')
    shutil.copytree(
        kernel.parents[1] / 'lib/modules' / release, root / 'lib/modules' / release, symlinks=True
    )
    _run('chroot', root, 'depmod', release)
    image = folder / 'disk'
    _run('mke2fs', '-q', '-t', 'ext4', '-d', root, image, _DISK)
    shutil.rmtree(root)
    return image


def _run(*words: object) -> None:
    path = f'{os.environ["PATH"]}:/usr/sbin:/sbin'
    subprocess.run(
        [str(word) for word in words], check=True, stdin=subprocess.DEVNULL, env=os.environ | {'PATH': path}
    )


def boot(folder: Path, image: Path, kernel: Path, accelerator: str) -> Path:
    """Run the machine until it powers itself off; return the file with the output of the test."""
    said = folder / 'said'
    words = [
        initramfs.QEMU,
        '-accel',
        accelerator,
        '-cpu',
        _PROCESSORS[accelerator],
        '-smp',
        '2',
        '-M',
        'q35',
        '-m',
        _MEMORY,
        '-nodefaults',
        '-display',
        'none',
        '-serial',
        f'file:{folder / "console"}',
        '-serial',
        f'file:{said}',
        '-drive',
        f'file={image},format=raw,if=virtio,cache=unsafe',
        '-kernel',
        kernel,
        '-initrd',
        folder / 'initrd',
        '-append',
        'console=ttyS0 panic=-1 no_timer_check random.trust_cpu=on systemd.show_status=1',
    ]
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL)
    try:
        process.wait(_PATIENCE[accelerator])
    except subprocess.TimeoutExpired:
        print(f'the machine did not power itself off within {_PATIENCE[accelerator]} seconds')
    finally:
        process.kill()
        process.wait()
    return said


def main() -> int:
    """Run the test; the exit status is 0 if all of it worked."""
    debs = Path(sys.argv[1])
    if lacks := initramfs.missing((*_MODULES, *_LATER)):
        sys.exit(f'a virtual machine needs {lacks}: tools/setup-env --python --packages --guests')
    accelerator = qemu_host.accelerator('auto', initramfs.QEMU)
    folder = Path(tempfile.mkdtemp(prefix='ml-packages-'))
    kernel, initrd = initramfs.build(_MODULES, _INIT)
    (folder / 'initrd').write_bytes(initrd)
    begun = time.monotonic()
    with contextlib.ExitStack() as after:
        after.callback(shutil.rmtree, folder)
        image = disk(debs, folder, kernel)
        print(
            f'the disk was made in {time.monotonic() - begun:.0f} s; the machine starts ({accelerator})',
            flush=True,
        )
        begun = time.monotonic()
        said = boot(folder, image, kernel, accelerator).read_text(errors='replace').replace('\r', '')
        print(said)
        if passed := said.rstrip().endswith('ENDED well'):
            print(f'passed in {time.monotonic() - begun:.0f} s ({accelerator})')
        else:
            print((folder / 'console').read_text(errors='replace')[-3000:])
    return 0 if passed else 1


if __name__ == '__main__':
    sys.exit(main())
