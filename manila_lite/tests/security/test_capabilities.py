# SPDX-License-Identifier: Apache-2.0
"""A share manager, and all that it starts, have only the capabilities of the systemd unit, and live a whole life with them."""

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import psutil
import testtools

from manila_lite.drivers.linux.protocols import user_list
from manila_lite.tests import process, smb_client
from manila_lite.tests.contract.test_checks import ROOT
from manila_lite.tests.functional.linux import api_base, cifs_base, server_base

_UNITS = ROOT / 'etc/manila_lite/systemd'
#: Services that serve shares.
_SERVING = ('manila-share', 'manila-lite')
_AGENT = 'mlite-compute-agent'
_PAGE = ROOT / 'doc/source/admin/capabilities.rst'
_MAIN = 'import sys; from manila_lite.cmd import all_in_one; sys.exit(all_in_one.main())'
#: An operator's directory for backups.
_BACKUPS = """enabled_backup_types = saved
[saved]
backup_mount_export = {state}/export
backup_mount_proto = none
backup_mount_options = bind
"""


def settings(unit, name):
    """Return all words of a setting of a unit."""
    return [
        word
        for value in re.findall(rf'(?m)^{name}=(.*)$', (_UNITS / f'{unit}.service').read_text())
        for word in value.split()
    ]


def capabilities(unit='manila-lite'):
    """Return the names of the capabilities in the unit's bounding set, as setpriv and the page write them."""
    return [word.removeprefix('CAP_').lower() for word in settings(unit, 'CapabilityBoundingSet')]


def limits(unit):
    """Return the beginning of a command line that has the limits of a unit, as systemd sets them."""
    bounds = ','.join(('-all', *(f'+{name}' for name in capabilities(unit))))
    return ('setpriv', '--no-new-privs', f'--bounding-set={bounds}', '--pdeathsig=KILL', '--')


def about(pid):
    """Return the lines of a process' status in /proc by name."""
    return dict(line.split(':\t', 1) for line in Path(f'/proc/{pid}/status').read_text().splitlines())


class Units(testtools.TestCase):
    def test_services_of_root_have_the_sets_that_the_page_explains(self):
        shares, guests = _PAGE.read_text().split('The agent of the compute service\n---')
        for part, units in ((shares, _SERVING), (guests, (_AGENT,))):
            listed = re.findall(r'(?m)^``(CAP_[A-Z_]+)``  ', part)
            self.assertEqual(sorted(set(listed)), sorted(listed))
            for unit in units:
                self.assertEqual(sorted(listed), sorted(settings(unit, 'CapabilityBoundingSet')), unit)

    def test_every_unit_limits_itself(self):
        units = sorted(unit.stem for unit in _UNITS.glob('*.service'))
        self.assertLess(5, len(units))
        for unit in units:
            self.assertEqual(['yes'], settings(unit, 'NoNewPrivileges'), unit)
            root = not settings(unit, 'User')
            self.assertEqual(root, unit in (*_SERVING, _AGENT), unit)
            self.assertEqual(root, bool(settings(unit, 'CapabilityBoundingSet')), unit)


class _Limited(process.Lite):
    """A service that can have the limits of its unit, as systemd sets them."""

    limited = False

    def spawn(self):
        if not self.limited:
            super().spawn()
            return
        words = (*limits('manila-lite'), sys.executable, '-c', _MAIN, f'--config-file={self.config}')
        with self.log.open('ab') as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@cifs_base.needs_samba
class Life(api_base.ApiTest):
    """A service with the limits of its unit, after one without, as after an upgrade."""

    LITE = _Limited
    CONFIG = (
        api_base.CONFIG.replace('[standalone_network]', f'{_BACKUPS}[standalone_network]')
        + 'linux_cifs_users = {state}/users\n'
    )

    def daemons(self, program):
        """Return the pids of the servers of this test."""
        found = []
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if one.name() == program and any(str(self.machine.state) in word for word in one.cmdline()):
                    found.append(one.pid)
        return sorted(found)

    def assert_limited(self, program):
        """Check that a server, and so the service which started it, has and can get nothing else."""
        pids = self.daemons(program)
        self.assertTrue(pids)
        names = subprocess.run(('setpriv', '--dump'), capture_output=True, text=True, check=True).stdout
        here = set(re.search('(?m)^Capability bounding set: (.*)$', names)[1].split(','))
        statuses = []
        for pid in pids:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # that of a client which is gone
                statuses.append(about(pid))
        self.assertTrue(statuses)
        for status in statuses:
            self.assertEqual('1', status['NoNewPrivs'])
            self.assertEqual(len(here & set(capabilities())), int(status['CapBnd'], 16).bit_count())

    def serves(self, share, windows):
        """Check that clients read and write both shares."""
        directory = self.locations(share)[0][0].partition(':')[2]
        address = server_base.address('four', 5)
        self.until(
            lambda: self.nfs('friend-four', address, directory, 'write', 'f', 'hello')[0], 'it serves NFS'
        )
        self.refused('NOENT', 'stranger-four', address, directory, 'list')
        for command, text in (('put local f', 'hello'), ('get f there', None)):
            call = (
                self.machine.space('friend-four'),
                self.locations(windows)[0][0],
                'alice',
                'open-sesame',
                command,
            )
            self.until(lambda call=call, text=text: smb_client.call(*call, text=text)[0], 'it serves CIFS')

    def windows(self, network):
        """Create a CIFS share for alice."""
        user_list.put(self.machine.state / 'users', 'alice', user_list.entry('alice', 'open-sesame'))
        self.lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'windows',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'storage_protocol': '<in> CIFS'},
                }
            },
        )
        share, server = self.share(network, share_proto='CIFS', share_type='windows')
        self.lite.ok(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': 'user', 'access_to': 'alice', 'access_level': 'rw'}},
        )
        return share, server

    def test_shares_are_served_with_the_capabilities_of_the_unit(self):
        (self.machine.state / 'export').mkdir()
        network = self.network()
        share, server = self.share(network)
        [before] = self.daemons('ganesha.nfsd')
        self.lite.kill()
        for record in self.machine.state.rglob('ganesha.json'):
            record.unlink()  # the old service died before it could record the pid
        self.lite.limited = True
        self.lite.start()
        self.clients('four')
        self.grant(share, server_base.address('four', 101))
        windows, same = self.windows(network)
        self.assertEqual(server, same)
        self.serves(share, windows)
        [now] = self.daemons('ganesha.nfsd')
        self.assertNotEqual(before, now, 'the server from before was not found, and holds the ports')
        backup = self.lite.ok(
            'POST',
            '/share-backups',
            {'share_backup': {'share_id': share, 'backup_options': {'backup_type': 'saved'}}},
        )['share_backup']['id']
        self.lite.wait(f'/share-backups/{backup}', 'share_backup', 'available')
        self.power_off()
        self.lite.start()
        self.until(lambda: self.daemons('smbd'), 'the servers are there again')
        self.clients('four')
        self.serves(share, windows)
        self.assert_limited('ganesha.nfsd')
        self.assert_limited('smbd')
        for name in ('friend-four', 'stranger-four'):
            self.machine.unplug(name)
        self.lite.ok('DELETE', f'/share-backups/{backup}')
        self.remove(network, share, windows, servers=[server])
        self.assertEqual(
            [], [trace for trace in self.machine.traces() if 'ganesha' in trace or 'smbd' in trace]
        )
