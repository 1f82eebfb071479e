# SPDX-License-Identifier: Apache-2.0
"""Base of tests of the cephfs driver: a service on a private cluster, two projects, and their clients."""

import contextlib
import itertools
import os
import threading
import time
import unittest
from pathlib import Path

import testtools

from manila_lite.tests import hush, process, waiting
from manila_lite.tests.services import ceph
from manila_lite.tests.services.daemon import Missing

CONFIG = """[DEFAULT]
enabled_share_protocols = CEPHFS
capability_interval = 2
[alpha]
driver = cephfs
cephfs_conf_path = {conf}
{more}
"""
TYPE = {
    'share_type': {
        'name': 'default',
        'extra_specs': {
            'driver_handles_share_servers': 'False',
            'snapshot_support': 'True',
            'create_share_from_snapshot_support': 'True',
        },
    }
}
_numbers = itertools.count(1)


class CephTest(testtools.TestCase):
    """A service for the class, on the shared cluster or on ``CLUSTER``, one of its own."""

    TOGETHER = ceph.TOGETHER
    CLUSTER: dict | None = None
    MORE = ''
    FILESYSTEM = 'a'
    #: Users of two projects. The first is an administrator, too.
    OTHER = f'eve:q:member,reader:{hush.MARK}other'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.ceph = ceph.shared() if cls.CLUSTER is None else ceph.Ceph(**cls.CLUSTER)
            if cls.CLUSTER is not None:
                cls.addClassCleanup(cls.ceph.cleanUp)
                cls.ceph.setUp()
        except Missing as lacking:
            raise unittest.SkipTest(str(lacking)) from None
        cls.lite = process.Lite(CONFIG.format(conf=cls.ceph.conf, more=cls.MORE))
        cls.lite.setUp()
        cls.addClassCleanup(cls.lite.cleanUp)
        cls.begin()

    @classmethod
    def begin(cls):
        """Start the service, and wait until it knows its pool."""
        cls.lite.start()
        cls.lite.ok('POST', '/types', TYPE)
        cls.until(lambda: cls.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'the pool is known')

    @classmethod
    def until(cls, check, what):
        """Wait until ``check`` returns something true; return its value."""
        return process.until(check, what, cls.lite.tail)

    def share(self, size=1, token=None, **more):
        """Create a share; return its id. It is deleted at the end, with its snapshots."""
        share = self.lite.ok(
            'POST', '/shares', {'share': {'size': size, 'share_proto': 'CEPHFS', **more}}, token=token
        )['share']['id']
        self.addCleanup(self.remove, share)
        self.ends(share, 'available')
        return share

    def ends(self, share, status):
        """Wait until the share is in a status that lasts, which must be this one; return the share."""
        found = self.lite.wait(f'/shares/{share}', 'share', {'available', 'error', status})
        self.assertEqual(status, found['status'], self.lite.tail())
        return found

    def remove(self, share):
        """Delete the share, with its snapshots."""
        for snapshot in self.lite.ok('GET', f'/snapshots/detail?share_id={share}&all_tenants=1')['snapshots']:
            self.lite.call('DELETE', f'/snapshots/{snapshot["id"]}')
            self.lite.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'gone')
        self.lite.call('DELETE', f'/shares/{share}')
        self.lite.wait(f'/shares/{share}', 'share', 'gone')

    def ident(self, name='user'):
        """Return an auth id that no other test uses."""
        return f'{name}-{os.getpid()}-{next(_numbers)}'

    def grant(self, share, to, level='rw', *, ends='active', token=None):
        """Add an access rule, which must end in the state; return the rule."""
        rule = self.lite.ok(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': 'cephx', 'access_to': to, 'access_level': level}},
            token=token,
        )['access']['id']
        found = self.lite.wait(f'/share-access-rules/{rule}', 'access', ('active', 'error'), field='state')
        self.assertEqual(ends, found['state'], self.lite.tail())
        return found

    def deny(self, share, rule, *, wait=True):
        """Delete the access rule, and wait until it is gone."""
        self.lite.ok('POST', f'/shares/{share}/action', {'deny_access': {'access_id': rule['id']}})
        if wait:
            self.lite.wait(f'/share-access-rules/{rule["id"]}', 'access', 'gone', field='state')

    def location(self, share):
        """Return the preferred export location of the share."""
        found = self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations']
        return next(one['path'] for one in found if one['preferred'])

    def path(self, share):
        """Return the path of the share in the file system."""
        return '/' + self.location(share).partition(':/')[2]

    def mount(self, share, rule, *, below='', path=None) -> Path:
        """Mount the share, or a directory below it, as its owner does. Return where.

        :raises PermissionError: the cluster refuses.
        """
        place = path or self.path(share) + below
        self.client = self.useFixture(
            ceph.FuseMount(self.ceph, self.FILESYSTEM, rule['access_to'], rule['access_key'], place)
        )
        return self.client.mount()

    def snapshot(self, share):
        """Take a snapshot; return its id."""
        snapshot = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        return snapshot

    def messages(self, share):
        """Return the texts of the user messages about the share."""
        return [
            one['user_message'] for one in self.lite.ok('GET', f'/messages?resource_id={share}')['messages']
        ]


class Writer(threading.Thread):
    """A client that writes and syncs all the time, until it is refused or told to end. ``acknowledged`` counts its records."""

    def __init__(self, path: Path, pause: float = 0.01):
        super().__init__(daemon=True)
        self._path = path
        self._pause = pause
        self._ending = threading.Event()
        self.acknowledged = 0
        self.error: OSError | None = None
        #: Longest time for which a write waited.
        self.longest = 0.0
        self.start()
        waiting.until(lambda: self.acknowledged or self.error, 'the writer writes')

    def run(self):
        try:
            with self._path.open('ab', buffering=0) as file:
                while not self._ending.wait(self._pause):
                    began = time.monotonic()
                    file.write(b'%07d\n' % self.acknowledged)
                    os.fsync(file.fileno())
                    self.acknowledged += 1
                    self.longest = max(self.longest, time.monotonic() - began)
        except OSError as refused:
            self.error = refused

    def end(self):
        """Have it end, and wait for that."""
        self._ending.set()
        self.join(waiting.LIMIT)

    def is_shut_out(self, seconds=10.0):
        """Say whether it gets an error within these seconds."""
        self.join(seconds)
        return self.error is not None


def refused(call, *args):
    """Return the error number with which a call of the operating system is refused, or None."""
    with contextlib.suppress(FileExistsError):
        try:
            call(*args)
        except OSError as bad:
            return bad.errno
    return None
