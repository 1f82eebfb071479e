# SPDX-License-Identifier: Apache-2.0
"""Migrations with the kernel's CIFS client, in a twin of this machine."""

import shutil

from manila_lite.host.commands import ENV
from manila_lite.host_copy.clients import Cifs
from manila_lite.tests.functional.linux import cifs_base, twin_case


class KernelCifs(twin_case.InTwin):
    def test_a_share_moves_through_mounts_of_both_sides(self):
        lacks = {
            package
            for program, package in Cifs.PROGRAMS.items()
            if not shutil.which(program, path=ENV['PATH'])
        }
        self.succeed('cifs_moves', lacks=', '.join(filter(None, (cifs_base.LACKS, *sorted(lacks)))))
