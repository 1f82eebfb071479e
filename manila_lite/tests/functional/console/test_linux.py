# SPDX-License-Identifier: Apache-2.0
"""Real storage: what the page says to paste mounts the share."""

import shlex

from manila_lite.tests.functional.console import base
from manila_lite.tests.functional.linux import api_base, server_base


class RealStorageTest(base.Page, api_base.ApiTest):
    """Share servers of the linux backend, and clients in their subnets."""

    CONFIG = api_base.CONFIG + base.Page.CONSOLE

    def setUp(self):
        self.start_browser()
        super().setUp()

    def created(self):
        """Create a network and a share on the pages; return the share."""
        self.open('networks', 'Share networks')
        self.press('Create a share network')
        self.write('Name', 'sea', '//dialog')
        self.write('Network of the provider', 'net-four', '//dialog')
        self.write('Subnet of the provider', 'four', '//dialog')
        self.press('Create', '//dialog')
        self.see("//h2[.//bdi='sea']")
        self.open('create-share', 'Create a share')
        self.write('Name', 'docs')
        self.press('Create')
        self.see_title('docs')
        self.see("//dd/span[normalize-space()='available']")
        share = self.lite.ok('GET', '/shares/detail?name=docs')['shares'][0]
        self.machine.spaces.append(f'manila-{share["share_server_id"]}')
        return share

    def test_command_of_the_page_mounts_the_share_for_those_with_a_rule(self):
        share = self.created()
        self.clients('four')
        told = self.see("//code[@aria-label='Command to mount the share']").text
        program, *words, place, folder = shlex.split(told)
        self.assertEqual(('mount', ['-t', 'nfs', '-o', 'vers=4.2'], '/mnt/share'), (program, words, folder))
        address, _, directory = place.partition(':')
        self.refused('NOENT', 'friend-four', address, directory, 'list')
        self.press('Add a rule')
        self.write('Address or network', server_base.address('four', 101), '//dialog')
        self.press('Add', '//dialog')
        self.see("//section//tr[.//bdi]//span[normalize-space()='active']")
        self.works('friend-four', address, directory, 'write', 'f', 'hello')
        self.refused('NOENT', 'stranger-four', address, directory, 'list')
        self.press(f'Delete: {server_base.address("four", 101)}')
        self.press('Delete', '//dialog')
        self.see("//*[normalize-space()='No rule: nobody may mount the share.']")
        self.refused('NOENT', 'friend-four', address, directory, 'list')
        self.press('Delete', '//div[h1]')
        self.press('Delete', '//dialog')
        self.see_title('Shares')
        self.lite.wait(f'/shares/{share["id"]}', 'share', 'gone')
        self.assert_quiet()
