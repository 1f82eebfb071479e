# SPDX-License-Identifier: Apache-2.0
"""Every page of the console in a real browser: it shows what the service has, and axe finds nothing in it."""

import contextlib
import sqlite3

from manila_lite.tests.functional.console import base

#: The address of each page, and its title.
PAGES = {
    'overview': 'Overview',
    'shares': 'Shares',
    'create-share': 'Create a share',
    'snapshots': 'Snapshots',
    'networks': 'Share networks',
    'groups': 'Share groups',
    'backups': 'Backups',
    'schedules': 'Schedules',
    'replicas': 'Replicas',
    'operations': 'Operations',
    'messages': 'Messages',
    'quotas': 'Quotas',
    'pools': 'Pools',
    'services': 'Services',
    'servers': 'Share servers',
    'migrations': 'Migrations',
    'findings': 'Findings',
    'types': 'Share types',
    'search': 'Search',
    'search/one': 'Found for one',
    'evacuate/test@alpha/1': 'Evacuate test@alpha',
    'api': 'API',
    'api/2.99/POST/%2Fshares': 'POST /shares',
    'nothing': 'No such page',
}
_MANY = 10_000
#: Tables that scroll sideways, and short words in them that are broken.
_CRAMPED = """
const cramped = [...document.querySelectorAll('.table')].filter((table) => table.scrollWidth > table.clientWidth + 1);
const broken = [...document.querySelectorAll('.table bdi')].filter((name) => /^\\w{1,12}$/.test(name.textContent)
  && name.getBoundingClientRect().height > 1.9 * parseFloat(getComputedStyle(name).fontSize));
return [...cramped, ...broken].map((element) => element.outerHTML.slice(0, 200));
"""
_ID = "printf('00000000-0000-4000-8000-%012d', n)"
_COPY = """WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})
INSERT INTO {table} ({names}) SELECT {values} FROM numbers, {table} AS old WHERE old.{key} = ?"""


class PagesTest(base.ConsoleTest):
    """Pages of a service with one of each thing."""

    CONFIG = base.Page.CONSOLE + '[quota]\nshares = 50\n'

    def fill(self):
        """Make a share with a rule and a snapshot, and a network."""
        share = self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'one'}})[
            'share'
        ]
        self.lite.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.lite.ok(
            'POST',
            f'/shares/{share["id"]}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '192.0.2.7'}},
        )
        self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id'], 'name': 'monday'}})
        self.lite.ok('POST', '/share-networks', {'share_network': {'name': 'blue'}})
        return share

    def test_every_page_is_accessible_and_within_the_policy(self):
        share = self.fill()
        for where, title in {**PAGES, f'share/{share["id"]}': 'one'}.items():
            self.open(where, title)
            self.see_gone("//*[contains(@class, 'loading')]")
            self.assertNotIn('``', self.text, where)  # marks of the guides
            self.assertEqual([], self.driver.execute_script(_CRAMPED), where)
            self.assert_accessible(where)
        self.assert_quiet()

    def test_dialogs_are_accessible(self):
        share = self.fill()
        self.open(f'share/{share["id"]}', 'one')
        for words in ('Edit', 'Resize', 'Add a rule', 'Take a snapshot', 'Delete'):
            self.press(words, '//main')
            self.see('//dialog')
            self.assert_accessible(words)
            self.press('Cancel', '//dialog')
            self.see_gone('//dialog')
        self.open('schedules', 'Schedules')
        self.press('Create a schedule')
        self.assertEqual(
            1, len({self.field(words, '//dialog').rect['y'] for words in ('Newest', 'Hours', 'Days')})
        )
        self.assert_accessible('Create a schedule')

    def test_operator_pages_show_the_service(self):
        self.fill()
        self.open('pools', 'Pools')
        self.see(
            "//h2[normalize-space()='test@alpha#alpha' or starts-with(normalize-space(), 'test@alpha#')]"
        )
        self.assertIn('promised', self.see("//li[@class='card']/p").text)
        self.picture('pools')
        self.open('services', 'Services')
        self.see("//tr[th='manila-share']//span[normalize-space()='up']")
        self.press('Disable: manila-share test@alpha')
        self.write('Reason', 'disks', '//dialog')
        self.press('Disable', '//dialog')
        self.see("//tr[th='manila-share']//span[normalize-space()='disabled']")
        self.press('Enable: manila-share test@alpha')
        self.see("//tr[th='manila-share']//span[normalize-space()='enabled']")
        self.open('operations', 'Operations')
        self.choose('State', 'Done')
        self.see("//tr[th='share: create']")
        self.open('quotas', 'Quotas')
        self.see("//li[contains(., '1 of 50')]")
        self.assert_quiet()

    def test_share_that_could_not_be_created_has_a_message(self):
        self.lite.knobs('create_share:fail')
        self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'broken'}})
        self.open('shares', 'Shares')
        self.see("//tr//span[normalize-space()='error']")
        self.press('broken')
        self.see("//section[.//h2='Messages']//tbody/tr")
        self.assert_quiet()
        self.act_as('rita', self.project, 'reader')
        self.open('messages', 'Messages')
        self.see('//tbody/tr')
        self.assertEqual([], self.all("//tbody//button[.='Delete']"))


class ManyTest(base.ConsoleTest):
    """A list of ten thousand shares."""

    def plant(self):
        """Write shares into the database while the service does not run: creating them takes long."""
        share = self.lite.ok(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'share 00000'}}
        )['share']
        self.lite.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.lite.kill()
        with contextlib.closing(sqlite3.connect(self.lite.state / 'manila_lite.sqlite')) as rows, rows:
            _copy(rows, 'shares', 'id', share['id'], {'id': _ID, 'name': "printf('share %05d', n)"})
            _copy(rows, 'share_instances', 'share_id', share['id'], {'id': _ID, 'share_id': _ID})
        self.lite.start()

    def test_ten_thousand_shares_scroll(self):
        self.plant()
        self.open('shares', 'Shares')
        self.see("//*[normalize-space()='10,000 shares']")
        self.press('Name')
        self.until(lambda: self.names()[:1] == ['share 00000'], self.names)
        box = self.see("//div[contains(@class, 'long') and @role='region']")
        self.assertTrue(len(self.all('//tbody/tr')) < 100)
        for row in (5000, 9999, 20):
            self.driver.execute_script('arguments[0].scrollTop = arguments[1] * 41', box, row)
            self.until(lambda row=row: f'share {row:05d}' in self.names(), self.names)
            self.assertTrue(len(self.all('//tbody/tr')) < 100)
        self.assertEqual('10001', self.see('//table').get_attribute('aria-rowcount'))
        self.assert_accessible('many')
        self.picture('shares')
        self.assert_quiet()

    def names(self):
        return self.driver.execute_script(
            'return [...document.querySelectorAll("tbody th bdi")].map((bdi) => bdi.textContent)'
        )


def _copy(rows, table, key, value, new):
    """Copy a row of a table many times, with new values in some columns."""
    names = [row[1] for row in rows.execute(f'PRAGMA table_info({table})')]
    rows.execute(
        _COPY.format(
            table=table,
            key=key,
            last=_MANY - 1,
            names=', '.join(names),
            values=', '.join(new.get(name, f'old.{name}') for name in names),
        ),
        (value,),
    )
