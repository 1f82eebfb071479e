# SPDX-License-Identifier: Apache-2.0
"""A guest for the qemu driver: it reads its tags from the metadata, mounts them, and takes commands through a share.

Its console has ``META`` and ``CONFIG`` (content of the metadata and of the config drive), ``MOUNTED <tag>`` and
``READY``, then ``TICK <number>`` again and again. A script ``do-<name of the server>`` in a share is run, and its
output is ``said-<name>`` beside it.
"""

import shlex

from manila_lite.tests.services import initramfs

MODULES = ('virtio_pci', 'virtio_net', 'virtio_blk', 'virtiofs', 'isofs', 'button', 'evdev')
_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /mnt /tmp /config /var/log /var/run
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in {modules}; do insmod /$module.ko || echo "no $module"; done
acpid
ip link set lo up
ip link set eth0 up
ip address add 169.254.0.15/16 dev eth0
told() { wget -q -O - http://169.254.169.254/openstack/$1; }
told latest/meta_data.json > /tmp/meta
echo "META $(cat /tmp/meta)"
timeout 2 nc 169.254.0.2 22 </dev/null && echo REACHED
for disk in /dev/vd?; do mount -t iso9660 -o ro $disk /config 2>/dev/null && break; done
echo "CONFIG $(cat /config/openstack/latest/meta_data.json)"
name=$(sed 's/.*"name":"//; s/".*//' /tmp/meta)
for tag in $(grep -o '"tag":"[^"]*"' /tmp/meta | cut -d'"' -f4); do
  mkdir -p /mnt/$tag && mount -t virtiofs $tag /mnt/$tag && echo "MOUNTED $tag"
done
echo READY
tick=0
while true; do
  tick=$((tick + 1))
  echo "TICK $tick"
  for script in /mnt/*/do-$name; do
    [ -f "$script" ] || continue
    sh "$script" > /tmp/said 2>&1
    rm "$script"
    cp /tmp/said "${script%/*}/saying-$name" && mv "${script%/*}/saying-$name" "${script%/*}/said-$name"
  done
  sleep 0.2
done
"""
_POWER = """#!/bin/sh
echo POWER > /dev/console
sync
umount -a -t virtiofs
poweroff -f
"""


def missing():
    """Return a text about all that this machine lacks for such a guest, or ''."""
    return initramfs.missing(MODULES, 'xorriso')


def make(images):
    """Make ``kernel`` and ``initrd`` of such a guest in the directory; return the boot line."""
    kernel, initrd = initramfs.build(MODULES, _INIT, {'etc/acpi/PWRF/00000080': (0o100755, _POWER.encode())})
    (images / 'kernel').write_bytes(kernel.read_bytes())
    (images / 'initrd').write_bytes(initrd)
    return shlex.join(['console=ttyS0', 'quiet', 'panic=-1', 'no_timer_check'])
