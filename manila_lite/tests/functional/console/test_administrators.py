# SPDX-License-Identifier: Apache-2.0
"""Share types, their access and extra specs, and quotas of projects: for administrators only."""

from manila_lite.tests import waiting
from manila_lite.tests.functional.console import base

_EVIL = '<img src=x onerror="document.title=1">'


class TypesTest(base.ConsoleTest):
    """The page Share types."""

    def type_of(self, name):
        """Return the share type, or None."""
        types = self.lite.ok('GET', '/types?is_public=all', version='2.99')['share_types']
        return next((one for one in types if one['name'] == name), None)

    def test_type_is_created_changed_given_to_a_project_and_deleted(self):
        self.open('types', 'Share types')
        self.see("//tr[.//bdi[.='default']]")
        self.press('Create a share type')
        self.write('Name', _EVIL, '//dialog')
        self.field('Every project may use it', '//dialog').click()
        self.write('Extra specs', 'snapshot_support = True\nbackend_name = alpha', '//dialog')
        self.press('Create', '//dialog')
        row = f'//tr[.//bdi[.={base.literal(_EVIL)}]]'
        self.see(f"{row}//li[code='backend_name'][code='alpha']")
        self.assertEqual([], self.all('//img'))
        made = self.type_of(_EVIL)
        self.assertFalse(made['share_type_access:is_public'])
        self.assertEqual('True', made['extra_specs']['snapshot_support'])
        self.press(f'Edit: {_EVIL}')
        self.assert_accessible('a share type')
        self.write('Extra specs', 'snapshot_support = True\nnote = a = b', '//dialog')
        self.press('Save', '//dialog')
        self.see(f"{row}//li[code='note'][code='a = b']")
        self.assertNotIn('backend_name', self.type_of(_EVIL)['extra_specs'])
        self.press(f'Access: {_EVIL}')
        self.see("//dialog//*[normalize-space()='No project may use it yet.']")
        self.write('Id of the project', 'blue', '//dialog')
        self.press('Add', '//dialog')
        self.see("//dialog//bdi[.='blue']")
        self.assert_accessible('access to a share type')
        path = f'/types/{made["id"]}/share_type_access'
        self.assertEqual(
            ['blue'], [row['project_id'] for row in self.lite.ok('GET', path)['share_type_access']]
        )
        self.press('Withdraw: blue')
        self.see_gone("//dialog//bdi[.='blue']")
        self.press('Close', '//dialog')
        self.press(f'Delete: {_EVIL}')
        self.press('Delete', '//dialog')
        waiting.until(lambda: self.type_of(_EVIL) is None, 'the type to be gone')
        self.see_gone(row)
        self.assert_quiet()

    def test_line_that_is_no_pair_is_explained(self):
        self.open('types', 'Share types')
        self.press('Create a share type')
        self.write('Name', 'odd', '//dialog')
        self.write('Extra specs', 'nothing', '//dialog')
        self.press('Create', '//dialog')
        self.assertIn('key = value', self.see("//dialog//*[@role='alert']").text)
        self.assertIsNone(self.type_of('odd'))


class QuotasTest(base.ConsoleTest):
    """The page Quotas."""

    def test_quota_of_another_project_is_changed_and_reset(self):
        self.open('quotas', 'Quotas')
        self.write('Project, by id', 'blue')
        self.press('Change')
        self.write('Shares', '7', '//dialog')
        self.assert_accessible('quotas')
        self.press('Save', '//dialog')
        self.see("//li[contains(., '0 of 7')]")
        self.assertEqual(7, self.lite.ok('GET', '/quota-sets/blue')['quota_set']['shares'])
        self.press('Back to the defaults')
        self.press('Back to the defaults', '//dialog')
        self.see_gone("//li[contains(., '0 of 7')]")
        self.assert_quiet()

    def test_others_are_offered_no_change_and_refused_the_pages(self):
        self.act_as('ann', self.project, 'member,reader')
        self.open('quotas', 'Quotas')
        self.see("//li[contains(., 'Shares')]")
        self.assertEqual([], self.all("//button[.='Change']"))
        self.assertEqual([], self.all("//nav//a[.='Share types']"))
        self.open('types', 'Share types')
        self.see("//main//*[@role='alert']")
        self.assertEqual([], self.all("//main//button[.='Create a share type']"))
        self.assert_quiet()
