# SPDX-License-Identifier: Apache-2.0
"""The agent of the compute service, and all that it starts, have only the capabilities of its unit; guests live with them."""

import json
import subprocess
import sys
from pathlib import Path

from manila_lite.host.commands import run
from manila_lite.tests import process
from manila_lite.tests.functional.siblings.compute import guests
from manila_lite.tests.security.test_capabilities import about, limits, settings

_UNIT = 'mlite-compute-agent'
_MAIN = 'import sys; from manila_lite.siblings.compute import cmd; sys.exit(cmd.both())'
_NETWORK = '{"networks": [{"id": "a", "cidr": "192.0.2.0/24"}]}'
_MORE = """
[compute]
networks_file = {state}/networks
[compute_qemu]
bridges = a:br-guests
bridge_netns = {space}
"""
_OWNED = 'cd /mnt/data && echo x > own && chown 5:6 own && chmod 4755 own && stat -c %u:%g:%a own'


class _Agent(guests.ComputeProcess):
    """API and agent, which can have the limits of the agent's unit, as systemd sets them."""

    limited = False

    def spawn(self):
        if not self.limited:
            super().spawn()
            return
        words = (*limits(_UNIT), sys.executable, '-c', _MAIN, f'--config-file={self.config}')
        with self.log.open('ab') as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


class Guests(guests.GuestTest):
    """A guest from before the limits, and others."""

    COMPUTE = _Agent

    def start_limited(self, more):
        """Start the agent again, with limits, and with more lines in its configuration."""
        with self.compute.config.open('a') as config:
            config.write(more)
        self.compute.kill()
        self.compute.limited = True
        self.compute.start()

    def assert_limited(self, *pids):
        """Check that these processes have, and can get, no capabilities but those of the unit: the agent has them all."""
        agent = int(about(self.compute.process.pid)['CapBnd'], 16)
        self.assertEqual(len(set(settings(_UNIT, 'CapabilityBoundingSet'))), agent.bit_count())
        for status in map(about, pids):
            self.assertEqual('1', status['NoNewPrivs'])
            self.assertEqual(0, (int(status['CapBnd'], 16) | int(status['CapPrm'], 16)) & ~agent, status)

    def pids(self, *words):
        found = [one.pid for one in self.processes(*words)]
        self.assertTrue(found, words)
        return found

    def test_guests_have_shares_networks_and_metadata_with_the_capabilities_of_the_unit(self):
        share, other, space = self.share(), self.share(), self.fabric.name('two')
        red = self.off('red')
        self.me.attach(red, share, tag='data')
        self.on(red)
        [before] = self.processes('qemu-system', red)
        run('ip', '-n', space, 'link', 'add', 'br-guests', 'type', 'bridge')
        (self.state / 'networks').write_text(_NETWORK)
        self.start_limited(_MORE.format(state=self.state, space=space))
        self.assert_limited(self.compute.process.pid)

        self.adopted(red, share, before)
        blue = self.new_guest(other, space)
        self.memory(space)
        self.start_limited('virtiofsd_sandbox = chroot\n')
        self.me.act(blue, 'reboot', {'type': 'HARD'})
        self.on(blue, asked=True)
        self.me.attached(blue, other, 'active')
        self.assert_limited(*self.pids('virtiofsd', blue))
        self.ended(red, blue)

    def adopted(self, red, share, before):
        """A guest that has more capabilities than the agent is told of itself, and its interfaces are cared for."""
        asked = 'wget -q -O - http://169.254.169.254/openstack/latest/meta_data.json'
        self.until(lambda: f'"{red}"' in self.run_in_guest('red', share, asked), 'it is told of itself')
        for record in Path(self.state, 'vm').rglob('qemu.json'):
            record.unlink()  # the old agent died before it could record the pid
        self.me.act(red, 'reboot', {'type': 'HARD'})
        self.on(red, asked=True)
        self.assertTrue(process.has_ended(before), 'the guest from before was not found')
        self.assert_limited(*self.pids('qemu-system', red))

    def new_guest(self, share, space):
        blue = self.me.off(name='blue', networks=[{'uuid': 'a'}], **self.boot)
        self.me.attach(blue, share, tag='data')
        self.assertEqual(blue, json.loads(self.on(blue)['META'])['uuid'])
        self.assert_limited(
            *self.pids('qemu-system', blue),
            *self.pids('virtiofsd', blue),
            *self.pids('nfs_fuse', self.export(share)),
        )
        self.assertEqual('5:6:4755', self.run_in_guest('blue', share, _OWNED).strip())
        self.assertIn('br-guests', run('ip', '-n', space, 'link', 'show', 'type', 'tun'))
        return blue

    def memory(self, space):
        """Memory is saved and loaded, and the guest is plugged in again."""
        green = self.me.server(name='green', networks=[{'uuid': 'a'}], **self.boot)
        for action, status in (('suspend', 'SUSPENDED'), ('resume', 'ACTIVE')):
            self.me.act(green, action)
            self.me.wait(green, status)
        self.assertEqual(2, run('ip', '-n', space, 'link', 'show', 'type', 'tun').count('br-guests'))
        self.me.ok('DELETE', f'/servers/{green}')
        self.me.wait(green, 'gone')

    def ended(self, *servers):
        for server in servers:
            self.me.ok('DELETE', f'/servers/{server}')
            self.me.wait(server, 'gone')
        self.until(lambda: not self.processes('nfs_fuse') and not self.mounts(), 'nothing is mounted')
        self.assertEqual([], [*self.processes('virtiofsd'), *self.processes('qemu-system')])
