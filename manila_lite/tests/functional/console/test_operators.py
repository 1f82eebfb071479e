# SPDX-License-Identifier: Apache-2.0
"""An operator's work in a real browser: share servers on their networks, migrations, evacuations."""

import unittest

from manila_lite.tests import waiting
from manila_lite.tests.factories import networks
from manila_lite.tests.functional.console import base
from manila_lite.tests.functional.migrations import test_host_assisted

_QUICK = 'migration_driver_continue_update_interval = 0.2\n'


class ServersTest(base.ConsoleTest):
    """A backend that makes share servers."""

    CONFIG = f'driver_handles_share_servers = true\n{base.Page.CONSOLE}[standalone_network]\nfile = networks.yaml\n'

    def configure(self):
        file = self.lite.state / 'networks.yaml'
        file.write_text(networks.FILE)
        self.lite.config.write_text(
            self.lite.config.read_text().replace('file = networks.yaml', f'file = {file}')
        )

    def ready(self):
        self.lite.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'default', 'extra_specs': {'driver_handles_share_servers': 'True'}}},
        )
        waiting.until(lambda: self.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'a pool')

    def test_network_with_two_subnets_gets_a_server_that_the_map_shows(self):
        self.open('create-share', 'Create a share')
        self.see("//*[contains(., 'the project has none')]")
        self.open('networks', 'Share networks')
        self.press('Create a share network')
        self.write('Name', 'sea', '//dialog')
        self.write('Network of the provider', 'blue', '//dialog')
        self.write('Subnet of the provider', 'blue-v4', '//dialog')
        self.press('Create', '//dialog')
        self.see("//h2[.//bdi='sea']")
        self.press('Add a subnet: sea')
        self.write('Network of the provider', 'blue', '//dialog')
        self.write('Subnet of the provider', 'blue-v6', '//dialog')
        self.press('Add', '//dialog')
        self.until(lambda: len(self.all("//*[name()='svg']//*[@class='cidr']")) == 2, lambda: self.text)
        self.assert_accessible('networks')
        self.open('create-share', 'Create a share')
        self.assertEqual('sea', self.field('Share network').text)
        self.write('Name', 'on a server')
        self.press('Create')
        self.see_title('on a server')
        self.see("//dd/span[normalize-space()='available']")
        self.open('networks', 'Share networks')
        cidrs = ['10.10.0.0/24', 'fd10::/64']
        self.until(
            lambda: [one.text for one in self.all("//*[name()='svg']//*[@class='cidr']")] == cidrs,
            lambda: self.text,
        )
        self.open('servers', 'Share servers')
        picture = self.see("//*[name()='svg'][@role='img']")
        self.assertEqual('1 share server on 1 host', picture.get_attribute('aria-label'))
        self.assertEqual(2, len(self.all("//*[name()='svg'][@role='img']//*[name()='path']")))
        self.see("//tr[td='sea']//code[normalize-space()='10.10.0.0/24']")
        self.assert_accessible('servers')
        self.picture('servers')
        self.assert_quiet()
        self.narrow()
        for where, title in (('servers', 'Share servers'), ('networks', 'Share networks')):
            self.open(where, title)
            self.assert_scrolls(self.see("//*[@class='picture']"))
            self.assert_fits(where)

    def assert_scrolls(self, picture):
        self.until(
            lambda: self.driver.execute_script(
                'return arguments[0].scrollWidth > arguments[0].clientWidth', picture
            ),
            'the picture scrolls by itself',
        )


class MovesTest(base.ConsoleTest):
    """Two backends, to move shares between them."""

    CONFIG = (
        f'{_QUICK}[beta]\ndriver = dummy\n{_QUICK}[DEFAULT]\nenabled_share_backends = alpha,beta\n'
        f'data_node_access_ips = 192.0.2.33\ndata_node_local_exports = 10.0.0.1:/shares=SERVED\n{base.Page.CONSOLE}'
    )

    @property
    def served(self):
        return self.lite.state / 'served'

    def configure(self):
        self.lite.config.write_text(self.lite.config.read_text().replace('SERVED', str(self.served)))

    def ready(self):
        super().ready()
        waiting.until(lambda: len(self.lite.ok('GET', '/scheduler-stats/pools')['pools']) == 2, 'two pools')

    def setUp(self):
        super().setUp()
        # An evacuation leaves it disabled.
        self.lite.ok('PUT', '/services/enable', {'host': 'test@alpha', 'binary': 'manila-share'})
        self.share = self.lite.ok(
            'POST',
            '/shares',
            {
                'share': {
                    'size': 1,
                    'share_proto': 'NFS',
                    'name': 'mover',
                    'scheduler_hints': {'only_host': 'test@alpha#pool1'},
                }
            },
        )['share']
        self.lite.wait(f'/shares/{self.share["id"]}', 'share', 'available')

    def test_migration_is_begun_watched_and_completed(self):
        self.lite.knobs('share_migration_continue:delay=1', backend='beta')
        self.open(f'share/{self.share["id"]}', 'mover')
        self.press('Migrate')
        self.choose('Target', 'test@beta#pool1', '//dialog')
        self.press('Migrate', '//dialog')
        self.see_title('Migrations')
        card = "//li[contains(@class, 'card')]"
        self.see(f"{card}//code[.='test@alpha#pool1']")
        self.see(f"{card}//code[.='test@beta#pool1']")
        self.see(f'{card}//progress')
        self.picture('migrations')
        self.assert_accessible('migrations')
        self.press('Complete: mover')
        self.press('Complete', '//dialog')
        self.lite.wait(f'/shares/{self.share["id"]}', 'share', 'migration_success', field='task_state')
        self.see("//*[normalize-space()='Nothing is being migrated.']")
        self.assert_quiet()

    def test_share_that_no_driver_moves_is_copied_by_the_host(self):
        if lacks := test_host_assisted.missing():
            raise unittest.SkipTest(f'a copy by the host needs {lacks}')
        self.lite.knobs('share_migration_check_compatibility:fail_final', backend='beta')
        self.addCleanup(self.lite.knobs, backend='beta')
        share = self.share['id']
        self.make_file(self.instance(share, 'available'))
        self.open(f'share/{share}', 'mover')
        self.press('Migrate')
        self.choose('Target', 'test@beta#pool1', '//dialog')
        self.field('The host of the target may copy the files, if no driver can').click()
        self.press('Migrate', '//dialog')
        self.see_title('Migrations')
        target = waiting.until(lambda: self.instance(share, 'migrating_to'), 'the target')
        (self.served / target).mkdir()
        self.see("//li[contains(@class, 'card')]//*[normalize-space()='data copying completed']")
        self.press('Complete: mover')
        self.press('Complete', '//dialog')
        self.lite.wait(f'/shares/{share}', 'share', 'migration_success', field='task_state')
        self.assertEqual('words', (self.served / target / 'file').read_text())
        self.assert_quiet()

    def instance(self, share, status):
        """Return the id of the share's instance in this status, or None."""
        found = self.lite.ok('GET', f'/shares/{share}/instances')['share_instances']
        return next((one['id'] for one in found if one['status'] == status), None)

    def make_file(self, instance):
        folder = self.served / instance
        folder.mkdir(parents=True)
        (folder / 'file').write_text('words')

    def test_evacuation_is_planned_and_done(self):
        self.open('services', 'Services')
        self.press('Evacuate: test@alpha')
        self.see_title('Evacuate test@alpha')
        self.press('Make a plan')
        self.see("//section[.//h2='Plan']//tr[.//a='mover']//code[.='test@beta']")
        self.assert_accessible('evacuate')
        self.press('Evacuate now')
        self.press('Evacuate now', '//dialog')
        self.until(
            lambda: self.lite.ok('GET', f'/shares/{self.share["id"]}')['share']['host'] == 'test@beta#pool1',
            lambda: self.text,
        )
        self.see("//div[contains(@class, 'card')]//span[normalize-space()='done']")
        self.assert_quiet()
