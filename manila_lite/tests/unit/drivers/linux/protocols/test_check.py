# SPDX-License-Identifier: Apache-2.0
"""The self-check names what a machine lacks and the package that has it."""

import os
import sys
import tempfile
from pathlib import Path

import testtools
from oslo_config import cfg

from manila_lite.conf import backend as backend_conf
from manila_lite.drivers.interface import Backend
from manila_lite.drivers.linux.options import OPTIONS
from manila_lite.drivers.linux.protocols import check, protocol_servers
from manila_lite.host import commands


class Check(testtools.TestCase):
    def backend(self, **options):
        conf = cfg.ConfigOpts()
        backend_conf.register_backend(conf, 'x')
        conf.register_opts(OPTIONS, group='x')
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(folder.rmdir)
        text = ''.join(
            f'{name} = {value}\n' for name, value in {'linux_pool_path': folder, **options}.items()
        )
        file = folder / 'c'
        file.write_text(f'[x]\n{text}')
        conf([], default_config_files=[str(file)])
        file.unlink()
        return Backend('x', 'h@x', conf.x, folder)

    def said(self, backend, *, needs_btrfs):
        return '\n'.join(
            f'{problem.what}: {problem.hint}' for problem in check.problems(backend, needs_btrfs=needs_btrfs)
        )

    def without_programs(self):
        before = commands.ENV['PATH']
        commands.ENV['PATH'] = '/nowhere'
        self.addCleanup(commands.ENV.__setitem__, 'PATH', before)

    def test_missing_programs_are_reported_with_their_packages(self):
        self.without_programs()
        said = self.said(self.backend(), needs_btrfs=True)
        for package in ('nfs-ganesha', 'dbus-daemon', 'btrfs-progs', 'gcc'):
            self.assertIn(f'apt-get install {package}', said)

    def test_a_plain_directory_needs_no_btrfs_and_is_not_for_nfs(self):
        self.without_programs()
        said = self.said(self.backend(), needs_btrfs=False)
        for package in ('btrfs-progs', 'nfs-ganesha', 'gcc'):
            self.assertNotIn(package, said)
        self.assertIn('served over CIFS only', said)
        self.assertIn('manila-linux-convert', said)

    def test_a_namespace_that_is_not_there(self):
        self.assertIn(
            'ip netns add nowhere', self.said(self.backend(linux_netns='nowhere'), needs_btrfs=False)
        )

    def test_a_command_that_fails_hangs_or_is_missing_raises(self):
        self.assertEqual('x\n', commands.run(sys.executable, '-c', 'print("x")'))
        failed = self.assertRaises(
            commands.CommandFailed, commands.run, sys.executable, '-c', 'import sys; sys.exit("because")'
        )
        self.assertIn('because', str(failed))
        self.assertRaises(commands.CommandFailed, commands.run, '/nowhere/nothing')
        self.assertRaises(
            commands.CommandFailed,
            commands.run,
            sys.executable,
            '-c',
            'import time; time.sleep(9)',
            seconds=0.2,
        )

    def test_only_root_may_serve(self):
        if os.geteuid():
            self.assertIn('root', self.said(self.backend(), needs_btrfs=False))
        else:
            self.assertNotIn('not running as root', self.said(self.backend(), needs_btrfs=False))

    def test_share_servers_need_more_programs_and_no_addresses(self):
        self.without_programs()
        said = self.said(
            self.backend(driver_handles_share_servers='true', linux_export_ips='', linux_netns='nowhere'),
            needs_btrfs=False,
        )
        for hint in ('iproute2', 'procps', 'util-linux'):
            self.assertIn(f'apt-get install {hint}', said)
        self.assertNotIn('linux_export_ips', said)
        self.assertNotIn('linux_netns', said)

    def test_cifs_with_missing_requirements_is_not_served_but_nfs_is(self):
        self.assertIn('linux_cifs_users', check.lacks_for_cifs(self.backend().conf))
        served = self.backend(linux_cifs_users='/there', linux_pool_type='btrfs')
        self.assertEqual(
            frozenset({'CIFS'}), protocol_servers.protocols(self.backend(linux_cifs_users='/there').conf)
        )
        self.without_programs()
        self.assertIn('apt-get install samba', check.lacks_for_cifs(served.conf))
        self.assertEqual(frozenset({'NFS'}), protocol_servers.protocols(served.conf))
        self.assertNotIn('samba', self.said(served, needs_btrfs=True))
