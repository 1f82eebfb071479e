# SPDX-License-Identifier: Apache-2.0
"""The XML description of a server's domain for libvirt."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from manila_lite.siblings.compute.drivers.interface import Nic, Server
from manila_lite.siblings.compute.drivers.local import Files


def domain(
    conf: Any,
    name: str,
    server: Server,
    files: Files,
    images: Path,
    shares: Iterable[tuple[str, str]],
    nics: Iterable[tuple[str, str, Nic]] = (),
) -> str:
    """Return the XML of a server with shares, given as (directory of the host, tag), and interfaces, given as
    (bridge, name on the host, interface).
    """
    root = ET.Element('domain', type=conf.virt_type)
    for tag, text, more in (
        ('name', name, {}),
        ('uuid', server.id, {}),
        ('title', server.name, {}),
        ('memory', str(server.memory), {'unit': 'MiB'}),
        ('vcpu', str(server.vcpus), {}),
    ):
        _add(root, tag, text, **more)
    if server.shared_memory:
        backing = _add(root, 'memoryBacking')
        _add(backing, 'source', type='memfd')
        _add(backing, 'access', mode='shared')
    _boot(_add(root, 'os'), conf, server, images)
    _add(_add(root, 'features'), 'acpi')
    devices = _add(root, 'devices')
    if server.image:
        _disk(devices, files.disk, 'vda')
    _disk(devices, files.config, 'vdb', read_only=True)
    for source, tag in shares:
        _share(devices, source, tag)
    if conf.network:
        card = _add(devices, 'interface', type='network')
        _add(card, 'source', network=conf.network)
        _add(card, 'model', type='virtio')
    for bridge, tap, nic in nics:
        _interface(devices, bridge, tap, nic)
    serial = _add(devices, 'serial', type='file')
    _add(serial, 'source', path=str(files.console), append='on')
    _add(serial, 'target', port='0')
    _add(_add(devices, 'rng', model='virtio'), 'backend', '/dev/urandom', model='random')
    ET.indent(root)
    return ET.tostring(root, encoding='unicode')


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    made = ET.SubElement(parent, tag, attributes)
    made.text = text
    return made


def _interface(devices: ET.Element, bridge: str, tap: str, nic: Nic) -> None:
    card = _add(devices, 'interface', type='bridge')
    _add(card, 'mac', address=nic.mac)
    _add(card, 'source', bridge=bridge)
    _add(card, 'target', dev=tap)
    _add(card, 'model', type='virtio')
    _add(card, 'mtu', size=str(nic.mtu))


def _boot(parent: ET.Element, conf: Any, server: Server, images: Path) -> None:
    _add(parent, 'type', 'hvm', machine=conf.machine)
    if server.kernel:
        _add(parent, 'kernel', str(images / server.kernel))
    if server.initrd:
        _add(parent, 'initrd', str(images / server.initrd))
    if server.kernel and server.cmdline:
        _add(parent, 'cmdline', server.cmdline)
    if server.image and not server.kernel:
        _add(parent, 'boot', dev='hd')


def _disk(devices: ET.Element, path: Path, name: str, *, read_only: bool = False) -> None:
    disk = _add(devices, 'disk', type='file', device='disk')
    _add(disk, 'driver', name='qemu', type='raw')
    _add(disk, 'source', file=str(path))
    _add(disk, 'target', dev=name, bus='virtio')
    if read_only:
        _add(disk, 'readonly')


def _share(devices: ET.Element, source: str, tag: str) -> None:
    made = _add(devices, 'filesystem', type='mount', accessmode='passthrough')
    _add(made, 'driver', type='virtiofs', queue='1024')
    _add(made, 'source', dir=source)
    _add(made, 'target', dir=tag)
