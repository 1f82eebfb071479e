# SPDX-License-Identifier: Apache-2.0
"""Strangers who connect to the NFS gateway of CephFS and say nothing: others still work."""

from manila_lite.tests import waiting
from manila_lite.tests.functional.ceph import nfs_base
from manila_lite.tests.security.strangers import PER_ADDRESS, Strangers

_CLIENTS = 3000


class Gateway(Strangers, nfs_base.GatewayTest):
    """It has no process for a connection, but a limit of all."""

    AT = nfs_base.GatewayTest.SERVER
    OPTIONS = f'cephfs_nfs_connections_per_address = {PER_ADDRESS}\n'

    def test_thousands_of_silent_connections_of_one_stranger_leave_room_for_others(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'), (self.fabric.v6('one'), 'rw'))
        for v6 in (False, True):
            stranger = self.stranger('two', 2049, 3000, v6=v6)
            waiting.until(lambda one=stranger: self.closed(one) == 3000 - PER_ADDRESS, 'the rest is closed')
            self.works('one', share, 'write', 'f', f'beside a stranger {v6}', v6=v6)

    def test_thousands_of_nfs_clients_of_one_stranger_leave_room_for_others(self):
        """A limit of all NFSv4 clients would be theirs: each is there until its lease ends, and needs no rule."""
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        stranger = self.raw('two')
        for number in range(_CLIENTS):
            stranger.become(b'%d' % number)
        self.works('one', share, 'write', 'f', 'beside a stranger')

    def test_place_of_a_connection_that_ended_is_free_again(self):
        self.places_come_back(2049)
