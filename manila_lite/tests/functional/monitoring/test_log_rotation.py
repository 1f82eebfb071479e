# SPDX-License-Identifier: Apache-2.0
"""logrotate, with the file of the packages, while services write: no line is lost, and no service fails."""

import collections
import gzip
import logging
import logging.handlers
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import testtools

from manila_lite.cmd import log_files
from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT

SAMPLE = ROOT / 'etc/manila_lite/logrotate/manila_lite'
_NOBODY = 65534
#: Two forks make four processes.
_WRITERS = 4
_LOGROTATE = shutil.which('logrotate', path=os.pathsep.join((os.environ['PATH'], '/usr/sbin')))
#: A service that is not root's, with two children, each of which writes numbers until SIGTERM, and then exits.
_SERVICE = """
import itertools, os, signal, sys
from oslo_config import cfg
from oslo_log import log
from manila_lite.cmd import log_lines
conf = cfg.ConfigOpts()
log.register_options(conf)
conf([f'--log-file={sys.argv[1]}'], default_config_files=[])
if not os.geteuid():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
log_lines.setup(conf)
ends = []
signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
children = [os.fork() for _ in range(2)] if os.environ.get('CHILDREN') else []
mine = os.getpid()
for number in itertools.count():
    log.getLogger('manila_lite').info('line %s %s', mine, number)
    if ends:
        break
os.write(1, f'{mine} {number}\\n'.encode())  # one piece: the four share a pipe
"""


class Rotation(testtools.TestCase):
    """A directory as that of the packages, in which only root makes files."""

    def setUp(self):
        super().setUp()
        if _LOGROTATE is None:
            self.skipTest('logrotate is not installed')
        self.folder = Path(tempfile.mkdtemp(prefix='ml-logs-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.logs = self.folder / 'logs'
        self.logs.mkdir()
        self.log = self.logs / 'manila-api.log'
        self.log.touch()
        self.log.chmod(0o640)
        text = SAMPLE.read_text().replace('/var/log/manila_lite', str(self.logs))
        if os.geteuid():
            text = text.replace('su root root', '')
        else:
            self.folder.chmod(0o755)
            self.logs.chmod(0o750)
            os.chown(self.logs, 0, _NOBODY)
            os.chown(self.log, _NOBODY, _NOBODY)
        self.rules = self.folder / 'rules'
        self.rules.write_text(text)
        self.rules.chmod(0o644)

    def rotate(self):
        subprocess.run(
            [_LOGROTATE, '--force', '--state', self.folder / 'state', self.rules],
            check=True,
            capture_output=True,
            timeout=waiting.LIMIT,
        )

    def writers(self):
        """Return the processes that are at the new file. logrotate may compress the one before from now on."""
        return {line.split()[-2] for line in self.log.read_text().split('\n')[:-1]}

    def handler(self):
        """Return a handler as oslo.log makes it for the file."""
        log_files.install()
        handler = logging.handlers.WatchedFileHandler(self.log)
        self.addCleanup(handler.close)
        return handler

    def write(self, handler, text):
        handler.handle(logging.makeLogRecord({'msg': text}))

    def test_services_of_another_user_lose_no_line(self):
        with subprocess.Popen(
            [sys.executable, '-c', _SERVICE, self.log],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {'CHILDREN': 'two'},
            text=True,
            start_new_session=True,
        ) as service:
            self.addCleanup(service.kill)
            for number in range(8):
                waiting.until(
                    lambda: len(self.writers()) == _WRITERS or service.poll() is not None,
                    f'lines after rotation {number}',
                )
                self.rotate()
            os.killpg(service.pid, signal.SIGTERM)
            said, complaints = service.communicate(timeout=waiting.LIMIT)
        self.assertEqual('', complaints)
        written = collections.defaultdict(list)
        for path in self.logs.iterdir():
            text = gzip.decompress(path.read_bytes()).decode() if path.suffix == '.gz' else path.read_text()
            for line in text.splitlines():
                *_, pid, number = line.split()
                written[pid].append(int(number))
        self.assertEqual(
            dict(line.split() for line in said.splitlines()),
            {pid: str(max(numbers)) for pid, numbers in written.items()},
        )
        for numbers in written.values():
            self.assertEqual(list(range(len(numbers))), sorted(numbers))
        self.assertEqual(9, len([*self.logs.iterdir()]))
        about = self.log.stat()
        self.assertEqual(
            (0o640, _NOBODY if not os.geteuid() else os.geteuid()),
            (stat.S_IMODE(about.st_mode), about.st_uid),
        )

    def test_file_without_a_successor_is_written_to_the_end(self):
        handler = self.handler()
        self.write(handler, 'before')
        self.log.rename(self.logs / 'old')
        self.write(handler, 'without a file')
        self.assertFalse(self.log.exists())
        # As if some time had gone: nobody makes the new file.
        handler.nameless_since -= 60
        self.write(handler, 'in a new file')
        self.assertEqual('before\nwithout a file\n', (self.logs / 'old').read_text())
        self.assertEqual('in a new file\n', self.log.read_text())

    def test_successor_that_cannot_be_opened_is_no_error(self):
        handler = self.handler()
        self.log.rename(self.logs / 'old')
        self.log.mkdir()
        self.write(handler, 'in the old file')
        self.assertEqual('in the old file\n', (self.logs / 'old').read_text())
        self.log.rmdir()
        self.log.touch()
        self.write(handler, 'in the new file')
        self.assertEqual('in the new file\n', self.log.read_text())
