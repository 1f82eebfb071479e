# SPDX-License-Identifier: Apache-2.0
"""A backup of a mounted share that another share manager continues, from another address."""

import contextlib
import os
import signal
from pathlib import Path

from manila_lite.tests import forks, process, waiting
from manila_lite.tests.functional.linux import base
from manila_lite.tests.functional.linux.in_twin import backups

#: A second address of this host, which stands for another host.
_OTHER = '10.99.0.98'


class TakenOver(backups.KernelNfs):
    """As ``KernelNfs``, but backups are in a directory of this host."""

    BACKENDS = (('alpha', 'nobody', 'alpha.img'),)
    test_backups_restore_at_both_backends_and_a_reset_leaves_nothing = None

    def export(self):
        return f'backup_mount_export = {self.state}/export\nbackup_mount_proto = none\nbackup_mount_options = bind'

    def reach_backends(self):
        super().reach_backends()
        base.ip('address', 'add', f'{_OTHER}/24', 'dev', 'ml-host')

    def test_another_share_manager_finishes_the_backup_from_a_new_address(self):
        share, backup = self.copied_in_part()
        self.assertTrue(self.is_mounted_from(backups.ME, backup))
        # New mounts come from the second address from now on.
        base.ip('route', 'change', '10.99.0.0/24', 'dev', 'ml-host', 'src', _OTHER)
        with self.started('share'):
            self.until(lambda: 'works there; waiting' in self.lite.log.read_text(), 'it waits')
            self.lite.kill()
            with self.started('api'):
                self.until(lambda: self.is_mounted_from(_OTHER, backup), 'it goes on')
                self.until(
                    lambda: self.lite.call('GET', '/healthcheck', prefix='')[0] == 200, 'the API answers'
                )
                self.ends(backup)
                base.command(
                    'cmp',
                    str(self.place('alpha', share) / 'big'),
                    str(self.state / 'export' / backup / 'big'),
                )
                self.assert_shut_out(share)
        self.assert_nothing_is_mounted('alpha')

    def until(self, check, what):
        process.until(check, what, self.lite.tail)

    @contextlib.contextmanager
    def started(self, name):
        """Run another part of the service with the same configuration inside the block."""
        with self.lite.log.open('ab') as log:
            part = forks.start(
                f'manila_lite.cmd.{name}:main',
                f'--config-file={self.lite.config}',
                stdout=log,
                stderr=log,
                new_session=True,
            )
        try:
            yield
        finally:
            os.killpg(part.pid, signal.SIGKILL)
            part.wait(timeout=waiting.LIMIT)

    def is_mounted_from(self, address, backup):
        lines = Path('/proc/mounts').read_text().splitlines()
        return any(f'{backup}.share' in line and f'clientaddr={address}' in line for line in lines)
