# SPDX-License-Identifier: Apache-2.0
"""Causes of failed mounts: each output has its sentence, and no sentence names the host."""

import testtools

from manila_lite.siblings import mount_faults


class Causes(testtools.TestCase):
    def test_output_of_a_failed_mount_has_a_cause(self):
        for said, cause in (
            (
                'mount.nfs: access denied by server while mounting 192.0.2.7:/a',
                'the NFS server refuses access to the host',
            ),
            (
                'mount.nfs: Protocol not supported',
                'the NFS server does not serve the NFS version of the host',
            ),
            ("mount: unknown filesystem type 'nfs'", 'the host has no NFS client that works'),
            ('mount.nfs: Failed to resolve server nas', 'the host cannot find the address of the NFS server'),
            ('mount.nfs: Stale file handle', 'the NFS server no longer knows the export'),
            ('anything at /var/lib/secret', 'the host refused it, and its log has the cause'),
        ):
            self.assertEqual(cause, mount_faults.cause(said))
