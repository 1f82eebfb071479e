# SPDX-License-Identifier: Apache-2.0
"""A host dies: its CIFS shares come up on the other host, as its NFS shares do."""

from manila_lite.drivers.linux.protocols import user_list
from manila_lite.tests import smb_client, smb_writer, waiting
from manila_lite.tests.functional.linux import cifs_base
from manila_lite.tests.functional.linux import failover_base as base


@cifs_base.needs_samba
class FailoverOfCifs(base.FailoverTest):
    def test_clients_of_cifs_go_on_after_their_host_died(self):
        users = self.machine.state / 'users'
        user_list.put(users, 'alice', user_list.entry('alice', 'alice'))
        more = f'linux_cifs_users = {users}'
        self.begin(more=more)
        self.start(self.two, more=more)
        self.said('works there; waiting')
        path = self.cifs_share('alice')
        writer = self.cifs_writer(path)
        self.one.power_off()
        waiting.until(self.shelf.is_free, 'the pool is free')
        ended = self.lease_end()
        writer.goes_on()
        self.said('this process takes over')
        writer.goes_on()
        self.assertLess(self.show('host killed, CIFS', writer, ended), base.WITHIN)
        writer.end()
        space, last = self.machine.space('friend'), writer.acknowledged - 1
        self.assertEqual(
            (True, smb_writer.text(last)),
            smb_client.call(space, path, 'alice', 'alice', f'get {smb_writer.name(last)} there'),
        )
        worked, said = smb_client.call(space, path, 'alice', 'wrong', 'ls')
        self.assertFalse(worked)
        self.assertIn('NT_STATUS_LOGON_FAILURE', said)
