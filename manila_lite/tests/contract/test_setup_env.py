# SPDX-License-Identifier: Apache-2.0
"""``tools/setup-env`` knows the groups that tests ask for, and installs no more than was asked for."""

import re
import subprocess

import testtools

from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT
from manila_lite.tests.services import groups

#: Packages of which the default tier needs none, and the group that brings each.
_ON_CALL = {
    'ceph-mon': 'ceph',
    'winbind': 'domains',
    'qemu-system-x86': 'guests',
    'libvirt-daemon': 'libvirt',
    'chromium': 'browser',
    'golang-go': 'go',
    'mmdebstrap': 'debian',
    'lintian': 'packages',
    'prometheus': 'prometheus',
    'systemd-container': 'machines',
}
_SERVERS = {'memcached', 'samba', 'rabbitmq-server', 'postgresql', 'mariadb-server'}
#: Places in tests and tools that ask for a group by its name.
_ASKS = re.compile(r"""(?:groups\.want|environments\.find)\('(\w+)\'""")


def packages(*options: str) -> set[str]:
    """Return the Debian packages that these options install."""
    done = subprocess.run(
        [ROOT / 'tools/setup-env', '--list', *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=waiting.LIMIT,
        check=True,
    )
    return set(done.stdout.split())


class GroupsTest(testtools.TestCase):
    def test_default_tier_has_its_servers_and_nothing_on_call(self):
        tests = packages('--tests')
        self.assertLess({'nfs-ganesha', 'btrfs-progs', 'libnfs13', *_SERVERS}, tests)
        self.assertEqual(set(), tests & set(_ON_CALL))

    def test_a_group_is_installed_alone(self):
        for package, group in _ON_CALL.items():
            alone = packages('--python', f'--{group}')
            self.assertIn(package, alone)
            self.assertNotIn('nfs-ganesha', alone)
            self.assertEqual(packages() | alone, packages(f'--{group}'))

    def test_all_has_every_group_but_that_of_the_peer(self):
        lines = (ROOT / 'bindep.txt').read_text().splitlines()
        every = {
            line.split()[0] for line in lines if not line.startswith('#') and not line.endswith(' peer]')
        }
        self.assertEqual(every, packages('--all'))

    def test_a_host_and_the_quickstart_have_no_servers_of_tests(self):
        self.assertEqual(set(), packages() & (_SERVERS | set(_ON_CALL) | {'git'}))
        self.assertEqual(set(), packages('--python'))

    def test_every_group_that_tests_ask_for_exists(self):
        asked = {
            name
            for folder in ('manila_lite/tests', 'tools')
            for path in (ROOT / folder).rglob('*.py')
            for name in _ASKS.findall(path.read_text())
        }
        self.assertLess({'ceph', 'guests', 'nodes', 'keystone', 'debian'}, asked)
        for group in sorted({*asked, *groups.OF_PROGRAMS.values()}):
            packages(f'--{group}')
        self.assertRaises(subprocess.CalledProcessError, packages, '--no-such-group')
