# SPDX-License-Identifier: Apache-2.0
"""Findings of the doctor in a real browser: shown with what mends them, and mended with a button."""

import contextlib
import sqlite3

from manila_lite.tests.functional.console import base

_STUCK = ("UPDATE share_instances SET status = 'extending' WHERE share_id = ?",
          'UPDATE shares SET target_size = 2 WHERE id = ?')
_REPAIR = ("DELETE FROM services WHERE host = 'gone@alpha'", 'UPDATE shares SET target_size = NULL')
_LONG_AGO = '2020-01-01 00:00:00.000000'
_DOWN = f"""INSERT INTO services (host, binary, topic, stopped, disabled, created_at, heartbeat_at)
VALUES ('gone@alpha', 'manila-share', 'manila-share', 0, 0, '{_LONG_AGO}', '{_LONG_AGO}')"""


class FindingsPageTest(base.ConsoleTest):
    """The page of findings, and a database that something went wrong with."""

    def damage(self):
        """Leave a share in the middle of a resize, and a service dead. Return the id of the share."""
        share = self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'stuck'}})['share']
        self.lite.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.addCleanup(self.execute, *((statement, ()) for statement in _REPAIR))
        self.execute(*((statement, (share['id'],)) for statement in _STUCK), (_DOWN, ()))
        return share['id']

    def execute(self, *statements):
        """Execute statements with their values in the database of the service."""
        with contextlib.closing(sqlite3.connect(self.lite.state / 'manila_lite.sqlite', timeout=30)) as rows, rows:
            for statement, values in statements:
                rows.execute(statement, values)

    def test_finding_is_shown_with_what_mends_it_and_mended(self):
        self.open('findings', 'Findings')
        self.see("//*[normalize-space()='Nothing is wrong.']")
        share_id = self.damage()
        self.driver.refresh()
        self.see(f"//tr[.//a[.='{share_id}']]//bdi[.='no operation will end this']")
        self.see("//tr[.//code='gone@alpha'][td='By hand, as it says']//bdi[contains(., 'start it')]")
        self.assert_accessible('findings')
        self.press(f'Mend: share {share_id}')
        self.assert_accessible('a question')
        self.press('Cancel', '//dialog')
        self.press(f'Mend: share {share_id}')
        self.press('Mend', '//dialog')
        self.see("//*[@role='status'][contains(., 'share.extend was begun again')]")
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        self.see_gone(f"//tr[.//a[.='{share_id}']]")
        self.assertEqual(2, self.lite.ok('GET', f'/shares/{share_id}')['share']['size'])
        self.picture('findings')
        self.assert_quiet()

    def test_finding_that_ended_meanwhile_is_explained(self):
        share_id = self.damage()
        self.open('findings', 'Findings')
        self.press(f'Mend: share {share_id}')
        self.lite.ok('POST', f'/shares/{share_id}/action', {'reset_status': {'status': 'available'}})
        self.press('Mend', '//dialog')
        self.assertIn('not among the findings', self.see("//dialog//*[@role='alert']").text)
        self.press('Cancel', '//dialog')
        self.driver.refresh()
        self.see("//tr[.//code='gone@alpha']")
        self.assertEqual([], self.all(f"//tr[.//*[.='{share_id}']]"))
        self.assert_quiet()

    def test_members_see_why_there_is_nothing(self):
        self.act_as('ann', 'blue', 'member,reader')
        self.assertEqual([], self.all("//nav//a[.='Findings']"))
        self.open('findings', 'Findings')
        self.see("//main//*[@role='alert']")
        self.assert_quiet()
