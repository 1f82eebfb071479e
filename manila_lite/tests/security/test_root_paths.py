# SPDX-License-Identifier: Apache-2.0
"""Root trusts only root, at each path that it opens, runs or loads: strace finds them, and another user has a file there."""

import os
import subprocess
import unittest
from pathlib import Path

import testtools

from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.protocols import user_list
from manila_lite.host import ownership
from manila_lite.tests import forks, process, waiting
from manila_lite.tests.functional.linux import base, cifs_base
from manila_lite.tests.security import traced
from manila_lite.tests.services.machine import ROOT

_STRANGER = 65534
_CONFIG = """
[DEFAULT]
enabled_share_protocols = NFS,CIFS
[alpha]
driver = linux
linux_pool_path = $state_path/pool.img
linux_pool_size_gb = 1
linux_export_ips = 127.0.0.1
linux_nfs_port = {nfs}
linux_cifs_port = {cifs}
linux_cifs_users = $state_path/users
linux_graceless = true
"""
_RULES = {
    'NFS': {'access_type': 'ip', 'access_to': '127.0.0.1'},
    'CIFS': {'access_type': 'user', 'access_to': 'alice'},
}
#: Data of shares: whose they are is the clients' matter. The mounts are nosuid, nodev and noexec.
_OF_CLIENTS = 'alpha/exports/*', 'alpha/pool/shares/*'
#: Files that are removed, if there are any, and made.
_MADE_ANEW = {Path('pool.img.new')}
#: Present files that must be among those found, or the search is no good.
_KNOWN = {
    'manila_lite.conf',
    'manila_lite.sqlite',
    'pool.img',
    'secrets.key',
    'users',
    'alpha/ganesha.conf',
    'alpha/bus.conf',
    'alpha/ganesha.json',
    'alpha/cifs/smb.conf',
    'alpha/cifs/private/passwd',
}


class Paths(testtools.TestCase):
    """What root's processes touched while they served shares, for the second time in the same directory."""

    #: It starts some eighty processes that refuse to run.
    LIMITS = 3

    def setUp(self):
        super().setUp()
        if lacks := base.missing() or cifs_base.LACKS or traced.missing():
            raise unittest.SkipTest(f'the paths of real storage need {lacks}')
        self.lite = traced.TracedLite(_CONFIG.format(nfs=process.free_port(), cifs=process.free_port()))
        self.useFixture(self.lite)
        self.state = self.lite.state
        self.addCleanup(base.power_off, self.state, ['pool.img'])
        user_list.put(self.state / 'users', 'alice', user_list.entry('alice', 'alice'))

    def test_nobody_else_can_have_a_file_there(self):
        self.serve()
        self.lite.ok('POST', '/types', process.DEFAULT_TYPE)
        for protocol, rule in _RULES.items():
            share = self.lite.ok('POST', '/shares', {'share': {'share_proto': protocol, 'size': 1}})['share'][
                'id'
            ]
            self.lite.wait(f'/shares/{share}', 'share', 'available')
            self.lite.ok('POST', f'/shares/{share}/action', {'allow_access': {**rule, 'access_level': 'rw'}})
            self.lite.wait(f'/shares/{share}', 'share', 'active', 'access_rules_status')
        self.lite.stop()
        self.serve()
        self.lite.stop()
        base.power_off(self.state, ['pool.img'])
        found = self.lite.paths
        mine = {path.relative_to(self.state) for path in found if path.is_relative_to(self.state)}
        self.assertLessEqual(_KNOWN, set(map(str, mine)))
        self.assertTrue(any(path.name == 'libfsalvfs.so' for path in mine))
        self.assertTrue(any(path.name == 'ganesha.nfsd' for path in found))
        # In a checkout of another user the code is theirs: whoever runs this trusts it.
        self.assertEqual(
            [],
            [
                flaw
                for path in sorted(found)
                if not path.is_relative_to(self.state)
                and not path.is_relative_to(ROOT)
                and (flaw := ownership.find_flaw(path))
            ],
        )
        for path in sorted(mine - _MADE_ANEW):
            if not any(path.match(one) for one in _OF_CLIENTS):
                self.assertEqual('', self.taken(self.state / path))

    def test_file_of_a_pool_is_made_anew(self):
        image, other = self.state / 'pool.img', self.state / 'other'
        other.write_text('of root')
        image.with_name('pool.img.new').symlink_to(other)
        pool = BtrfsPool(self.state / 'pool', image, 1)
        self.addCleanup(pool.close)
        pool.open()
        self.assertEqual(('of root', False), (other.read_text(), image.is_symlink()))

    def serve(self):
        """Start everything, and wait until the file servers run."""
        self.lite.start()
        waiting.until(lambda: self.lite.call('GET', '/scheduler-stats/pools')[1]['pools'], self.lite.tail)

    def taken(self, path):
        """Give the path to another user; return what is wrong with the refusal. Then it is as before."""
        missing = not os.path.lexists(path)
        if missing:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        os.chown(path, _STRANGER, _STRANGER, follow_symlinks=False)
        try:
            done = forks.run('manila_lite.cmd.all_in_one:main', f'--config-file={self.lite.config}')
        except subprocess.TimeoutExpired:
            return f'{path}: it starts'
        finally:
            os.chown(path, 0, 0, follow_symlinks=False)
            if missing:
                path.unlink()
        said = done.stderr
        wanted = f'{path} belongs to the user nobody, and root uses nothing that another user can change'
        return (
            ''
            if done.returncode == 1 and said.count('\n') == 1 and wanted in said
            else f'{path}: {done.returncode} {said}'
        )
