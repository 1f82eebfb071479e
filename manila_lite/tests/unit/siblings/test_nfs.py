# SPDX-License-Identifier: Apache-2.0
"""Mounts of exports: the commands, and the meaning of their output. The host is a table of mounts."""

import time

import testtools

from manila_lite import errors
from manila_lite.siblings import nfs
from manila_lite.tests import waiting

EXPORT, PLACE = '192.0.2.7:/shares/a', '/mnt/a b'


class Host:
    """A host that keeps a table of mounts; ``says`` has outputs for commands that begin so."""

    def __init__(self, **says):
        self.rows, self.ran, self.says = [], [], says

    def run(self, words, *, seconds=60):
        self.ran.append(list(words))
        return getattr(self, f'_{words[0].replace("-", "_")}', self._known)(list(words))

    def _known(self, words):
        status, said = self.says.get(words[0], (0, ''))
        return nfs.Ended(status, '', said)

    def _cat(self, words):
        return nfs.Ended(0, ''.join(f'{row}\n' for row in self.rows), '')

    def _mount(self, words):
        ended = self._known(words)
        if not ended.status and (
            more := [word for word in words if word.startswith('remount,bind,nosuid,nodev,')]
        ):
            self.rows[-1] = self.rows[-1].replace(' rw,', f' {more[0][-2:]},')
        elif not ended.status:
            level = 'ro' if any(word.startswith('ro,') for word in words) else 'rw'
            self.rows.append(f'{words[-2]} {nfs_escaped(words[-1])} nfs4 {level},relatime 0 0')
        return ended

    def _umount(self, words):
        ended = self._known(words)
        if not ended.status or '--lazy' in words:
            self.rows = [row for row in self.rows if row.split(' ')[1] != nfs_escaped(words[-1])]
            return nfs.Ended(0, '', '')
        return ended


def nfs_escaped(path):
    """Return a path as the kernel writes it."""
    return path.replace('\\', '\\134').replace(' ', '\\040')


class Mounting(testtools.TestCase):
    def test_export_is_mounted_once_by_the_kernel(self):
        host = Host()
        mounter = nfs.NfsMounter(host, way='kernel')
        for _ in range(2):
            mounter.mount(EXPORT, PLACE)
        self.assertEqual(
            [['mount', '-t', 'nfs', '-o', 'rw,vers=4.2', EXPORT, PLACE]],
            [words for words in host.ran if words[0] == 'mount'],
        )
        self.assertEqual(
            nfs.Mounted(EXPORT, PLACE, 'nfs4', frozenset({'rw', 'relatime'})), mounter.mounted(PLACE)
        )
        self.assertEqual([PLACE], [mount.path for mount in mounter.mounts('/mnt')])
        self.assertEqual([], mounter.mounts('/mn'))
        mounter.unmount(PLACE)
        mounter.unmount(PLACE)
        self.assertIsNone(mounter.mounted(PLACE))

    def test_read_only_mount_refuses_a_read_write_mount_at_its_path(self):
        for way in ('kernel', 'local'):
            host = Host()
            mounter = nfs.NfsMounter(host, way=way, local={'192.0.2.7:/shares': '/srv'})
            mounter.mount(EXPORT, PLACE, level='ro')
            self.assertEqual('ro', mounter.mounted(PLACE).level)
            self.assertRaises(nfs.MountFailed, mounter.mount, EXPORT, PLACE)

    def test_mount_over_another_export_is_refused(self):
        host = Host()
        mounter = nfs.NfsMounter(host, way='kernel')
        mounter.mount('192.0.2.7:/shares/b', PLACE)
        self.assertRaisesRegex(nfs.MountFailed, 'shares/b is mounted', mounter.mount, EXPORT, PLACE)

    def test_refusals_of_the_server_are_reported(self):
        self.assertRaisesRegex(
            nfs.MountFailed,
            'access denied',
            nfs.NfsMounter(Host(mount=(32, 'access denied by server')), way='kernel').mount,
            EXPORT,
            PLACE,
        )

    def test_cause_of_a_failure_names_nothing_of_the_host(self):
        for said, cause in (
            (
                'mount.nfs: access denied by server while mounting 192.0.2.7:/a',
                'the NFS server refuses access to the host',
            ),
            ('mount.nfs: Connection timed out', 'the NFS server does not answer'),
            (
                'mount.nfs: mounting nas:/a failed, reason given by server: No such file or directory',
                'the NFS server does not have the export, or hides it from the host',
            ),
            ('mount.nfs: Connection refused', 'the NFS server refuses connections'),
            (
                'nfs_mount_async failed. connect() to server failed. Network is unreachable(101) (Operation not permitted)',
                'the host has no route to the NFS server',
            ),
            ('mount.nfs: No route to host', 'the host has no route to the NFS server'),
            ('something at /var/lib/secret', 'the host refused it, and its log has the cause'),
        ):
            refused = self.assertRaises(
                nfs.MountFailed, nfs.NfsMounter(Host(mount=(32, said)), way='kernel').mount, EXPORT, PLACE
            )
            self.assertEqual(f'The share cannot be mounted: {cause}.', refused.cause)

    def test_health_of_a_mount(self):
        host = Host()
        mounter = nfs.NfsMounter(host, way='kernel')
        self.assertIs(nfs.Health.MISSING, mounter.health(PLACE))
        mounter.mount(EXPORT, PLACE)
        self.assertIs(nfs.Health.ANSWERS, mounter.health(PLACE))
        for said in ('Transport endpoint is not connected', 'Stale file handle'):
            host.says['stat'] = 1, said
            self.assertIs(nfs.Health.DEAD, mounter.health(PLACE))

    def test_busy_mount_is_unmounted_only_lazily(self):
        host = Host()
        mounter = nfs.NfsMounter(host, way='kernel')
        mounter.mount(EXPORT, PLACE)
        host.says['umount'] = 32, 'target is busy.'
        self.assertRaises(nfs.MountBusy, mounter.unmount, PLACE)
        host.says['umount'] = 1, 'not permitted'
        self.assertRaises(nfs.MountFailed, mounter.unmount, PLACE)
        mounter.unmount(PLACE, lazy=True)
        self.assertIsNone(mounter.mounted(PLACE))

    def test_mount_with_a_dead_endpoint_is_mounted_again(self):
        host = Host()
        mounter = nfs.NfsMounter(host, way='kernel')
        mounter.mount(EXPORT, PLACE)
        host.says['stat'] = 1, 'Transport endpoint is not connected'
        mounter.mount(EXPORT, PLACE)
        self.assertEqual(2, len([words for words in host.ran if words[0] == 'mount']))
        self.assertIn(['umount', '--lazy', PLACE], host.ran)


class Ways(testtools.TestCase):
    def test_mount_method_depends_on_the_support_of_the_host(self):
        local = {'192.0.2.7:/shares': '/srv'}
        for wanted, host, more in (
            ('local', Host(), {'local': local}),
            ('kernel', Host(), {}),
            ('kernel', Host(grep=(1, '')), {}),
            ('fuse', Host(grep=(1, ''), modprobe=(1, '')), {}),
        ):
            self.assertEqual(wanted, nfs.NfsMounter(host, **more).way_of(EXPORT))
        nothing = Host(grep=(1, ''), modprobe=(1, ''), test=(1, ''))
        self.assertRaises(nfs.MountFailed, nfs.NfsMounter(nothing).way_of, EXPORT)

    def test_only_exports_of_this_host_have_a_local_source(self):
        mounter = nfs.NfsMounter(Host(), local={'192.0.2.7:/shares': '/srv', '[fd00::7]:/shares/': '/srv/'})
        self.assertEqual('/srv/a', mounter.source_of(EXPORT))
        self.assertEqual('/srv/a/b', mounter.source_of('[fd00::7]:/shares/a/b'))
        for other in (
            '192.0.2.7:/shares',
            '192.0.2.7:/shares/',
            '192.0.2.7:/shares/../etc',
            '192.0.2.7:/shares/a//b',
            '192.0.2.70:/shares/a',
            '192.0.2.7:/sharesa',
        ):
            self.assertEqual('', mounter.source_of(other), other)
        self.assertRaises(nfs.MountFailed, nfs.NfsMounter(Host(), way='local').mount, EXPORT, PLACE)

    def test_export_locations_are_split_and_bad_ones_are_refused(self):
        self.assertEqual(('192.0.2.7', '/shares/a'), nfs.split(EXPORT))
        self.assertEqual(('fd00::7', '/'), nfs.split('[fd00::7]:/'))
        self.assertEqual(('nas.example', '/a'), nfs.split('nas.example:/a'))
        for bad in ('', '/a', 'nas:', 'nas:a', 'fd00::7:/a', '-o x:/a b', '[nas]:/a'):
            self.assertRaises(errors.Invalid, nfs.split, bad)


class Local(testtools.TestCase):
    def test_commands_return_output_and_status_or_time_out(self):
        local = nfs.LocalExecutor()
        self.assertEqual(nfs.Ended(0, 'x y', ''), local.run(['printf', '%s', 'x y']))
        self.assertEqual(127, local.run(['no-such-command']).status)
        self.assertRaises(nfs.TimedOut, local.run, ['sleep', '60'], seconds=0.1)

    def test_children_of_a_command_end_with_it(self):
        began = time.monotonic()
        self.assertRaises(
            nfs.TimedOut, nfs.LocalExecutor().run, ['sh', '-c', 'sleep 1000 & echo $! >&2; wait'], seconds=0.2
        )
        self.assertLess(time.monotonic() - began, waiting.LIMIT)
