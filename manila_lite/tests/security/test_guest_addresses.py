# SPDX-License-Identifier: Apache-2.0
"""A guest sends as itself only: its MAC address, its IP address, and no announcement of others'. With real interfaces."""

import fcntl
import os
import select
import struct
import unittest
from ipaddress import ip_address
from pathlib import Path

import testtools
from oslo_utils import uuidutils

from manila_lite.host import namespaces
from manila_lite.host.commands import run
from manila_lite.siblings.compute.drivers import taps
from manila_lite.siblings.compute.drivers.interface import Nic
from manila_lite.tests import waiting

#: The kernel sends nothing itself, and the bridge looks into no frame.
_SETTINGS = (
    'net.ipv6.conf.all.disable_ipv6=1',
    'net.ipv6.conf.default.disable_ipv6=1',
    *(f'net.bridge.bridge-nf-call-{kind}tables=0' for kind in ('ip', 'ip6', 'arp')),
)
_TUNSETIFF, _TAP, _NO_INFO = 0x400454CA, 0x0002, 0x1000
OWN, OTHER, ALL = 'fa:16:3e:00:00:05', 'fa:16:3e:00:00:06', 'ff:ff:ff:ff:ff:ff'
LOCAL, STRANGE = 'fe80::f816:3eff:fe00:5', 'fe80::f816:3eff:fe00:6'
TCP, UDP, FRAGMENT, ICMP, DESTINATION = 6, 17, 44, 58, 60
ROUTER_SOLICIT, ADVERTISE_ROUTER, SOLICIT, ADVERTISE, REDIRECT, LISTEN = 133, 134, 135, 136, 137, 143


def frame(kind, body, mac=OWN):
    """Return an Ethernet frame to all."""
    return bytes.fromhex((ALL + mac).replace(':', '')) + struct.pack('!H', kind) + body


def four(source, mac=OWN, kind=0x0800):
    return frame(
        kind,
        struct.pack('!BBHHHBBH', 0x45, 0, 28, 0, 0, 64, UDP, 0)
        + ip_address(source).packed
        + ip_address('192.0.2.9').packed
        + bytes(8),
        mac,
    )


def arp(sender, mac=OWN, inner=OWN, ends=b''):
    return frame(
        0x0806,
        struct.pack('!HHBBH', 1, 0x0800, 6, 4, 2)
        + bytes.fromhex(inner.replace(':', ''))
        + ip_address(sender).packed
        + bytes(6)
        + ip_address('192.0.2.9').packed
        + ends,
        mac,
    )


def six(source, following, body, mac=OWN):
    return frame(
        0x86DD,
        struct.pack('!IHBB', 6 << 28, len(body), following, 255)
        + ip_address(source).packed
        + ip_address('ff02::1').packed
        + body,
        mac,
    )


def neighbours(message, target='::'):
    """Return a message of neighbour discovery."""
    return struct.pack('!BBHI', message, 0, 0, 0) + ip_address(target).packed


def behind(body, following=ICMP):
    """Return an extension header of IPv6 of 8 bytes, before a body."""
    return bytes([following, 0]) + bytes(6) + body


GOOD_FOUR = {
    'its address': four('192.0.2.5'),
    'ARP': arp('192.0.2.5'),
    'ARP, with padding': arp('192.0.2.5', ends=bytes(18)),
    'a probe by ARP': arp('0.0.0.0'),
}
BAD_FOUR = {
    'another address': four('192.0.2.6'),
    'no address': four('0.0.0.0'),
    'another MAC address': four('192.0.2.5', OTHER),
    'ARP for another': arp('192.0.2.6'),
    'ARP for the gateway': arp('192.0.2.1'),
    'ARP from another MAC address': arp('192.0.2.5', OTHER, OTHER),
    'ARP that tells another': arp('192.0.2.5', OWN, OTHER),
    'half a header': four('192.0.2.5')[:30],
    'half of ARP': arp('192.0.2.5')[:41],
    'no body': frame(0x0800, b''),
    'a VLAN': frame(0x8100, struct.pack('!HH', 7, 0x0800) + four('192.0.2.5')[14:]),
    'two VLANs': frame(0x88A8, struct.pack('!HHHH', 7, 0x8100, 7, 0x0800) + four('192.0.2.5')[14:]),
    'a name for another type': four('192.0.2.5', kind=0x88CC),
    'a frame of bridges': frame(38, b'BB\3' + bytes(35)),
    'IPv6': six(LOCAL, UDP, bytes(8)),
}
GOOD_SIX = {
    'its address': six('fd66::5', TCP, bytes(20)),
    'its address on the link': six(LOCAL, UDP, bytes(8)),
    'an echo': six('fd66::5', ICMP, neighbours(128)),
    'a question for a router': six(LOCAL, ICMP, neighbours(ROUTER_SOLICIT)),
    'a question for another': six('fd66::5', ICMP, neighbours(SOLICIT, 'fd66::6')),
    'a question for its own address': six('::', ICMP, neighbours(SOLICIT, 'fd66::5')),
    'one for its own on the link': six('::', ICMP, neighbours(SOLICIT, LOCAL)),
    'its own advertisement': six('fd66::5', ICMP, neighbours(ADVERTISE, 'fd66::5')),
    'one on the link': six(LOCAL, ICMP, neighbours(ADVERTISE, LOCAL)),
    'a report of a listener': six(LOCAL, 0, behind(neighbours(LISTEN))),
    'an early report': six('::', 0, behind(neighbours(LISTEN))),
    'a fragment': six('fd66::5', FRAGMENT, behind(bytes(8), UDP)),
}
BAD_SIX = {
    'another address': six('fd66::6', TCP, bytes(20)),
    'another address on the link': six(STRANGE, UDP, bytes(8)),
    'another MAC address': six('fd66::5', UDP, bytes(8), OTHER),
    'no address': six('::', UDP, bytes(8)),
    'an advertisement of another': six('fd66::5', ICMP, neighbours(ADVERTISE, 'fd66::6')),
    'one of the gateway': six(LOCAL, ICMP, neighbours(ADVERTISE, 'fd66::1')),
    'a claim to another': six('::', ICMP, neighbours(SOLICIT, 'fd66::6')),
    'a router': six(LOCAL, ICMP, neighbours(ADVERTISE_ROUTER)),
    'a redirection': six(LOCAL, ICMP, neighbours(REDIRECT, 'fd66::6')),
    'half an advertisement': six('fd66::5', ICMP, neighbours(ADVERTISE, 'fd66::5')[:20]),
    'behind hop-by-hop options': six('fd66::5', 0, behind(neighbours(ADVERTISE, 'fd66::6'))),
    'behind destination options': six('fd66::5', DESTINATION, behind(neighbours(ADVERTISE, 'fd66::6'))),
    'in a fragment': six('fd66::5', FRAGMENT, behind(neighbours(ADVERTISE, 'fd66::6'))),
    'options in a fragment': six(
        'fd66::5', FRAGMENT, behind(behind(neighbours(ADVERTISE, 'fd66::6')), DESTINATION)
    ),
    'options behind options': six(
        'fd66::5', 0, behind(behind(neighbours(ADVERTISE, 'fd66::6')), DESTINATION)
    ),
    'IPv4': four('192.0.2.5'),
    'ARP': arp('192.0.2.5'),
    'half a header': six('fd66::5', UDP, b'')[:40],
}
#: Frames that a bridge may drop by itself.
_NEVER = {'a frame of bridges'}


class Cable:
    """The end of a TAP device that a guest has."""

    def __init__(self, space, name):
        self.fd = namespaces.inside(
            Path('/run/netns', space), lambda: os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
        )
        fcntl.ioctl(self.fd, _TUNSETIFF, struct.pack('16sH22x', name.encode(), _TAP | _NO_INFO))

    def read(self):
        """Return the next frame."""
        ready, _, _ = select.select([self.fd], [], [], waiting.LIMIT)
        if not ready:
            raise AssertionError('no frame came')
        return os.read(self.fd, 65536)


@unittest.skipIf(os.geteuid() or not os.path.exists('/dev/net/tun'), 'interfaces need root and /dev/net/tun')
class Frames(testtools.TestCase):
    """A bridge with the interface of a guest and one on which everything is seen."""

    def setUp(self):
        super().setUp()
        self.space = f'mlg-{uuidutils.generate_uuid()[:8]}'
        run('ip', 'netns', 'add', self.space)
        self.addCleanup(run, 'ip', 'netns', 'del', self.space)
        self.ip('link', 'add', 'br0', 'type', 'bridge', 'mcast_snooping', '0', 'forward_delay', '0')
        run(
            'nsenter',
            f'--net=/run/netns/{self.space}',
            'sysctl',
            '--quiet',
            '--ignore',
            '--write',
            *_SETTINGS,
        )
        self.ip('link', 'set', 'br0', 'up')
        self.guest, self.watch = (self.plugged(name) for name in ('guest', 'watch'))

    def plugged(self, name):
        cable = Cable(self.space, name)
        self.addCleanup(os.close, cable.fd)
        self.ip('link', 'set', name, 'master', 'br0', 'up')
        waiting.until(
            lambda: 'state forwarding' in run('ip', '-n', self.space, '-details', 'link', 'show', name),
            f'{name} forwards',
        )
        return cable

    def ip(self, *words):
        run('ip', '-n', self.space, *words)

    def passed(self, frames, marker):
        """Send the frames; return the names of those that came through. ``marker``: one that surely does, sent last."""
        marker += b'the last one'
        for sent in (*frames.values(), marker):
            os.write(self.guest.fd, sent)
        seen = []
        while not (got := self.watch.read()).endswith(b'the last one'):
            seen.append(got)
        return {name for name, sent in frames.items() if sent in seen}

    def only_good_ones_pass(self, address, good, bad):
        nic = Nic('n', 'n', address, OWN, 'not looked at')
        marker = next(iter(good.values()))
        self.assertEqual(
            {*good, *bad} - _NEVER, self.passed({**bad, **good}, marker) - _NEVER, 'without a filter'
        )
        for _ in range(2):
            taps.restrict(self.space, 'guest', nic)
            self.assertEqual(set(good), self.passed({**bad, **good}, marker))

    def test_ipv4(self):
        self.only_good_ones_pass('192.0.2.5', GOOD_FOUR, BAD_FOUR)

    def test_ipv6(self):
        self.only_good_ones_pass('fd66::5', GOOD_SIX, BAD_SIX)

    def test_cut_frames_pass_with_a_whole_header_only(self):
        """The kernel lets a frame pass when the filter reads behind its end."""
        taps.restrict(self.space, 'guest', Nic('n', 'n', 'fd66::5', OWN, ''))
        whole = GOOD_SIX['its own advertisement']
        self.assertEqual(set(), self.passed({size: whole[:size] for size in range(15, len(whole))}, whole))
