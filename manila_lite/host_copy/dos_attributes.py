# SPDX-License-Identifier: Apache-2.0
"""Copies between two mounts of CIFS, with the attributes that Windows shows: read-only, hidden, system and archive.

The kernel's client has them as an extended attribute that no listing of attributes has, so rsync does not see it. Without
this, some files would be hidden afterwards: file servers hide what a client creates under a name that begins with a dot, as
rsync does until a file is complete.
"""

import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any, ClassVar

from manila_lite.host import sandbox
from manila_lite.host.commands import CommandFailed
from manila_lite.host_copy import messages, rsync

#: The programs, and the packages that have them.
PROGRAMS = {'getfattr': 'attr', 'setfattr': 'attr', 'prlimit': 'util-linux'}
_ATTRIBUTE = 'user.cifs.dosattrib'
_READ = (
    'getfattr',
    '--recursive',
    '--physical',
    '--no-dereference',
    '--absolute-names',
    '--encoding=hex',
    f'--name={_ATTRIBUTE}',
    sandbox.TARGET,
)
_WRITE = ('setfattr', '--no-dereference', '--restore=-')
#: How messages of the programs begin, without and with their names; and the words that may stand behind a path.
_ABOUT, _NAMES, _BEHIND = b'/target', (b'getfattr: ', b'setfattr: '), f': {_ATTRIBUTE}'.encode()
#: Reasons that are no failure: a client of the source has deleted the file meanwhile; or it is a link, which has none.
_GONE = (b'No such file or directory', b'No such attribute')
#: Exit statuses, the second one if there was a reason; and how a message of the sandbox begins, which has the same.
_ENDS, _SANDBOX = (0, 1), f'\n{sandbox.PROGRAM}: '.encode()
#: Bytes of the list of all files with their attributes: a tenant with many files in long paths could fill the disk.
_MOST = 1 << 30
#: The exit status at that limit.
_TOO_LONG = 128 + signal.SIGXFSZ
#: The end of a whole list: of each file, and so of the last one.
_END = b'\n\n'


class Messages(messages.Messages):
    """Those of getfattr and setfattr as well."""

    def heed(self, line: bytes) -> None:
        super().heed(line)
        for name in _NAMES:
            line = line.removeprefix(name)
        about, _, why = line.rpartition(b': ')
        if about.startswith(_ABOUT) and why and b':' not in why and why not in _GONE:
            self.note_failure(about.removesuffix(_BEHIND).removeprefix(_ABOUT).removeprefix(b'/'), why)
            self.count(line)


class CifsCopy(rsync.Copy):
    """See ``rsync.Copy``. Both directories are mounts of CIFS."""

    MESSAGES: ClassVar[type[messages.Messages]] = Messages

    def _work(self) -> None:
        super()._work()
        with tempfile.TemporaryFile() as told:
            self._have(self._source, _READ, said=subprocess.PIPE, out=told)
            _must_be_whole(told)
            self._given = told
            self._have(self.target, _WRITE)

    def _have(self, path: Path, words: tuple[str, ...], **where: Any) -> None:
        limited = ('prlimit', f'--fsize={_MOST}', *sandbox.words(path, *words))
        status, said, _ = self._attend(self._begin(limited, **where))
        if status == _TOO_LONG:
            raise messages.TooMany(f'{words[0]}: more than {_MOST} bytes')
        if self.messages.failed or status not in _ENDS or _SANDBOX in said:
            raise CommandFailed(f'{words[0]}: attributes of files cannot be copied (exit status {status})')


def _must_be_whole(told: IO[bytes]) -> None:
    """Rewind the list, if it is whole.

    :raises CommandFailed: it is not.
    """
    told.seek(max(told.seek(0, os.SEEK_END) - len(_END), 0))
    if told.read() != _END:
        raise CommandFailed('getfattr: the list of attributes is not whole; is the disk of this host full?')
    told.seek(0)
