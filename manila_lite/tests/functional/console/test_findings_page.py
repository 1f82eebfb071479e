# SPDX-License-Identifier: Apache-2.0
"""Findings of the doctor in a real browser: shown with what mends them, and mended with a button; slow and failed requests."""

import contextlib
import re
import signal
import sqlite3
import threading

from manila_lite.tests import waiting
from manila_lite.tests.functional.console import base

_STUCK = (
    "UPDATE share_instances SET status = 'extending' WHERE share_id = ?",
    'UPDATE shares SET target_size = 2 WHERE id = ?',
)
_REPAIR = ("DELETE FROM services WHERE host = 'gone@alpha'", 'UPDATE shares SET target_size = NULL')
_LONG_AGO = '2020-01-01 00:00:00.000000'
_DOWN = f"""INSERT INTO services (host, binary, topic, stopped, disabled, created_at, heartbeat_at)
VALUES ('gone@alpha', 'manila-share', 'manila-share', 0, 0, '{_LONG_AGO}', '{_LONG_AGO}')"""


#: Seconds: more than the default of [api] slow_request.
_LONG = 1.5


class WithRows(base.ConsoleTest):
    """The database of the service."""

    def rows(self):
        """Return a connection to it, which changes nothing before COMMIT."""
        rows = sqlite3.connect(self.lite.state / 'manila_lite.sqlite', timeout=waiting.LIMIT)
        self.addCleanup(rows.close)
        return rows

    def execute(self, *statements):
        """Execute statements with their values."""
        with contextlib.closing(self.rows()) as rows, rows:
            for statement, values in statements:
                rows.execute(statement, values)


class FindingsPageTest(WithRows):
    """The page of findings, and a database that something went wrong with."""

    def damage(self):
        """Leave a share in the middle of a resize, and a service dead. Return the id of the share."""
        share = self.lite.ok(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'stuck'}}
        )['share']
        self.lite.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.addCleanup(self.execute, *((statement, ()) for statement in _REPAIR))
        self.execute(*((statement, (share['id'],)) for statement in _STUCK), (_DOWN, ()))
        return share['id']

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


class RequestsTest(WithRows):
    """The section of requests that were slow or failed."""

    def noted(self, query):
        """Return the id of the only request of the last hour that fits, as soon as it is noted."""
        found = waiting.until(
            lambda: self.lite.ok('GET', f'/request-notes?{query}')['request_notes'], 'no note'
        )
        self.assertEqual(1, len(found), found)
        return found[0]['request_id']

    def fail_once(self):
        """Have a request fail."""
        self.execute(('ALTER TABLE qos_types RENAME TO gone', ()))
        try:
            self.assertEqual(500, self.lite.call('GET', '/qos-types', version='2.99')[0])
        finally:
            self.execute(('ALTER TABLE gone RENAME TO qos_types', ()))

    def be_slow_once(self):
        """Have a request wait for a lock of the database."""
        answers = []
        body = {'share_type': {'name': 'slow', 'extra_specs': {'driver_handles_share_servers': 'False'}}}
        caller = threading.Thread(target=lambda: answers.append(self.lite.call('POST', '/types', body)[0]))
        lock = self.rows()
        lock.execute('BEGIN IMMEDIATE')
        caller.start()
        waiting.until(self.is_slow, self.lite.tail, pause=0.5)
        lock.rollback()
        caller.join(waiting.LIMIT)
        self.assertEqual([200], answers)

    def is_slow(self):
        """Say whether the service has had the request for long enough, by its own report."""
        self.lite.process.send_signal(signal.SIGUSR2)
        told = re.findall(r'POST /v2/types: since ([\d.]+) s', self.lite.log.read_text())
        return told and float(told[-1]) > _LONG

    def test_requests_are_shown_with_ids_to_copy(self):
        self.open('findings', 'Findings')
        self.choose('Show', 'Failed only')
        self.see("//section//p[normalize-space()='No request was slow or failed in the last hour.']")
        self.assert_accessible('no requests')
        self.fail_once()
        failed = self.noted('failed=true')
        self.press('Refresh')
        row = f"//tr[.//code='GET /v2/qos-types'][.//*[.='500']][.//code='test'][.//code='{failed}']"
        self.see(row)
        self.be_slow_once()
        waiting.until(lambda: self.lite.ok('GET', '/request-notes?slow=true')['request_notes'], 'no note')
        self.choose('Show', 'Slow only')
        slow = "//tr[.//code='POST /v2/types'][.//*[.='200']]"
        self.see(slow)
        self.see_gone(row)
        self.choose('Show', 'Slow and failed')
        self.see(slow)
        self.see(row)
        self.assert_accessible('requests')
        self.press(f'Copy: Request id {failed}')
        self.see(f"{row}//*[@role='status'][.='Copied']")
        self.picture('requests')
        self.narrow()
        self.assert_fits('requests')
        self.assert_accessible('requests, narrow', schemes=['light'])
        self.assert_quiet()

    def test_requests_that_are_only_counted_have_their_numbers(self):
        self.execute(
            (
                """INSERT INTO request_notes (id, created_at, api_host, seconds, requests, slow, failed)
                      VALUES ('x', datetime('now'), 'api1', 2.5, 30, 20, 12)""",
                (),
            )
        )
        self.addCleanup(self.execute, ("DELETE FROM request_notes WHERE id = 'x'", ()))
        self.open('findings', 'Findings')
        self.see(
            "//tr[.//code='api1'][contains(., '30 further requests')][contains(., '20 slow, 12 failed')]"
            "[contains(., 'up to 2.50')]"
        )
        self.assert_quiet()
