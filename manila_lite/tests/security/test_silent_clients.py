# SPDX-License-Identifier: Apache-2.0
"""Strangers who connect to file servers and say nothing: others still work."""

from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import base, cifs_base
from manila_lite.tests.security.strangers import PER_ADDRESS, Strangers


@cifs_base.needs_samba
class Cifs(Strangers, cifs_base.Plain):
    """One smbd."""

    @classmethod
    def make(cls):
        """Add the limit to the configuration."""
        with (cls.state / 'conf').open('a') as conf:
            conf.write(f'linux_connections_per_address = {PER_ADDRESS}\nlinux_cifs_connections = 60\n')
        return super().make()

    def served(self):
        """Return the number of processes of smbd for clients."""
        return len(cifs_base.processes(self.state))

    def test_300_silent_connections_of_one_stranger_leave_room_for_others(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'))
        idle = self.served()
        for v6 in (False, True):
            stranger = self.stranger('two', 445, 300, v6=v6)
            waiting.until(lambda one=stranger: self.closed(one) == 300 - PER_ADDRESS, 'the rest is closed')
        self.assertLessEqual(self.served(), idle + 2 * PER_ADDRESS)
        self.writes(share, 'alice', text='beside strangers')
        self.reads(share, 'alice', text='beside strangers', at=1)
        said = (self.driver.parts.protocol_servers.of('CIFS').server._state_dir / 'samba.log').read_text()
        self.assertIn(f'has {PER_ADDRESS} connections already', said)

    def test_place_of_a_connection_that_ended_is_free_again(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'))
        self.places_come_back(445, v6=True)

    def test_all_connections_have_a_limit(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'))
        strangers = [
            self.stranger(host, 445, PER_ADDRESS, v6=v6) for host in ('one', 'two') for v6 in (False, True)
        ]
        waiting.until(lambda: sum(map(self.closed, strangers)) > 0, 'the last ones are closed')
        self.assertLess(self.served(), 70)
        for process in strangers:
            process.kill()
        waiting.until(lambda: self.smb(share, 'alice', 'ls')[0], 'a client works again')


class Nfs(Strangers, base.ShareTest):
    """NFS-Ganesha has no process for a connection, but a limit of all."""

    OPTIONS = f'linux_connections_per_address = {PER_ADDRESS}\n'

    def test_thousands_of_silent_connections_of_one_stranger_leave_room_for_others(self):
        for v6 in (False, True):
            stranger = self.stranger('two', 2049, 3000, v6=v6)
            waiting.until(lambda one=stranger: self.closed(one) == 3000 - PER_ADDRESS, 'the rest is closed')
            self.works('one', self.made, 'write', 'f', f'beside a stranger {v6}')

    def test_place_of_a_connection_that_ended_is_free_again(self):
        self.places_come_back(2049)
