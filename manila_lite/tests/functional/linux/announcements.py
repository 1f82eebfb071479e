# SPDX-License-Identifier: Apache-2.0
"""Unasked announcements of an address: gratuitous ARP, and unsolicited neighbour advertisements."""

import ipaddress
import socket
import threading

from manila_lite.tests import nfs_client

_ARP, _IPV6 = 0x0806, 0x86DD
_ICMPV6, _NEIGHBOUR_ADVERTISEMENT, _OVERRIDE = 58, 136, 0x20


class Ears:
    """Listener in a client's namespace, open from the start; ``heard`` returns the announcements since the last call."""

    def __init__(self, netns, version):
        self._open, self._read = {4: (_ARP, _arp), 6: (_IPV6, _na)}[version]
        opener = threading.Thread(target=self._listen, args=(netns,))
        opener.start()
        opener.join()
        self._socket.setblocking(False)

    def _listen(self, netns):
        nfs_client.enter(netns)  # moves this thread only; the socket stays in the namespace
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(self._open))

    def heard(self):
        """Return (address, hardware address) of each announcement since the last call."""
        found = []
        while True:
            try:
                told = self._read(self._socket.recv(2000))
            except BlockingIOError:
                return found
            found += [told] if told else []

    def close(self):
        """Stop listening."""
        self._socket.close()


def _mac(packet):
    return packet[6:12].hex(':')


def _arp(packet):
    """Parse a gratuitous ARP packet: the sender is the target."""
    sender, target = packet[28:32], packet[38:42]
    return (socket.inet_ntoa(sender), _mac(packet)) if sender == target else None


def _na(packet):
    """Parse an unsolicited neighbour advertisement, sent to all nodes with the override flag."""
    to_all = packet[38:54] == ipaddress.ip_address('ff02::1').packed
    if (
        packet[20] != _ICMPV6
        or packet[54] != _NEIGHBOUR_ADVERTISEMENT
        or not to_all
        or not packet[58] & _OVERRIDE
    ):
        return None
    return str(ipaddress.ip_address(packet[62:78])), _mac(packet)
