# SPDX-License-Identifier: Apache-2.0
"""Reports on SIGUSR2: each process writes one and goes on."""

import signal

import testtools

from manila_lite.tests import process

_SECRET = 'data_node_mount_options = cifs:password=hush-4711\n'


class OneProcess(testtools.TestCase):
    def test_report_is_written_to_standard_error_without_secrets(self):
        lite = self.useFixture(process.Lite(f'[alpha]\ndriver = dummy\n{_SECRET}'))
        lite.start()
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        lite.knobs('create_share:hang')
        share = lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        self.until(
            lambda: 'create_share' in (lite.state / 'alpha' / 'calls').read_text(), 'the driver is not asked'
        )
        for count in (1, 2):
            lite.process.send_signal(signal.SIGUSR2)
            self.until(
                lambda count=count: lite.log.read_text().count('Under way') == count, 'there is no report'
            )
        self.until(
            lambda: lite.log.read_text().rpartition('Under way')[2].count('\n') > 2, 'the report has no end'
        )
        text = lite.log.read_text()
        for part in (
            'Guru Meditation',
            'Threads',
            'Configuration',
            'product = manila-lite',
            'osapi_share_listen_port',
            'data_node_mount_options = ***',
            'in _serve',
        ):
            self.assertIn(part, text)
        last = text.rpartition('Under way')[2]
        (line,) = (line for line in last.splitlines() if line.startswith('share.create '))
        self.assertIn(f'resource {share}', line)
        self.assertIn('project p', line)
        thread = line.partition('thread #')[2].partition(' ')[0]
        stack = (
            text.rpartition('Guru Meditation')[2].partition(f'Thread #{thread} ')[2].partition('Thread #')[0]
        )
        self.assertIn('in hang', stack)
        self.assertNotIn('hush-', text)
        self.assertEqual(200, lite.call('GET', '/healthcheck', prefix='')[0])
        lite.kill()

    def until(self, check, what):
        process.Parts.until(self, check, what)

    def tail(self):
        return ''


class ByFile(testtools.TestCase):
    def test_report_is_written_when_the_file_is_touched(self):
        parts = self.useFixture(process.Parts())
        touched = parts.state / 'touched'
        touched.touch()
        parts.edit('[alpha]', f'[oslo_reports]\nfile_event_handler = {touched}\n[alpha]')
        parts.run('scheduler')

        def reported():
            touched.touch()
            return 'Under way' in parts.log.read_text()

        parts.until(reported, 'there is no report')


class ManyProcesses(testtools.TestCase):
    def test_master_and_children_write_files(self):
        parts = self.useFixture(process.Parts())
        parts.edit('[alpha]', f'[oslo_reports]\nlog_dir = {parts.state}\n[alpha]')
        started = parts.run('scheduler')
        (child,) = parts.until(lambda: process.children(started), 'there is no child')
        parts.until(lambda: 'manila-scheduler' in parts.manage('service', 'list'), 'the child does not work')

        def report(pid):
            return next(
                (
                    path
                    for path in parts.state.glob(f'manila-scheduler-{pid}_gurumeditation_*')
                    if 'Under way' in path.read_text()
                ),
                None,
            )

        for pid in (started.pid, child.pid):
            process.psutil.Process(pid).send_signal(signal.SIGUSR2)
            found = parts.until(lambda pid=pid: report(pid), f'{pid} makes no report')
            # Only the child looks for work.
            self.assertEqual(pid == child.pid, 'engine/runner.py' in found.read_text())
        self.assertEqual([child.pid], [one.pid for one in process.children(started)])
