# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: run them, so that they keep working. The measured times are not checked."""

import json
import pathlib
import shutil
import subprocess
import sys

import testtools

from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.tests.functional.linux import base
from manila_lite.tests.functional.migrations import test_host_assisted
from manila_lite.tests.services import groups

BENCH = pathlib.Path(__file__).resolve().parents[4] / 'tools' / 'bench'

#: Benchmarks of a second or two; the others start processes, which other tests cover.
CHEAP = ('lists', 'scheduler', 'ensure', 'usage')


class Benchmarks(testtools.TestCase):
    def script(self, *words):
        return subprocess.run(
            [sys.executable, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    def run_script(self, *words):
        return self.output(self.script(*words))

    def output(self, done):
        self.assertEqual(0, done.returncode, done.stderr[-2000:])
        return done.stdout

    def values_of(self, *words):
        """Run a benchmark that needs servers; return its figures. Skip the test only if one is not installed."""
        done = self.script(BENCH / 'every.py', '--tiny', *words)
        for line in done.stdout.splitlines():
            if line.startswith('Note: Nothing was measured: '):
                self.skipTest(line)
        *_, last = self.output(done).splitlines()
        (found,) = json.loads(last)
        return {line['what']: line['value'] for line in found['lines']}

    def test_fast_benchmarks_run_and_report_positive_values(self):
        *_, last = self.run_script(BENCH / 'every.py', '--tiny', *CHEAP).splitlines()
        found = {one['benchmark']: one for one in json.loads(last)}
        self.assertEqual(set(CHEAP), set(found))
        for name, one in found.items():
            compared = [line for line in one['lines'] if line['ratio'] is not None]
            self.assertTrue(compared, name)
            for line in compared:
                self.assertIn(line['baseline'], {other['what'] for other in one['lines']})
                self.assertGreater(line['value'], 0, line)

    def test_benchmark_that_measures_nothing_fails(self):
        empty = (
            f'import sys; sys.path[:0] = [{str(BENCH)!r}]; import report; '
            'sys.exit(report.main("", lambda figures: figures.note("Nothing was measured: no peer")))'
        )
        done = self.script('-c', empty)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn('Nothing was measured: no peer', done.stdout)

    def test_benchmark_of_access_reports_idle_and_busy_values(self):
        if lacks := base.missing():
            self.skipTest(f'real storage needs {lacks}')
        *_, last = self.run_script(BENCH / 'access.py', '--tiny').splitlines()
        values = {line['what']: line['value'] for line in json.loads(last)['lines']}
        self.assertEqual(
            {'idle', 'while 5 shares are made', 'linux, idle', 'linux, while shares move and are ensured'},
            {what.rpartition(',')[0] for what in values if what.endswith('p99')},
        )
        self.assertTrue(all(values.values()), values)

    def test_benchmark_of_the_data_mover_compares_it_with_plain_rsync(self):
        if lacks := test_host_assisted.missing():
            self.skipTest(f'a copy by the host needs {lacks}')
        *_, last = self.run_script(BENCH / 'mover.py', '--tiny').splitlines()
        compared = [line for line in json.loads(last)['lines'] if line['ratio'] is not None]
        self.assertEqual(
            ['200 small files by the mover', 'a sparse file of 1 GiB by the mover'],
            [line['what'] for line in compared],
        )
        self.assertGreater(min(line['ratio'] for line in compared), 0)

    def test_benchmark_of_the_gateway_compares_it_with_native_clients(self):
        groups.want('ceph')
        if lacks := base.missing() or (
            '' if fsal.plugin() and shutil.which('ceph-mon') else 'Ceph and nfs-ganesha-ceph'
        ):
            self.skipTest(f'real storage needs {lacks}')
        *_, last = self.run_script(BENCH / 'gateway.py', '--tiny').splitlines()
        values = {line['what']: line['value'] for line in json.loads(last)['lines']}
        self.assertEqual(
            {f'{what} by {way}' for what in ('write', 'read') for way in ('ceph-fuse', 'the gateway')},
            {what for what in values if ' by ' in what},
        )
        self.assertGreater(min(values[what] for what in values if ' by ' in what), 0)

    def test_benchmark_of_exports_compares_starts_with_the_nfs_server_alone(self):
        if lacks := base.missing():
            self.skipTest(f'real storage needs {lacks}')
        *_, last = self.run_script(BENCH / 'exports.py', '--tiny').splitlines()
        values = {line['what']: line['value'] for line in json.loads(last)['lines']}
        self.assertLess(
            {
                'one export more, with 42',
                '42 healthy shares ensured',
                'longest answer, with a restart of the service',
                'NFS-Ganesha alone serves 42',
                'all served after it died',
                'all served after a reboot',
            },
            set(values),
        )
        self.assertTrue(all(value > 0 for value in values.values()), values)

    def test_benchmark_beside_a_peer_reports_our_own_figures_without_one(self):
        values = self.values_of('--beside', 'none')
        nothing = {what for what, value in values.items() if value <= 0}
        # Deleting a share is no work for the scheduler.
        self.assertLessEqual(nothing, {'CPU of scheduler per deleted share'})
        self.assertGreater(values['statements per share, 1 client'], 5)

    def test_benchmark_of_growth_reports_each_number_of_shares_and_memory(self):
        values = self.values_of('--scale', '--database', 'sqlite')
        few, more = (
            {what.removesuffix(end) for what in values if what.endswith(end)}
            for end in (', 100 shares', ', 200 shares')
        )
        self.assertEqual(few, more)
        self.assertLess(
            {'show, p50', 'ensure, per share: CPU of manager', 'rule granted to active, p50'}, few
        )
        self.assertEqual(6, len([what for what in values if what.startswith('memory of ')]))
        self.assertTrue(all(value > 0 for value in values.values()), values)

    def test_every_benchmark_script_is_listed_and_shows_its_help(self):
        sys.path.insert(0, str(BENCH))
        self.addCleanup(sys.path.remove, str(BENCH))
        import every

        commands = {path.stem for path in BENCH.glob('*.py') if 'report.main(' in path.read_text()} - {
            'report'
        }
        self.assertEqual(commands, set(every.NAMES))
        for name in sorted(commands):
            self.assertIn('--quick', self.run_script(BENCH / f'{name}.py', '--help'))
