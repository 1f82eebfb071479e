# SPDX-License-Identifier: Apache-2.0
"""A mount in user space whose server forgets its handles: open files can still be used."""

import errno
import os
import unittest

import fixtures
import testtools

try:
    import mfusepy

    from manila_lite.siblings import libnfs, nfs_fuse
except (ImportError, OSError) as lacks:
    mfusepy, LACKS = None, str(lacks)
else:
    LACKS = ''


class Forgetful:
    """A server that knows only handles opened since it was started; ``calls`` has the requests to it."""

    def __init__(self, calls, refuses=None):
        self._calls, self._opened, self.refuses = calls, False, refuses

    def call(self, name, *arguments):
        self._calls.append(name)
        if self.refuses:
            raise self.refuses
        self._opened |= name == 'nfs_open'
        if name == 'nfs_pread' and not self._opened:
            raise libnfs.Refused('NFS4ERR_BAD_STATEID', errno.EIO)
        if name == 'nfs_pread':
            arguments[-1].raw = b'hi' + arguments[-1].raw[2:]
            return 2
        return 0

    def names(self, path):
        self.call('names')
        return ['f']


@unittest.skipIf(LACKS, f'FUSE is not here: {LACKS}')
class Forgotten(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.calls, self.mounts = [], []
        self.export = nfs_fuse.NfsOperations(self._mount)

    def _mount(self):
        self.mounts.append(Forgetful(self.calls))
        return self.mounts[-1]

    def test_open_file_is_reopened_if_the_server_lost_its_state(self):
        number = self.export.open('/f', os.O_RDONLY)
        self.mounts[0]._opened = False
        self.assertEqual(b'hi', self.export.read('/f', 2, 0, number))
        self.assertEqual(['nfs_open', 'nfs_pread', 'nfs_open', 'nfs_pread'], self.calls)
        self.assertEqual(2, len(self.mounts))
        self.assertEqual(0, self.export.release('/f', number))

    def test_release_of_a_handle_lost_by_the_server_makes_no_call(self):
        old, new = self.export.open('/f', os.O_RDONLY), self.export.open('/g', os.O_RDONLY)
        self.mounts[0]._opened = False
        self.export.read('/f', 2, 0, old)
        del self.calls[:]
        self.export.release('/g', new)
        self.assertEqual([], self.calls)

    def test_readdir_is_retried_after_a_stale_client_id(self):
        self.mounts[0].refuses = libnfs.Refused('NFS4ERR_STALE_CLIENTID', errno.EIO)
        self.assertEqual(['.', '..', 'f'], self.export.readdir('/', 0))

    def test_other_errors_are_passed_on(self):
        self.mounts[0].refuses = libnfs.Refused('NFS4ERR_DQUOT', errno.EDQUOT)
        error = self.assertRaises(mfusepy.FuseOSError, self.export.mkdir, '/d', 0o755)
        self.assertEqual((errno.EDQUOT, 1), (error.errno, len(self.mounts)))

    def test_request_is_retried_while_the_server_is_away_or_in_grace(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.siblings.nfs_fuse._PAUSE', 0))
        self.mounts[0].refuses = libnfs.Refused('nfs_service failed (Input/output error)', errno.EIO)
        answers = [
            libnfs.Refused('nfs_mount: connection refused', errno.EIO),
            Forgetful(self.calls, libnfs.Refused('NFS4ERR_GRACE', errno.EIO)),
        ]

        def mount():
            answer = answers.pop(0)
            if isinstance(answer, libnfs.Refused):
                raise answer
            self.mounts.append(answer)
            graceful = answer.call

            def call(*words):
                try:
                    return graceful(*words)
                finally:
                    answer.refuses = None

            answer.call = call
            return answer

        self.export._mount_anew = mount
        self.assertEqual(0, self.export.mkdir('/d', 0o755))
        self.assertEqual(['nfs_mkdir2'] * 4, self.calls)

    def test_refused_remount_fails_the_request(self):
        self.mounts[0].refuses = libnfs.Refused('nfs_service failed (Input/output error)', errno.EIO)

        def mount():
            raise libnfs.Refused('NFS4ERR_NOENT', errno.ENOENT)

        self.export._mount_anew = mount
        error = self.assertRaises(mfusepy.FuseOSError, self.export.mkdir, '/d', 0o755)
        self.assertEqual(errno.ENOENT, error.errno)
