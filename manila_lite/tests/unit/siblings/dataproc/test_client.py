# SPDX-License-Identifier: Apache-2.0
"""An NFS client is installed by the package manager of the distribution, once, and impossible cases are reported."""

import testtools

from manila_lite import errors
from manila_lite.siblings.dataproc.handlers import client
from manila_lite.siblings.dataproc.interface import Remote, Result

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\n# ID=x\n'
UBUNTU_LIKE = "ID=linuxmint\nID_LIKE='ubuntu debian'\n"
ROCKY = 'ID="rocky"\nID_LIKE="rhel centos fedora"\n'


class Machine(Remote):
    """A node with a distribution; ``status``: the exit status of installations."""

    def __init__(self, os_release, status=0, there=False, helps=True):
        self.os_release, self.status, self.there, self.helps = os_release, status, there, helps
        self.installed = []

    def run(self, argv, data=b'', timeout=None):
        if 'mount.nfs' in ' '.join(argv):
            return Result(0 if self.there else 1)
        if argv == ['cat', '/etc/os-release']:
            return Result(0, self.os_release.encode())
        self.installed.append(' '.join(argv))
        self.there = self.helps and not self.status
        return Result(self.status, err=b'E: no network')


class Client(testtools.TestCase):
    def test_client_is_installed_by_distribution(self):
        for os_release, last in (
            (DEBIAN, 'install -y --no-install-recommends nfs-common'),
            (UBUNTU_LIKE, 'install -y --no-install-recommends nfs-common'),
            (ROCKY, '-y install nfs-utils'),
        ):
            node = Machine(os_release)
            client.ensure(node, 60)
            self.assertThat(node.installed[-1], testtools.matchers.EndsWith(last))
            done = list(node.installed)
            client.ensure(node, 60)
            self.assertEqual(done, node.installed)

    def test_installed_client_is_not_installed_again(self):
        node = Machine('', there=True)
        client.ensure(node, 60)
        self.assertEqual([], node.installed)

    def test_failures_are_reported(self):
        for node, why in (
            (Machine('ID=alpine\n'), 'on alpine'),
            (Machine(''), 'on this system'),
            (Machine('ID="x\n'), 'this'),
            (Machine(DEBIAN, status=100), 'no network'),
            (Machine(DEBIAN, helps=False), 'no mount.nfs'),
        ):
            self.assertIn(why, str(self.assertRaises(errors.Final, client.ensure, node, 60)))

    def test_own_id_comes_before_like_ids(self):
        self.assertEqual(['rocky', 'rhel', 'centos', 'fedora'], client.names(ROCKY))
