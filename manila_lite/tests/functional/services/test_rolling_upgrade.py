# SPDX-License-Identifier: Apache-2.0
"""An upgrade from the release before, under load, and the way back, as doc/source/admin/upgrade.rst has them."""

import contextlib
import signal
import sqlite3

import testtools
from oslo_upgradecheck.upgradecheck import Code

from manila_lite import release
from manila_lite.tests import forks, process
from manila_lite.tests.services import places
from manila_lite.tests.upgrade import steps
from manila_lite.tests.upgrade.cluster import Cluster
from manila_lite.tests.upgrade.load import Load
from manila_lite.tests.upgrade.release_before import Tree, need_history

_USERS = 2
#: Steps after which old and new are mixed in another way. Before the next, something has to be done from begin to end.
_LONG = {
    'schema upgraded',
    'api on one upgraded',
    'scheduler on one upgraded',
    'share on one upgraded',
    'share on right upgraded',
    'share on right taken back',
    'share on one taken back',
    'scheduler on left taken back',
    'api on one taken back',
}


class RollingUpgrade(testtools.TestCase):
    """Two API hosts, two schedulers and two backends, one of which has two share managers."""

    def setUp(self):
        super().setUp()
        if places.backend() == 'sqlite':
            self.skipTest('only PostgreSQL has several hosts during an upgrade, and MariaDB')
        need_history(self)
        self.cluster = self.useFixture(Cluster())
        self.cluster.begin()
        self.load = Load(self.cluster, _USERS)
        self.load.start()
        self.addCleanup(self.load.abandon)

    def follow(self, way):
        """Go that way, step by step; yield each."""
        for step in way:
            if step in _LONG:
                self.go_on(step)
            yield step

    def go_on(self, step):
        """Wait until each user has made and used shares, and a share has moved."""
        self.load.go_on(_USERS, 1)
        self.assertEqual([], self.load.problems, f'{step}\n{self.cluster.tail()}')

    def test_no_request_is_refused_and_nothing_fails_on_the_way_there_and_back(self):
        self.assertEqual(self.cluster.before.schema, self.cluster.manage('db', 'version', old=True).strip())
        self.go_on('before')
        for step in self.follow(steps.upgrade(self.cluster)):
            if step == 'scheduler on one upgraded':
                self.assert_mixed()
        self.assertEqual({release.VERSION}, set(self.cluster.releases().values()))
        self.assertEqual((Code.SUCCESS, ''), self.cluster.checked('releases of services'))
        for _ in self.follow(steps.back(self.cluster)):
            pass
        self.assertEqual({self.cluster.before.told}, set(self.cluster.releases().values()))
        self.load.stop()
        self.assertEqual([], self.load.problems)
        self.assertEqual([], [*self.cluster.problems(), *self.cluster.complaints()], self.cluster.tail())

    def assert_mixed(self):
        """Check that an operator sees which services are of which release."""
        told = self.cluster.releases()
        self.assertEqual({release.VERSION, self.cluster.before.told}, set(told.values()))
        self.assertEqual(release.VERSION, told['manila-scheduler one'])
        self.assertEqual(
            told,
            {
                f'{row["binary"]} {row["host"]}': row['release']
                for row in self.cluster.ok('GET', '/services')['services']
            },
        )
        result, details = self.cluster.checked('releases of services')
        self.assertEqual(Code.WARNING, result)
        self.assertIn(f'{release.VERSION}: manila-scheduler on one', details)


class Lite(process.Lite):
    """``manila-lite`` of the release in ``tree``, or of this one."""

    tree = None

    def spawn(self):
        """Start the process, and do not wait for it."""
        with self.log.open('ab') as log:
            self.process = forks.start(
                'manila_lite.cmd.all_in_one:main',
                f'--config-file={self.config}',
                stdout=log,
                stderr=log,
                tree=self.tree,
            )


class OneHost(testtools.TestCase):
    """``manila-lite`` with its SQLite file: stop, install, start."""

    def test_it_starts_on_the_schema_of_a_later_release(self):
        lite = self.useFixture(Lite())
        lite.start()
        self.assertEqual(0, lite.kill(signal.SIGTERM))
        with contextlib.closing(sqlite3.connect(lite.state / 'manila_lite.sqlite')) as database, database:
            database.execute("UPDATE alembic_version SET version_num = '9999'")
        lite.start()

    def test_shares_and_work_under_way_are_there_after_the_upgrade(self):
        need_history(self)
        lite = self.useFixture(Lite())
        lite.tree = self.useFixture(Tree()).path
        lite.start()
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        share = lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        lite.wait(f'/shares/{share}', 'share', 'available')
        snapshot = lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        lite.knobs('create_share:delay=600@once')
        begun = lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        calls = lite.state / 'alpha' / 'calls'
        process.until(lambda: calls.read_text().count('create_share ') == 2, 'the second call', lite.tail)
        lite.kill(signal.SIGKILL)
        lite.tree = None
        lite.start()
        lite.wait(f'/shares/{begun}', 'share', 'available')
        copy = lite.ok(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'snapshot_id': snapshot}}
        )['share']['id']
        lite.wait(f'/shares/{copy}', 'share', 'available')
        for kind, resource_id in (
            ('share', copy),
            ('share', begun),
            ('snapshot', snapshot),
            ('share', share),
        ):
            lite.ok('DELETE', f'/{kind}s/{resource_id}')
            lite.wait(f'/{kind}s/{resource_id}', kind, 'gone')
        self.assertEqual(
            {release.VERSION}, {row['release'] for row in lite.ok('GET', '/services')['services']}
        )
        self.assertNotIn(' ERROR ', lite.log.read_text())
        self.assertIn(f'manila-lite of release {release.VERSION} starts\n', lite.log.read_text())
