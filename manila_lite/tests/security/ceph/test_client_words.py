# SPDX-License-Identifier: Apache-2.0
"""A client whose words of itself break or forge the list of sessions, with keys of ``client_metadata``."""

from manila_lite.tests.functional.ceph import base
from manila_lite.tests.services import ceph


class Words(base.CephTest):
    def mount_saying(self, share, rule, words):
        """Mount the share as a client that says this of itself."""
        client = self.useFixture(
            ceph.FuseMount(
                self.ceph,
                'a',
                rule['access_to'],
                rule['access_key'],
                self.path(share),
                f'--client_metadata={words}',
            )
        )
        return client.mount()

    def shuts_out(self, words):
        """Check that a client with these words loses its access with its rule, and that its share can be deleted."""
        share = self.share()
        rule = self.grant(share, self.ident())
        writer = base.Writer(self.mount_saying(share, rule, words) / 'log')
        self.addCleanup(writer.end)
        self.deny(share, rule)
        self.assertTrue(writer.is_shut_out())
        self.remove(share)

    def test_key_that_breaks_the_list(self):
        self.shuts_out('x"y=z')

    def test_key_that_forges_the_whole_file_system_as_the_directory(self):
        self.shuts_out('zz":"1","root":"/","zzz=1')

    def test_key_that_forges_a_session_evicts_nobody_else(self):
        theirs = self.share(token=self.OTHER)
        rule = self.grant(theirs, self.ident(), token=self.OTHER)
        writer = base.Writer(self.mount(theirs, rule) / 'log')
        self.addCleanup(writer.end)
        [session] = self.ceph.ask('tell', 'mds.a:0', 'client', 'ls', f'auth_name={rule["access_to"]}')
        self.shuts_out(f'zz":"1"}}}},{{"id":{session["id"]},"client_metadata":{{"zzz=1')
        self.assertFalse(writer.is_shut_out(2))
