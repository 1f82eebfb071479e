# SPDX-License-Identifier: Apache-2.0
"""Each log message is one line, whatever its text, with every formatter that writes lines."""

import io
import json
import logging
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg
from oslo_log import formatters, log

from manila_lite.cmd import log_lines
from manila_lite.tests import waiting

#: Characters that end lines, control terminals, reverse text or cannot be encoded.
EVIL = (
    '\n',
    '\r',
    '\r\n',
    '\x00',
    '\x07',
    '\x08',
    '\x1b[2J',
    '\x7f',
    '\x85',
    '\x9b31m',
    '\u200f',
    '\u2028',
    '\u2029',
    '\u202e',
    '\u2066',
    '\ufeff',
    '\ud800',
    '\udcff',
    '\U000e0041',
)
FORGED = '2026-01-01 00:00:00.000 1 ERROR root forged'


def _plain(conf):
    return logging.Formatter('%(levelname)s %(name)s %(message)s')


def _oslo(conf):
    return formatters.ContextFormatter(config=conf)


class LogLines(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.conf = cfg.ConfigOpts()
        log.register_options(self.conf)
        self.conf([], project='test')

    def logged(self, make, call):
        """Return the output of ``call(logger)``, written as bytes: characters that cannot be encoded would be missing."""
        raw = io.BytesIO()
        handler = logging.StreamHandler(io.TextIOWrapper(raw, 'utf-8', write_through=True))
        handler.setFormatter(make and make(self.conf))
        logger = logging.getLogger(f'test_log_lines.{self.id()}')
        logger.propagate, logger.handlers = False, [handler]
        self.addCleanup(logger.handlers.clear)
        log_lines.escape_all()
        call(logger)
        return raw.getvalue().decode()

    def each(self):
        for make in (_plain, _oslo, None):
            for evil in EVIL:
                yield make, f'before{evil}{FORGED}'

    def assert_clean(self, text, lines=1):
        self.assertEqual('\n', text[-1:], text)
        found = text[:-1].split('\n')
        if lines is not None:
            self.assertEqual(lines, len(found), text)
        for line in found:
            self.assertTrue(line.isprintable() or '\\' in line, line)
            self.assertEqual(line, log_lines.escaped(line))
        return found

    def test_messages_and_arguments_are_logged_on_one_line(self):
        for make, evil in self.each():
            for call in (
                lambda to, evil=evil: to.warning(evil),
                lambda to, evil=evil: to.warning('%s', evil),
                lambda to, evil=evil: to.warning('%(a)s', {'a': ValueError(evil)}),
            ):
                (line,) = self.assert_clean(self.logged(make, call))
                self.assertIn('before', line)
                self.assertIn('forged', line)

    def test_exception_text_cannot_forge_a_log_line(self):
        """A traceback has a line for each of its lines and one for the exception, also for chained ones."""
        for make, evil in self.each():

            def call(logger, evil=evil):
                try:
                    try:
                        raise OSError(5, evil, evil)
                    except OSError:
                        raise type('Strange', (Exception,), {})(evil)  # noqa: B904 - chained by itself
                except Exception:
                    logger.exception('It broke')

            lines = self.assert_clean(self.logged(make, call), None)
            self.assertEqual(2, sum('Traceback (most recent call last):' in line for line in lines), lines)
            self.assertTrue(any(line.endswith('raise OSError(5, evil, evil)') for line in lines), lines)
            self.assertEqual([], [line for line in lines if line.startswith(FORGED)], lines)
            self.assertTrue(any('Strange: before' in line and line.endswith(FORGED) for line in lines), lines)

    def test_many_at_once(self):
        def call(logger):
            try:
                raise ExceptionGroup(FORGED, [ValueError(f'a\n{FORGED}'), KeyError(f'\x1b\n{FORGED}')])
            except Exception:
                logger.exception('It broke')

        lines = self.assert_clean(self.logged(_plain, call), None)
        self.assertEqual([], [line for line in lines if line.startswith(FORGED)], lines)
        self.assertTrue(any('ValueError: a\\n' in line and line.endswith(FORGED) for line in lines), lines)

    def test_exception_whose_str_fails_is_logged_by_its_class(self):
        class Mute(Exception):
            def __str__(self):
                raise ValueError

        def call(logger):
            try:
                raise Mute
            except Mute:
                logger.exception('It broke')

        self.assertIn('Mute', self.assert_clean(self.logged(_plain, call), None)[-1])

    def test_other_attributes_of_a_record_are_escaped(self):
        """Other attributes of a record are escaped too: oslo.log puts the resource before each line of a traceback, for one."""

        def call(logger):
            try:
                raise ValueError
            except ValueError:
                logger.warning(
                    'a', exc_info=True, stack_info=True, extra={'instance': f'\n{FORGED}', 'resource': '\x1b'}
                )

        self.conf.set_override('logging_default_format_string', '%(levelname)s %(instance)s %(message)s')
        self.assertEqual(
            [],
            [line for line in self.assert_clean(self.logged(_oslo, call), None) if line.startswith(FORGED)],
        )

    def test_lines_of_a_traceback_begin_as_configured(self):
        def call(logger):
            try:
                raise ValueError('a')
            except ValueError:
                logger.exception('It broke')

        self.conf.set_override('logging_exception_prefix', '%(process)d TRACE %(name)s ')
        head, *lines = self.assert_clean(self.logged(_oslo, call), None)
        self.assertIn('It broke', head)
        self.assertEqual([], [line for line in lines if ' TRACE test_log_lines.' not in line])

    def test_json_texts_are_not_escaped_twice(self):
        """JSON has escapes of its own, so that its texts are not escaped twice."""
        text = self.logged(lambda conf: formatters.JSONFormatter(), lambda to: to.warning('-'.join(EVIL)))
        self.assertEqual('-'.join(EVIL), json.loads(text)['message'])
        self.assertEqual(1, text.count('\n'))

    def test_second_escape_all_changes_nothing(self):
        formatter = logging.Formatter()
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(formatter)
        logger = logging.getLogger(f'test_log_lines.{self.id()}')
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        for _ in range(2):
            log_lines.escape_all()
            self.assertEqual('EscapingFormatter', type(formatter).__name__)


#: A process that dies once for each configuration file; what it says on stderr is in a file beside it.
_DIES = """
import os, sys
import manila_lite.cmd
from manila_lite.cmd import setup

def body(argv):
    setup.configure(argv, messages=False, program='manila-test')
    raise ValueError('what nobody foresaw\\nmanila_lite: forged')

for path in sys.argv[1:]:
    if not os.fork():
        os.dup2(os.open(f'{path}.stderr', os.O_WRONLY | os.O_CREAT), 2)
        sys.argv[1:] = [f'--config-file={path}']
        raise SystemExit(setup.run(body))
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 1
"""


class UnexpectedEnd(testtools.TestCase):
    """A program that dies of an error says so on stderr, wherever its log is."""

    def die(self, *options):
        """Return the folder for logs, and the lines on stderr with each of the options."""
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        paths = [folder / f'{number}.conf' for number in range(len(options))]
        for path, text in zip(paths, options, strict=True):
            path.write_text(f'[DEFAULT]\nstate_path = {folder}\n' + text.format(folder=folder))
        subprocess.run(
            [sys.executable, '-c', _DIES, *paths],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=waiting.LIMIT,
        )
        return folder, [Path(f'{path}.stderr').read_text().splitlines() for path in paths]

    def test_error_is_on_stderr_in_one_line_or_with_the_log(self):
        folder, (of_file, of_folder, of_json, of_stdout, of_stderr, of_both) = self.die(
            'log_file = {folder}/a.log',
            'log_dir = {folder}',
            'log_file = {folder}/b.log\nuse_json = true',
            '',
            'use_stderr = true',
            'use_stderr = true\nlog_file = {folder}/c.log',
        )
        for said, file in (
            (of_file, 'a.log'),
            (of_folder, 'manila-test.log'),
            (of_json, 'b.log'),
            (of_stdout, None),
        ):
            place = folder / file if file else 'the log'
            told = r'ValueError: what nobody foresaw\nmanila_lite: forged'
            self.assertEqual([f'manila_lite: unexpected error, with a traceback in {place}: {told}'], said)
        for file in ('a.log', 'manila-test.log', 'b.log', 'c.log'):
            self.assertIn('Traceback', (folder / file).read_text())
        for said in (of_stderr, of_both):
            self.assertEqual(1, sum('Traceback' in line for line in said), said)
            self.assertFalse([line for line in said if line.startswith('manila_lite: ')], said)
