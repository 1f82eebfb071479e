# SPDX-License-Identifier: Apache-2.0
"""``manila-manage logs``: errors, and lines about our programs, in the log files of this machine. They are only read."""

import collections
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from oslo_config import cfg

from manila_lite import errors
from manila_lite.cmd.manage.command import GOOD, WRONG, Call, Command, argument, natural

#: The level in a line: near its begin, or in a JSON object (``use_json``).
_LEVEL = re.compile(rb'(?:\{.*?"levelname": "|(?!\{).{0,80}?\b)(TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL)\b')
_BAD = (b'ERROR', b'CRITICAL')
#: Bytes of a line in memory at a time; a longer line is printed in pieces.
_LONGEST = 1 << 20
_SYSLOGS = (Path('/var/log/syslog'), Path('/var/log/messages'))
_JOURNAL = "journalctl --unit 'manila-*'"
#: Options that send the log elsewhere, and the hint on where to look then.
_ELSEWHERE = {
    'log_config_append': 'The file of log_config_append has the destination of the log',
    'use_journal': f'The log goes to the journal: {_JOURNAL} --priority err',
    'use_syslog': 'The log goes to syslog: "manila-manage logs syslog" shows its newest lines',
}
_STDERR = (
    'The log goes to standard error, which systemd and containers keep: '
    f"{_JOURNAL} --grep ' (ERROR|CRITICAL) '"
)


def log_errors(call: Call) -> int:
    """Print the lines of level ERROR and CRITICAL from the log files, under the name of each file, the oldest first.

    The files are the one of log_file and those in log_dir that end with .log; the file with the newest change comes last.
    A line without a level belongs to the line before. Exit status 1: no log file is configured, or a file cannot be read.
    """
    paths = _files(call.conf)
    shown = read = 0
    for path in paths:
        try:
            for number, line in enumerate(_bad_lines(path)):
                _write(line if number else f'==> {path} <==\n'.encode(errors='surrogateescape') + line)
                shown += 1
            read += 1
        except OSError as bad:
            print(f'manila-manage: {path}: {bad.strerror}', file=sys.stderr)
    if not shown and read:
        print(f'Nothing of level ERROR or CRITICAL in {read} log files.')
    return GOOD if read == len(paths) else WRONG


def _files(conf: cfg.ConfigOpts) -> list[Path]:
    """Return the log files, the one written to last at the end.

    :raises errors.NotFound: no log file is configured, or there is none.
    """
    if conf.log_config_append or not (conf.log_file or conf.log_dir):
        elsewhere = next((said for name, said in _ELSEWHERE.items() if conf[name]), _STDERR)
        raise errors.NotFound(f'no log file is configured by log_file or log_dir. {elsewhere}')
    folder = Path(conf.log_dir or '')
    files = {
        *([folder / conf.log_file] if conf.log_file else []),
        *(folder.glob('*.log') if conf.log_dir else []),
    }
    if not files:
        raise errors.NotFound(f'log_dir: there is no readable *.log in {folder}')
    return sorted(files, key=_written)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0  # opening the file fails too, and is reported


def _bad_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of level ERROR and CRITICAL, with the lines without a level that follow them.

    :raises OSError: the file cannot be read.
    """
    bad = False
    for line, is_piece in _lines(path):
        if not is_piece and (level := _LEVEL.match(line)):
            bad = level[1] in _BAD
        if bad:
            yield line


def _lines(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Yield each line or piece of a line, with whether it is a further piece of a line that is too long."""
    with path.open('rb') as file:
        is_piece = False
        while line := file.readline(_LONGEST):
            yield line, is_piece
            is_piece = not line.endswith(b'\n')


def log_syslog(call: Call) -> int:
    """Print the newest lines about programs of manila_lite in /var/log/syslog or, if it does not exist, /var/log/messages.

    Exit status 1: neither file exists, or it cannot be read.
    """
    path = call.args.file or next((path for path in _SYSLOGS if path.exists()), None)
    if path is None:
        raise errors.NotFound(
            f'there is neither {_SYSLOGS[0]} nor {_SYSLOGS[1]}. Name the file with --file, or read the '
            f'journal: {_JOURNAL} --lines {call.args.lines}'
        )
    programs = metadata.distribution('manila-lite').entry_points.select(group='console_scripts').names
    ours = re.compile(
        rf'(?<![\w-])(?:manila_lite|{"|".join(map(re.escape, sorted(programs)))})(?![\w-])'.encode()
    )
    try:
        newest = collections.deque(
            (line for line, _ in _lines(path) if ours.search(line)), maxlen=min(call.args.lines, sys.maxsize)
        )
    except OSError as bad:
        raise errors.NotFound(f'{path}: {bad.strerror}') from None
    for line in newest:
        _write(line)
    if not newest:
        print(f'No line about manila_lite in {path}.')
    return GOOD


def _write(line: bytes) -> None:
    """Write a line to standard output with its bytes unchanged, in any encoding."""
    sys.stdout.buffer.write(line if line.endswith(b'\n') else line + b'\n')


COMMANDS: Sequence[Command] = (
    Command('logs', 'errors', log_errors, logged=False),
    Command(
        'logs',
        'syslog',
        log_syslog,
        [
            argument('lines', nargs='?', type=natural, default=10, help='number of lines; default: 10'),
            argument('--file', type=Path, help='path of another file'),
        ],
        logged=False,
    ),
)
