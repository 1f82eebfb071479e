# SPDX-License-Identifier: Apache-2.0
"""Public shares: other projects can see them, but not back them up, replicate them or restore to them."""

from manila_lite.tests.functional.backups.test_share_backups import BackingUp
from manila_lite.tests.functional.share_replicas.test_share_replicas import Replicating


class Backups(BackingUp):
    def public(self):
        """Make a public share; return it, and a caller of another project."""
        share, stranger = self.caller('first').share(), self.caller('second')
        self.admin.ok('PUT', f'/shares/{share["id"]}', {'share': {'is_public': True}})
        stranger.ok('GET', f'/shares/{share["id"]}')
        return share, stranger

    def test_a_public_share_is_backed_up_by_its_project_only(self):
        share, stranger = self.public()
        status, document, _ = stranger.call(
            'POST', '/share-backups', {'share_backup': {'share_id': share['id']}}
        )
        self.assertEqual((403, 'share_of_another_project'), (status, document['forbidden']['reason']))
        self.assertEqual([], self.admin.ok('GET', f'/share-backups?share_id={share["id"]}')['share_backups'])

    def test_nothing_is_restored_to_a_public_share_by_another_project(self):
        share, stranger = self.public()
        self.write(share, 'as it was')
        backup = self.back_up(stranger.share(), stranger)
        status, document, _ = stranger.call(
            'POST', f'/share-backups/{backup["id"]}/action', {'restore': share['id']}
        )
        self.assertEqual((403, 'share_of_another_project'), (status, document['forbidden']['reason']))
        self.assertEqual('as it was', self.read(share))


class Replicas(Replicating):
    def test_a_public_share_is_replicated_by_its_project_only(self):
        share, stranger = self.make(caller=self.caller('first')), self.caller('second')
        self.admin.ok('PUT', f'/shares/{share["id"]}', {'share': {'is_public': True}})
        stranger.ok('GET', f'/shares/{share["id"]}')
        status, document, _ = stranger.call(
            'POST', '/share-replicas', {'share_replica': {'share_id': share['id']}}
        )
        self.assertEqual((403, 'share_of_another_project'), (status, document['forbidden']['reason']))
        self.assertEqual(
            1, len(self.admin.ok('GET', f'/share-replicas?share_id={share["id"]}')['share_replicas'])
        )
