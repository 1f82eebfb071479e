# SPDX-License-Identifier: Apache-2.0
"""What a client hears of where an address is now, without having asked."""

import ipaddress
import socket
import threading

from manila_lite.tests import nfs_client

_ARP, _IPV6 = 0x0806, 0x86dd
_ICMPV6, _NEIGHBOUR_ADVERTISEMENT, _OVERRIDE = 58, 136, 0x20


class Ears:
    """Ears of a client, open from the begin on; ``heard`` says who announced an address until now."""

    def __init__(self, netns, version):
        self._open, self._read = {4: (_ARP, _arp), 6: (_IPV6, _na)}[version]
        opener = threading.Thread(target=self._listen, args=(netns,))
        opener.start()
        opener.join()
        self._socket.setblocking(False)

    def _listen(self, netns):
        nfs_client.enter(netns)     # this thread only; the socket stays there
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(self._open))

    def heard(self):
        """Return (address, hardware address) of each announcement that came since the last time."""
        found = []
        while True:
            try:
                told = self._read(self._socket.recv(2000))
            except BlockingIOError:
                return found
            found += [told] if told else []

    def close(self):
        """Nothing more is heard."""
        self._socket.close()


def _mac(packet):
    return packet[6:12].hex(':')


def _arp(packet):
    """A gratuitous one: who asks is whom it asks for."""
    sender, target = packet[28:32], packet[38:42]
    return (socket.inet_ntoa(sender), _mac(packet)) if sender == target else None


def _na(packet):
    """An unsolicited one, to all, that overrides what they knew."""
    to_all = packet[38:54] == ipaddress.ip_address('ff02::1').packed
    if packet[20] != _ICMPV6 or packet[54] != _NEIGHBOUR_ADVERTISEMENT or not to_all or not packet[58] & _OVERRIDE:
        return None
    return str(ipaddress.ip_address(packet[62:78])), _mac(packet)
