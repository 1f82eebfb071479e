# SPDX-License-Identifier: Apache-2.0
"""Groups of Debian packages and environments that only some tests need (bindep.txt, tools/*-requirements.txt).

In a run by ``tools/test`` the first test that wants one has ``tools/setup-env`` put it in place. In other runs nothing
is installed.
"""

import functools
import os
import subprocess
import sys

#: Names tools/setup-env in a run by tools/test.
SETUP = 'MANILA_LITE_TEST_SETUP_ENV'
#: The group that brings a program.
OF_PROGRAMS = {
    **dict.fromkeys(('ceph', 'ceph-fuse', 'ceph-mds', 'ceph-mgr', 'ceph-mon', 'ceph-osd'), 'ceph'),
    **dict.fromkeys(('chromedriver', 'chromium'), 'browser'),
    **dict.fromkeys(('epmd', 'rabbitmq-server'), 'rabbitmq'),
    **dict.fromkeys(('initdb', 'postgres'), 'postgresql'),
    **dict.fromkeys(('mariadb-install-db', 'mariadbd'), 'mariadb'),
    **dict.fromkeys(('prometheus', 'promtool'), 'prometheus'),
    'memcached': 'memcached',
    'systemd-nspawn': 'machines',
}


@functools.cache
def want(group: str) -> None:
    """Have a group put in place if it is missing or old. Processes that want one wait for each other."""
    if script := os.environ.get(SETUP):
        subprocess.run(
            [script, '--python', f'--{group}'],
            env=os.environ | {'MANILA_LITE_VENV': sys.prefix},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )


def want_program(name: str) -> None:
    """Have the group of a program put in place, if it is of one."""
    if group := OF_PROGRAMS.get(name):
        want(group)
