# SPDX-License-Identifier: Apache-2.0
"""Owners of claims: processes that are certainly dead, and processes that may be."""

import subprocess
import sys

import testtools

from manila_lite.engine import process_names


def _name_of_another():
    script = 'from manila_lite.engine import process_names; print(process_names.name(), flush=True); input()'
    other = subprocess.Popen(
        [sys.executable, '-c', script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return other, other.stdout.readline().strip()


class Owners(testtools.TestCase):
    """Names of processes, as owners of claims."""

    def test_own_process_is_not_dead(self):
        self.assertFalse(process_names.is_dead(process_names.name()))

    def test_other_process_is_dead_after_it_was_killed(self):
        other, name = _name_of_another()
        self.assertFalse(process_names.is_dead(name))
        other.kill()
        other.stdout.close()
        other.stdin.close()
        while not process_names.is_dead(name):
            pass  # until the kernel has ended it; that it is a zombie does not matter
        other.wait()
        self.assertTrue(process_names.is_dead(name))

    def test_same_pid_with_another_start_time_is_dead(self):
        host, world, pid, started = process_names.name().rsplit('/', 3)
        self.assertTrue(process_names.is_dead(f'{host}/{world}/{pid}/{int(started) + 1}'))

    def test_unknown_hosts_boots_and_names_are_not_called_dead(self):
        host, world, _, _ = process_names.name().rsplit('/', 3)
        for name in (f'elsewhere/{world}/999999999/1', f'{host}/another-boot/999999999/1', 'no name', ''):
            self.assertFalse(process_names.is_dead(name), name)

    def test_worker_names_are_unique_and_die_with_their_process(self):
        one, two = process_names.worker_name(), process_names.worker_name()
        self.assertEqual(
            (3, False, False),
            (len({one, two, process_names.name()}), process_names.is_dead(one), process_names.is_dead(two)),
        )
        host, world, pid, started = process_names.name().split('/')
        self.assertTrue(process_names.is_dead(f'{host}/{world}/{pid}/{int(started) + 1}/1'))

    def test_only_names_of_another_boot_are_of_another_machine(self):
        host, world, pid, started = process_names.name().split('/')
        boot, _, space = world.partition('-')
        for name, far in (
            (process_names.name(), False),
            (f'{host}/{boot}-{int(space) + 1}/{pid}/{started}', False),
            (f'{host}/{boot[::-1]}x-{space}/{pid}/{started}', True),
            ('no name', False),
            ('', False),
        ):
            self.assertEqual(far, process_names.is_of_another_machine(name), name)
