# SPDX-License-Identifier: Apache-2.0
"""Guests with shares, from the API call to a file that another NFS client reads."""

import json

from manila_lite.tests.functional.siblings.compute.guests import GuestTest


class Guests(GuestTest):
    """Few guests are booted: each takes a second or two of both processors, and much more on a slow machine."""

    def devices(self, *shares):
        """Return the devices in the metadata for pairs of (share, tag)."""
        return [
            {'type': 'share', 'share_id': share, 'tag': tag, 'bus': 'none', 'address': 'none'}
            for share, tag in shares
        ]

    def nothing_is_left(self, *shares):
        """Check that no attachment is left in rows, mounts, processes and rules."""
        self.assertEqual(set(), self.mounts())
        self.assertEqual([], self.processes('virtiofsd'))
        self.until(lambda: not self.processes('nfs_fuse'), 'what served the mounts has ended')
        for share in shares:
            self.assertEqual(1, self.rules(share), 'only that of the client is left')
        self.assertEqual([], self.lite.ok('GET', '/resource-locks?all_projects=1')['resource_locks'])

    def test_shares_in_guests_survive_killed_processes(self):
        one, two = self.share(), self.share()
        red, blue = self.off('red'), self.off('blue')
        for server, share, more in (
            (red, one, {'tag': 'data'}),
            (red, two, {}),
            (blue, one, {'tag': 'data'}),
        ):
            self.me.attach(server, share, **more)
        self.assertEqual(
            (409, 'share_tag_in_use'),
            self.me.refused('POST', f'/servers/{blue}/shares', {'share': {'share_id': two, 'tag': 'data'}}),
        )
        self.assertEqual(
            400,
            self.me.refused('POST', f'/servers/{blue}/shares', {'share': {'share_id': two, 'tag': 'x' * 37}})[
                0
            ],
        )
        self.assertEqual((2, set()), (self.rules(one), self.mounts()))

        self.two_shares_on_one_server(red, one, two)
        self.one_share_on_two_servers(red, blue, one)
        self.the_agent_dies(red, one)
        self.virtiofsd_dies(red, one, two)
        self.qemu_dies(blue, one)
        self.taken_back(red, blue, one, two)

    def two_shares_on_one_server(self, red, one, two):
        said = self.on(red)
        for place in ('META', 'CONFIG'):
            document = json.loads(said[place])
            self.assertEqual((red, 'red'), (document['uuid'], document['name']))
            self.assertCountEqual(self.devices((one, 'data'), (two, two)), document['devices'])
        self.assertNotIn('REACHED', self.console(red), 'nothing but the metadata can be reached')
        self.assertEqual({self.export(one), self.export(two)}, self.mounts())
        self.assertEqual(
            {'active'}, {row['status'] for row in self.me.ok('GET', f'/servers/{red}/shares')['shares']}
        )
        mounts = self.run_in_guest('red', one, f'cat /proc/mounts; echo in two > /mnt/{two}/f')
        self.assertIn(f'{two} /mnt/{two} virtiofs rw', mounts)
        self.assertEqual('in two', self.nfs(two, 'read', 'f').strip())
        script = 'cd /mnt/data && mkdir d && head -c 300000 /dev/urandom > d/big && mv d/big big && rmdir d && sha256sum < big'
        digest = self.run_in_guest('red', one, script).split()[0]
        self.assertIn(f'{digest}  big', self.nfs(one, 'digest'))
        # Memory cannot be saved, and the server cannot be rebuilt or resized, while shares are attached.
        for action, body in (
            ('suspend', None),
            ('createImage', {'name': 'x'}),
            ('rebuild', {'imageRef': 'x'}),
        ):
            self.assertEqual(
                409, self.me.refused('POST', f'/servers/{red}/action', {action: body})[0], action
            )

    def one_share_on_two_servers(self, red, blue, one):
        # The agent dies while it mounts, or starts virtiofsd or QEMU, or records that they run.
        self.me.act(blue, 'os-start')
        self.compute.kill()
        self.compute.start()
        self.on(blue, asked=True)
        self.assertEqual(
            1, len({tuple(process.cmdline()) for process in self.processes('qemu-system', blue)})
        )
        self.assertEqual(2, self.rules(one), 'one rule for the host')
        self.run_in_guest('red', one, 'echo from red > /mnt/data/letter; sync')
        self.assertEqual('from red', self.run_in_guest('blue', one, 'cat /mnt/data/letter').strip())

    def the_agent_dies(self, red, one):
        self.compute.kill()
        self.assertEqual('alone', self.run_in_guest('red', one, 'echo alone').strip())
        before = {process.pid for process in self.processes('qemu-system')}
        self.compute.start()
        asked = 'wget -q -O - http://169.254.169.254/openstack/2025-04-04/meta_data.json; wget -q -O - http://169.254.169.254/openstack'
        self.until(lambda: f'"{red}"' in self.run_in_guest('red', one, asked), 'it is told of itself again')
        self.assertIn('2025-04-04\nlatest', self.run_in_guest('red', one, asked))
        self.assertEqual(
            before, {process.pid for process in self.processes('qemu-system')}, 'guests were adopted'
        )
        self.assertEqual('ACTIVE', self.me.wait(red, 'ACTIVE', 'ERROR')['status'])

    def virtiofsd_dies(self, red, one, two):
        self.kill('virtiofsd', red, '/share1')
        self.until(
            lambda: (
                'error' in {row['status'] for row in self.me.ok('GET', f'/servers/{red}/shares')['shares']}
            ),
            'its death is reported',
        )
        self.me.act(red, 'reboot', {'type': 'HARD'})
        self.me.wait(red, 'ACTIVE')
        for share in (one, two):
            self.me.attached(red, share, 'active')

    def qemu_dies(self, blue, one):
        self.kill('qemu-system', blue)
        self.me.wait(blue, 'SHUTOFF')
        self.me.attached(blue, one, 'inactive')
        self.assertIn(self.export(one), self.mounts(), 'the other server needs it')

    def taken_back(self, red, blue, one, two):
        self.me.act(red, 'os-stop')
        self.me.wait(red, 'SHUTOFF')
        self.until(lambda: not self.mounts(), 'nothing is mounted')
        self.assertEqual((2, 2), (self.rules(one), self.rules(two)), 'rules stay with attachments')
        self.me.ok('DELETE', f'/servers/{red}/shares/{one}')
        self.me.attached(red, one, 'gone')
        self.assertEqual(2, self.rules(one), 'the other server has it still')
        self.me.ok('DELETE', f'/servers/{blue}/shares/{one}')
        # The agent dies during the detachment, or just before or after it.
        self.compute.kill()
        self.compute.start()
        self.me.attached(blue, one, 'gone')
        for server in (red, blue):
            self.me.ok('DELETE', f'/servers/{server}')
        for server in (red, blue):
            self.me.wait(server, 'gone')
        self.nothing_is_left(one, two)
        self.assertEqual([], self.processes('qemu-system'))
