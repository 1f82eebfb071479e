# SPDX-License-Identifier: Apache-2.0
"""Interfaces of guests on the host (TAP devices), and what they let out: frames of the guest itself, and no others.

A filter at the ingress of the interface sees each frame before the bridge does. It is a program of classic BPF, which every
kernel with the classifier bpf runs and which is replaced as a whole: there is no moment without it. A guest sends from its
own MAC address and IP address, and announces no others by ARP or neighbour discovery. It sends no VLAN tags, no frames of
bridges, no advertisements of routers. Rules are lists of conditions that all hold for a frame that may pass.
"""

import ipaddress
import json
import os
from collections.abc import Iterable, Iterator

from manila_lite.host import namespaces
from manila_lite.host.commands import run
from manila_lite.siblings.compute.drivers.interface import Nic, Server

#: An instruction: code, how many to skip if a comparison is true and if not, value.
_Instruction = tuple[int, int, int, int]
#: A condition: load, offset, comparison, values of which one must hold (or none, with ``_NOT``).
_Condition = tuple[int, int, int, tuple[int, ...]]

_WORD, _HALF, _BYTE, _LENGTH = 0x20, 0x28, 0x30, 0x80
_IS, _NOT, _LEAST = 0x15, -1, 0x35
_RETURN, _PASS, _DROP = 0x06, 0, 2
#: Where a program finds whether the frame has a VLAN tag, which the kernel has taken off.
_VLAN = 0xFFFFF000 + 48
_MAC, _TYPE, _BODY = 6, 12, 14
_IPV4, _ARP, _IPV6 = 0x0800, 0x0806, 0x86DD
#: Offsets in a frame of IPv6: next header, source, what follows the header, target of neighbour discovery.
_NEXT, _SOURCE, _AFTER, _TARGET = 20, 22, 54, 62
_HOP_BY_HOP, _FRAGMENT, _ICMP = 0, 44, 58
#: Protocols that need no look: TCP, UDP, GRE, ESP, SCTP. Other headers could hide an advertisement.
_PLAIN = (6, 17, 47, 50, 132)
_ADVERTISED, _SOLICITED = 136, 135
#: Messages of routers and redirections, and reports of multicast listeners.
_ROUTERS, _LISTENERS = (134, 137), (131, 132, 143)


def name(server: Server, number: int) -> str:
    """Return the host's name for an interface of the guest. Its QEMU makes it, and it disappears when QEMU ends in any way."""
    return f't{server.id.replace("-", "")[:12]}{number:x}'


def metadata(server: Server) -> str:
    """Return the host's name for the interface on which the guest reads its metadata."""
    return f'm{server.id.replace("-", "")[:12]}'


def move(pid: int, tap: str, netns: str) -> None:
    """Move the interface from the namespace of the process, unless it was moved before. ``netns``: see ``hold``."""
    inside = ('nsenter', f'--net={namespaces.of_process(pid)}', 'ip')
    if any(link['ifname'] == tap for link in json.loads(run(*inside, '-json', 'link', 'show'))):
        run(*inside, 'link', 'set', tap, 'netns', netns or str(os.getpid()))


def restrict(netns: str, tap: str, nic: Nic) -> None:
    """Have the interface let out frames of the guest only. ``netns``: its network namespace, '' for that of this process.

    :raises CommandFailed: the kernel cannot, or there is no such interface.
    """
    words = ['tc', *(['-n', netns] if netns else [])]
    made = program(nic)
    text = ','.join([str(len(made)), *(' '.join(map(str, one)) for one in made)])
    run(*words, 'qdisc', 'replace', 'dev', tap, 'clsact')
    run(
        *words,
        'filter',
        'replace',
        'dev',
        tap,
        'ingress',
        'pref',
        '1',
        'handle',
        '1',
        'protocol',
        'all',
        'bpf',
        'da',
        'bytecode',
        text,
    )


def program(nic: Nic) -> list[_Instruction]:
    """Return the program for an interface.

    A program that reads behind the end of a frame is ended, and the frame passes. So each rule asks for the length first.
    """
    address = ipaddress.ip_address(nic.address)
    mac = bytes.fromhex(nic.mac.replace(':', ''))
    rules = _four(mac, address.packed) if address.version == 4 else _six(address.packed, _link_local(mac))
    made: list[_Instruction] = []
    for rule in rules:
        conditions = [_long(_BODY), (_BYTE, _VLAN, _IS, (0,)), *_same(_MAC, mac), *rule]
        made += [*_compiled(conditions), (_RETURN, 0, 0, _PASS)]
    return [*made, (_RETURN, 0, 0, _DROP)]


def _four(mac: bytes, own: bytes) -> Iterator[list[_Condition]]:
    yield [(_HALF, _TYPE, _IS, (_IPV4,)), _long(34), *_same(26, own)]
    # Ethernet and IPv4; a probe for an address that is not used yet has no sender.
    yield [
        (_HALF, _TYPE, _IS, (_ARP,)),
        _long(42),
        *_same(14, bytes.fromhex('0001080006 04')),
        *_same(22, mac),
        (_WORD, 28, _IS, (int.from_bytes(own), 0)),
    ]


def _six(own: bytes, local: bytes) -> Iterator[list[_Condition]]:
    kind, after = (_HALF, _TYPE, _IS, (_IPV6,)), _long(_AFTER + 8)
    report = [_next(_HOP_BY_HOP), *_same(_AFTER, bytes([_ICMP, 0])), _long(63), (_BYTE, 62, _IS, _LISTENERS)]
    for source in (own, local):
        begin = [kind, _long(_AFTER), *_same(_SOURCE, source)]
        yield [*begin, _next(*_PLAIN)]
        yield [*begin, _next(_ICMP), after, (_BYTE, _AFTER, _NOT, (*_ROUTERS, _ADVERTISED))]
        yield [*begin, _next(_FRAGMENT), after, (_BYTE, _AFTER, _IS, _PLAIN)]
        yield [*begin, after, *report]
        for target in (own, local):
            yield [
                *begin,
                _next(_ICMP),
                _long(78),
                (_BYTE, _AFTER, _IS, (_ADVERTISED,)),
                *_same(_TARGET, target),
            ]
    # Before the guest uses an address, it asks whether somebody has it.
    nobody = [kind, _long(_AFTER), *_same(_SOURCE, bytes(16))]
    yield [*nobody, after, *report]
    for target in (own, local):
        yield [*nobody, _next(_ICMP), _long(78), (_BYTE, _AFTER, _IS, (_SOLICITED,)), *_same(_TARGET, target)]


def _link_local(mac: bytes) -> bytes:
    """Return the address that a MAC address has on each link."""
    return bytes.fromhex('fe80000000000000') + bytes([mac[0] ^ 2]) + mac[1:3] + b'\xff\xfe' + mac[3:]


def _long(least: int) -> _Condition:
    return (_LENGTH, 0, _LEAST, (least,))


def _next(*headers: int) -> _Condition:
    return (_BYTE, _NEXT, _IS, headers)


def _same(at: int, wanted: bytes) -> Iterator[_Condition]:
    """Yield conditions for these bytes at an offset."""
    for begin in range(0, len(wanted), 4):
        part = wanted[begin : begin + 4]
        yield ({4: _WORD, 2: _HALF}[len(part)], at + begin, _IS, (int.from_bytes(part),))


def _compiled(conditions: Iterable[_Condition]) -> list[_Instruction]:
    """Return the instructions for conditions. If one does not hold, those after the next one, which lets pass, follow."""
    made: list[_Instruction] = []
    for load, at, how, wanted in reversed(list(conditions)):
        miss = len(made) + 1
        checks: list[_Instruction] = []
        for value in reversed(wanted):
            # ``jt`` and ``jf`` count from the next instruction.
            if how == _NOT:
                checks.insert(0, (_IS, miss + len(checks), 0, value))
            else:
                checks.insert(0, (how, len(checks), 0 if checks else miss, value))
        made = [(load, 0, 0, at), *checks, *made]
    return made
