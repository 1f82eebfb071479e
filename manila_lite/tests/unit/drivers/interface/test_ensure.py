# SPDX-License-Identifier: Apache-2.0
"""A driver that ensures one share after the other."""

import threading

import testtools

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.tests import waiting


def target(share_id):
    return values.EnsureTarget(values.Share(share_id, share_id, 'p', 1, 'NFS', 'pool'))


class Slow(interface.EnsuresOneByOne):
    """A driver whose result depends on the share's id, and that counts the shares in progress."""

    def __init__(self):
        self.lock = threading.Lock()
        self.now = self.most = 0
        self.met = threading.Barrier(self.ENSURED_AT_ONCE, timeout=waiting.LIMIT)

    def ensure_share(self, target):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.met.wait()  # as many at a time as are allowed
        with self.lock:
            self.now -= 1
        if target.share.id == 'broken':
            raise errors.Final('It has no data.')
        if target.share.id == 'away':
            raise ConnectionError('lost touch')
        return values.EnsureResult(repaired=(target.share.id,))


class OneByOne(testtools.TestCase):
    def test_each_share_has_its_own_result(self):
        driver = Slow()
        share_ids = ['a', 'broken', 'b', 'away', 'c', 'd', 'e', 'f']
        results = driver.ensure_shares([target(share_id) for share_id in share_ids])
        self.assertEqual(set(share_ids) - {'away'}, set(results))
        self.assertEqual('It has no data.', results['broken'].error)
        self.assertEqual(('f',), results['f'].repaired)
        self.assertEqual(Slow.ENSURED_AT_ONCE, driver.most)

    def test_empty_list_of_shares_returns_no_results(self):
        self.assertEqual({}, Slow().ensure_shares([]))
