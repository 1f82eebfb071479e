# SPDX-License-Identifier: Apache-2.0
"""``manila-manage logs``, ``shell`` and ``db downgrade``, each run as a process."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from manila_lite.tests import forks, waiting
from manila_lite.tests.functional import manage

_CONFIG = """
[DEFAULT]
state_path = {state}
host = here
{extra}
[database]
connection = {url}
"""
_AT = '2026-11-21 09:02:51.037 2505'
_LOG = f"""{_AT} INFO manila_lite.manager [-] share 1 went to ERROR
{_AT} ERROR manila_lite.manager [-] share 2 is lost
in its second line
{_AT} ERROR manila_lite.manager Traceback (most recent call last):
{_AT} ERROR manila_lite.manager OSError: gone
{_AT} WARNING manila_lite.manager [-] perhaps
of no importance
"""
_JSON = r"""{"message": "said \"levelname\": \"ERROR\"", "levelname": "INFO", "context": {}}
{"message": "INFO for all", "asctime": "2026-11-21 09:02:51", "levelname": "CRITICAL", "context": {}}
"""
#: Programs: a command where there are no logs, and what it runs.
_HIDE = 'mount -t tmpfs none /var/log && exec "$@"'
_MANAGE = 'import sys; from manila_lite.cmd import manage; sys.exit(manage.main())'


class Alone(manage.AloneTest):
    """Base class of commands that may read standard input."""

    def configure(self, extra=''):
        self.config.write_text(_CONFIG.format(state=self.state, extra=extra, url=self.url))

    def manage(self, *words, status=0, typed=''):
        """Run a command that must end with this exit status; return its output and its error output."""
        with (
            tempfile.TemporaryFile('w+') as stdin,
            tempfile.TemporaryFile('w+') as out,
            tempfile.TemporaryFile('w+') as err,
        ):
            stdin.write(typed)
            stdin.seek(0)
            process = forks.start(
                'manila_lite.cmd.manage:main',
                f'--config-file={self.config}',
                *words,
                stdin=stdin,
                stdout=out,
                stderr=err,
            )
            self.addCleanup(process.kill)
            got = process.wait(waiting.LIMIT)
            for file in (out, err):
                file.seek(0)
            found = out.read(), err.read()
        self.assertEqual(status, got, found)
        return found

    def refusal(self, *words):
        """Run a command that is refused with exit status 1; return its only line."""
        out, err = self.manage(*words, status=1)
        self.assertEqual(('', 1), (out, err.count('\n')), err)
        return err


class Logs(Alone):
    def setUp(self):
        super().setUp()
        self.folder = self.state / 'log'
        self.folder.mkdir()

    def write(self, name, text, age=0):
        path = self.folder / name
        path.write_text(text)
        os.utime(path, (path.stat().st_mtime - age,) * 2)
        return path

    def test_errors_of_all_log_files_of_a_folder_are_shown_oldest_first(self):
        new = self.write('manila-api.log', _JSON)
        old = self.write('manila-share.log', _LOG, age=60)
        self.write('manila-scheduler.log', f'{_AT} INFO manila_lite [-] fine\n')
        self.write('other.txt', _LOG)
        self.configure(f'log_dir = {self.folder}')
        wanted = [f'==> {old} <==', *_LOG.splitlines()[1:5], f'==> {new} <==', _JSON.splitlines()[1]]
        self.assertEqual(wanted, self.manage('logs', 'errors')[0].splitlines())

    def test_unwritable_log_file_is_reported_in_one_line(self):
        path = self.folder / 'none/x.log'
        self.configure(f'log_file = {path}')
        out, err = self.manage('db', 'version', status=2)
        self.assertEqual(('', 1), (out, err.count('\n')), err)
        self.assertIn('log_file', err)
        self.assertEqual(
            f'manila-manage: {path}: No such file or directory\n', self.refusal('logs', 'errors')
        )
        self.assertIn(str(path), self.manage('config', 'list', '--changed')[0])

    def test_commands_that_only_read_create_no_log_file(self):
        self.configure(f'log_dir = {self.folder}')
        self.assertIn('there is no readable *.log', self.refusal('logs', 'errors'))
        self.refusal('logs', 'syslog', '--file', self.folder / 'none')
        self.manage('config', 'list')
        self.manage('version', 'list')
        self.assertEqual([], list(self.folder.iterdir()))
        self.manage('db', 'version')
        self.assertNotEqual([], list(self.folder.iterdir()))

    def test_errors_of_a_configured_log_file_are_shown(self):
        path = self.write('x.log', _LOG)
        for extra in (f'log_file = {path}', f'log_file = x.log\nlog_dir = {self.folder}'):
            self.configure(extra)
            self.assertIn('share 2 is lost', self.manage('logs', 'errors')[0])
        self.write('x.log', f'{_AT} INFO manila_lite [-] fine')
        self.configure(f'log_file = {path}')
        self.assertEqual(
            'Nothing of level ERROR or CRITICAL in 1 log files.\n', self.manage('logs', 'errors')[0]
        )

    def test_level_word_late_in_a_long_line_is_ignored(self):
        path = self.write(
            'x.log', f'{_AT} INFO {" ERROR " * 500_000}\n{_AT} CRITICAL {"x" * 3_000_000} end\n{_AT} INFO x\n'
        )
        self.configure(f'log_file = {path}')
        found = self.manage('logs', 'errors')[0]
        self.assertIn('xxx end\n', found)
        self.assertNotIn('ERROR', found)

    def test_undecodable_bytes_are_printed_unchanged(self):
        path = self.write('x.log', '')
        path.write_bytes(b'%s ERROR m [-] \xff\xe9\n' % _AT.encode())
        self.configure(f'log_file = {path}')
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = forks.start(
                'manila_lite.cmd.manage:main',
                f'--config-file={self.config}',
                'logs',
                'errors',
                stdout=out,
                stderr=err,
            )
            self.addCleanup(process.kill)
            self.assertEqual(0, process.wait(waiting.LIMIT))
            out.seek(0)
            self.assertIn(b'\xff\xe9\n', out.read())

    def test_unreadable_file_is_reported(self):
        (self.folder / 'a.log').mkdir()
        self.write('b.log', _LOG)
        self.configure(f'log_dir = {self.folder}')
        out, err = self.manage('logs', 'errors', status=1)
        self.assertIn('share 2 is lost', out)
        self.assertEqual(f'manila-manage: {self.folder / "a.log"}: Is a directory\n', err)

    def test_errors_without_a_configured_file_says_where_the_logs_are(self):
        other = self.write(
            'logging.ini',
            '[loggers]\nkeys=root\n[handlers]\nkeys=\n[formatters]\nkeys=\n[logger_root]\nhandlers=\n',
        )
        for extra, said in (
            ('', "journalctl --unit 'manila-*' --grep"),
            ('use_syslog = true', 'manila-manage logs syslog'),
            (f'log_config_append = {other}\nlog_dir = {self.folder}', 'The file of log_config_append'),
        ):
            self.configure(extra)
            self.assertIn(said, self.refusal('logs', 'errors'))

    def test_only_our_lines_of_the_syslog_are_shown(self):
        ours = [f'Nov 21 09:02:5{number} here manila-share[2505]: {number}' for number in range(10)]
        ours += [
            'Nov 21 09:03:00 here systemd[1]: mlite-compute-api.service: Failed.',
            'Nov 21 09:03:01 here gunicorn[7]: 2026-11-21 ERROR manila_lite.wsgi.api [-] x',
        ]
        path = self.write(
            'syslog', '\n'.join(['Nov 21 here other-manila-share[1]: x', *ours, 'Nov 21 here cron[3]: x'])
        )
        self.assertEqual(ours[2:], self.manage('logs', 'syslog', '--file', path)[0].splitlines())
        self.assertEqual(ours[-1:], self.manage('logs', 'syslog', '1', '--file', path)[0].splitlines())
        self.assertEqual(ours, self.manage('logs', 'syslog', '9' * 9, '--file', path)[0].splitlines())
        other = self.write('other', 'Nov 21 here cron[3]: x\n')
        self.assertEqual(
            f'No line about manila_lite in {other}.\n', self.manage('logs', 'syslog', '--file', other)[0]
        )
        self.assertIn('No such file', self.refusal('logs', 'syslog', '--file', self.folder / 'none'))
        self.assertIn('usage:', self.manage('logs', 'syslog', 'x', status=2)[1])

    def refusal_without_logs(self, *words):
        """Run a command that is refused, where ``/var/log`` is empty; return its message."""
        if os.geteuid():
            self.skipTest('hiding the syslog of this machine from a command needs root')
        done = subprocess.run(
            ['unshare', '--mount', 'sh', '-c', _HIDE, 'sh', sys.executable, '-c', _MANAGE]
            + [f'--config-file={self.config}', *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT,
        )
        self.assertEqual((1, ''), (done.returncode, done.stdout), done.stderr)
        return done.stderr

    def test_missing_syslog_is_reported_with_alternatives(self):
        if any(Path('/var/log', name).exists() for name in ('syslog', 'messages')):
            said = self.refusal_without_logs('logs', 'syslog', '7')
        else:
            said = self.refusal('logs', 'syslog', '7')
        for word in ('/var/log/syslog', '/var/log/messages', 'journalctl', '--lines 7'):
            self.assertIn(word, said)


class Shell(Alone):
    TYPED = (
        'from manila_lite.db.queries import services\n'
        'with db.reader() as conn: print(services.list_services(conn, {}), conf.host, ctx.is_admin, ctx.db is db)\n\n'
    )

    def setUp(self):
        super().setUp()
        self.manage('db', 'sync')

    def script(self, text):
        path = self.state / 'script.py'
        path.write_text(text)
        return path

    def test_shell_provides_database_configuration_and_context(self):
        for words in (['python'], ['run'], ['run', '--shell', 'python']):
            self.assertIn('[] here True True', self.manage('shell', *words, typed=self.TYPED)[0])
        self.manage('shell', 'python', typed='exit(3)\n', status=3)
        self.assertIn('usage:', self.manage('shell', 'run', '--shell', 'zsh', status=2)[1])

    def test_error_typed_in_the_shell_is_not_logged(self):
        path = self.state / 'x.log'
        self.configure(f'log_file = {path}')
        self.assertIn('NameError', self.manage('shell', 'python', typed='nothing_of_that_name\n')[1])
        self.assertNotIn('nothing_of_that_name', path.read_text())

    def test_shell_that_is_not_installed_is_refused(self):
        missing = [
            name
            for name, module in (('ipython', 'IPython'), ('bpython', 'bpython'))
            if importlib.util.find_spec(module) is None
        ]
        self.assertTrue(missing, 'the environment of the tests has both')
        for name in missing:
            self.assertIn(f'{name} is not installed', self.refusal('shell', name))
            self.assertIn(f'{name} is not installed', self.refusal('shell', 'run', '--shell', name))

    def test_a_script_runs_as_in_the_shell(self):
        path = self.script(f'{self.TYPED}import sys\nprint(__name__, sys.argv)\n')
        for words in ([path], ['--path', path]):
            out = self.manage('shell', 'script', *words)[0]
            self.assertEqual(['[] here True True', f"__main__ ['{path}']"], out.splitlines())

    def test_exit_status_of_a_script_is_passed_on(self):
        self.manage('shell', 'script', self.script('raise SystemExit(5)'), status=5)
        self.assertEqual(
            'no\n', self.manage('shell', 'script', self.script('import sys; sys.exit("no")'), status=1)[1]
        )
        failing = self.script('from manila_lite import errors\nraise errors.BadConfig("mine")')
        self.assertIn(f'{failing}", line 2', self.manage('shell', 'script', failing, status=1)[1])

    def test_missing_script_is_refused(self):
        self.assertEqual(
            f'manila-manage: {self.state}/none: No such file or directory\n',
            self.refusal('shell', 'script', self.state / 'none'),
        )
        self.assertIn('Is a directory', self.refusal('shell', 'script', self.state))
        self.assertIn('usage:', self.manage('shell', 'script', status=2)[1])

    # db downgrade -----------------------------------------------------------------------------

    def test_database_downgrade_is_refused(self):
        before = self.manage('db', 'version')
        for words in ([], ['0001'], ['nonsense']):
            out, err = self.manage('db', 'downgrade', *words, status=1)
            self.assertEqual('', out)
            for said in ('cannot be downgraded', 'nothing was changed', 'restore the backup', 'backup.rst'):
                self.assertIn(said, err)
        self.assertTrue((Path(__file__).parents[4] / 'doc/source/admin/backup.rst').exists())
        self.assertEqual(before, self.manage('db', 'version'))
        self.assertIn('not undone', self.manage('db', 'downgrade', '--help')[0])
