# SPDX-License-Identifier: Apache-2.0
"""Argument lists of QEMU and virtiofsd."""

from dataclasses import dataclass
from pathlib import Path

from manila_lite.siblings.compute.drivers import taps
from manila_lite.siblings.compute.drivers.interface import Nic, Server
from manila_lite.siblings.compute.drivers.local import Files

#: Options of QEMU's own filter of system calls. QEMU starts no program.
_SANDBOX = 'on,obsolete=deny,resourcecontrol=deny,elevateprivileges=deny,spawn=deny'


@dataclass(frozen=True, slots=True)
class Device:
    """A share in a guest: the tag, the directory of the host, and the socket of its virtiofsd."""

    share_id: str
    tag: str
    source: str
    socket: str


def virtiofsd(path: str, flavour: str, device: Device, cache: str, sandbox: str) -> list[str]:
    """Return the command line of virtiofsd, which ends with its guest."""
    if flavour == 'c':
        return [
            path,
            '-f',
            f'--socket-path={device.socket}',
            '-o',
            f'source={device.source}',
            '-o',
            f'cache={cache}',
            '-o',
            f'sandbox={sandbox}',
        ]
    return [
        path,
        f'--socket-path={device.socket}',
        f'--shared-dir={device.source}',
        f'--cache={"never" if cache == "none" else cache}',
        f'--sandbox={sandbox}',
    ]


def _value(word: object) -> str:
    """Return a value with its commas doubled: QEMU separates options by commas."""
    return str(word).replace(',', ',,')


def qemu(
    binary: str,
    accel: str,
    machine: str,
    server: Server,
    files: Files,
    images: Path,
    devices: tuple[Device, ...],
) -> list[str]:
    """Return the command line of QEMU for the guest. QEMU makes its interfaces, which are plugged into
    bridges later. The first one is for metadata only.
    """
    return [
        binary,
        '-name',
        _value(server.id),
        '-uuid',
        server.id,
        '-nodefaults',
        '-no-user-config',
        '-display',
        'none',
        '-sandbox',
        _SANDBOX,
        '-machine',
        f'{machine},accel={accel},memory-backend=mem',
        '-smp',
        str(server.vcpus),
        '-m',
        f'{server.memory}M',
        '-object',
        _memory(server),
        '-qmp',
        f'unix:{_value(files / "qmp")},server=on,wait=off',
        '-chardev',
        f'file,id=console,path={_value(files.console)},append=on',
        '-serial',
        'chardev:console',
        '-device',
        'virtio-rng-pci',
        *_boot(server, images),
        *_disks(server, files),
        *_tap('net', taps.metadata(server)),
        '-device',
        'virtio-net-pci,netdev=net,romfile=',
        *(
            word
            for number, nic in enumerate(server.nics)
            for word in _nic(taps.name(server, number), number, nic)
        ),
        *(word for number, device in enumerate(devices) for word in _share(number, device)),
    ]


def _memory(server: Server) -> str:
    if server.shared_memory:
        return f'memory-backend-memfd,id=mem,size={server.memory}M,share=on'
    return f'memory-backend-ram,id=mem,size={server.memory}M'


def _boot(server: Server, images: Path) -> list[str]:
    words = []
    if server.kernel:
        words += ['-kernel', str(images / server.kernel), '-append', server.cmdline]
    if server.initrd:
        words += ['-initrd', str(images / server.initrd)]
    return words


def _disks(server: Server, files: Files) -> list[str]:
    words = []
    if server.image:
        words += [
            '-drive',
            f'if=none,id=disk,format=raw,file={_value(files.disk)}',
            '-device',
            'virtio-blk-pci,drive=disk,bootindex=1',
        ]
    return [
        *words,
        '-drive',
        f'if=none,id=config,format=raw,readonly=on,file={_value(files.config)}',
        '-device',
        'virtio-blk-pci,drive=config,serial=config-2',
    ]


def _tap(netdev: str, name: str) -> list[str]:
    return ['-netdev', f'tap,id={netdev},ifname={name},script=no,downscript=no']


def _nic(name: str, number: int, nic: Nic) -> list[str]:
    return [
        *_tap(f'nic{number}', name),
        '-device',
        f'virtio-net-pci,netdev=nic{number},mac={nic.mac},host_mtu={nic.mtu},romfile=',
    ]


def _share(number: int, device: Device) -> list[str]:
    return [
        '-chardev',
        f'socket,id=share{number},path={_value(device.socket)}',
        '-device',
        f'vhost-user-fs-pci,chardev=share{number},tag={_value(device.tag)}',
    ]
