# SPDX-License-Identifier: Apache-2.0
"""Daemons of the cluster are killed: clients and operations wait, and nothing is lost."""

from manila_lite.tests import forks, waiting
from manila_lite.tests.functional.ceph import base


class Faults(base.CephTest):
    TOGETHER = None
    CLUSTER = {'grace': 5, 'store': 'bluestore'}
    MORE = 'cephfs_command_timeout = 8'

    def tearDown(self):
        for name in self.ceph.daemons:
            if self.ceph.daemons[name].process is None:
                self.ceph.start(name)
        self.ceph.wait_usable()
        super().tearDown()

    def test_client_goes_on_writing_after_its_metadata_server_was_killed(self):
        share = self.share()
        place = self.mount(share, self.grant(share, self.ident()))
        writer = base.Writer(place / 'log')
        self.addCleanup(writer.end)
        self.ceph.kill('mds.m0')
        self.ceph.start('mds.m0')
        count = writer.acknowledged
        (place / 'a-new-file').write_text('needs the metadata server')
        waiting.until(lambda: writer.acknowledged > count + 10, 'the client goes on')
        writer.end()
        self.assertIsNone(writer.error)
        self.assertEqual(
            [f'{number:07}' for number in range(writer.acknowledged)],
            (place / 'log').read_text().splitlines(),
        )

    def test_client_goes_on_writing_after_a_disk_server_was_killed(self):
        share = self.share()
        place = self.mount(share, self.grant(share, self.ident()))
        writer = base.Writer(place / 'log')
        self.addCleanup(writer.end)
        self.ceph.kill('osd.0')
        self.ceph.start('osd.0')
        count = writer.acknowledged
        waiting.until(lambda: writer.acknowledged > count + 10, 'the client goes on')
        writer.end()
        self.assertIsNone(writer.error)
        self.assertEqual(
            [f'{number:07}' for number in range(writer.acknowledged)],
            (place / 'log').read_text().splitlines(),
        )

    def test_requests_wait_for_a_manager_that_restarts_between_their_steps(self):
        share = self.share()
        for step in (
            lambda: self.grant(share, self.ident()),
            lambda: self.snapshot(share),
            lambda: self.lite.ok('POST', f'/shares/{share}/action', {'extend': {'new_size': 2}}),
        ):
            self.ceph.kill('mgr.x')
            self.ceph.start('mgr.x')
            step()
        self.assertEqual(2, self.ends(share, 'available')['size'])

    def test_shares_are_placed_while_a_manager_that_restarted_knows_no_capacity_yet(self):
        self.ceph.kill('mgr.x')
        self.ceph.start('mgr.x')
        for _ in range(4):
            self.share()

    def test_doctor_tells_of_a_manager_that_is_away_and_the_request_is_done_when_it_is_back(self):
        self.ceph.kill('mgr.x')
        share = self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'CEPHFS'}})['share'][
            'id'
        ]
        self.addCleanup(self.remove, share)

        def told():
            done = forks.run('manila_lite.cmd.manage:main', f'--config-file={self.lite.config}', 'doctor')
            return 'ceph status' in done.stdout and done.stdout

        said = waiting.until(told, lambda: f'the doctor tells\n{self.lite.tail()}', pause=0.5)
        self.assertIn(share, said)
        self.ceph.start('mgr.x')
        self.ends(share, 'available')

    def test_copy_is_awaited_over_a_kill_of_the_manager_and_of_the_service(self):
        share = self.share()
        place = self.mount(share, self.grant(share, self.ident()))
        for number in range(200):
            (place / f'f{number}').write_text('x' * 1000)
        snapshot = self.snapshot(share)
        copy = self.lite.ok(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'CEPHFS', 'snapshot_id': snapshot}}
        )
        copy = copy['share']['id']
        self.addCleanup(self.remove, copy)
        self.ceph.kill('mgr.x')
        self.lite.kill()
        self.ceph.start('mgr.x')
        self.lite.start()
        self.ends(copy, 'available')
        mine = self.mount(copy, self.grant(copy, self.ident()))
        self.assertEqual(['x' * 1000] * 200, [(mine / f'f{number}').read_text() for number in range(200)])
