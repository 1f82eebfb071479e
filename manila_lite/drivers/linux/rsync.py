# SPDX-License-Identifier: Apache-2.0
"""One run of rsync: all that is in a directory goes to another one."""

import re
import subprocess
import threading
import time
from pathlib import Path

from manila_lite.drivers.linux.run import ENV, CommandFailed

#: Seconds that a copy which was told to end has for that; and after which one ends that nobody looks at any more.
_PATIENCE, _FORGOTTEN = 60.0, 900.0
#: Everything of every file. In its place, since the share may have no room for a second one; what is to go goes first, for
#: the same reason. Told by setpriv to end with this process.
_RSYNC = ('setpriv', '--pdeathsig', 'KILL', 'rsync', '--archive', '--hard-links', '--acls', '--xattrs', '--numeric-ids',
          '--sparse', '--inplace', '--delete-before', '--info=progress2', '--no-inc-recursive', '--outbuf=L')
#: Which files are the same already: of a backup that was begun before, by size and the whole time; in a share, by content.
SAME, SAME_CONTENT = '--modify-window=-1', '--checksum'
_WORKED, _PARTLY, _VANISHED = 0, 23, 24
_SAID, _ALL = 1000, 100
#: Said of a file among all that is said of progress: where it is to go, its ACL or an extended attribute is not supported.
_UNKEPT = re.compile(rb'rsync: \[\w+\] (?:set_acl|rsync_xal_(?:set|clear)): [^\r\n]*\(95\)[\r\n]')


class CannotKeepAll(CommandFailed):
    """Files have ACLs or extended attributes that cannot be where they are to be copied to."""


class Copy(threading.Thread):
    """One copy of all that is in a directory to another one, which then holds nothing else."""

    def __init__(self, source: Path, target: Path, same: str):
        super().__init__(daemon=True, name='backup')
        self._words = (*_RSYNC, same, '--', f'{source}/', f'{target}/')
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self.percent = 0
        self.looked_at = time.monotonic()
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._copy()
        except Exception as bad:
            self.error = bad

    def _copy(self) -> None:
        # The process dies with the thread that began it: this one, which waits for it.
        with self._lock:
            if self._stopped:
                raise CommandFailed('the copy was stopped')
            self._process = subprocess.Popen(self._words, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.STDOUT)
        said, unkept = b'', False
        with self._process as process:
            assert process.stdout is not None
            while piece := process.stdout.read1(1 << 16):
                unkept = unkept or _UNKEPT.search(said + piece) is not None
                said = (said + piece)[-_SAID:]
                self.percent = max(self.percent, _percent(piece))
                if time.monotonic() > self.looked_at + _FORGOTTEN:
                    process.kill()
        # Of a plain directory, files may go while it is copied.
        if process.returncode not in (_WORKED, _VANISHED):
            kind = CannotKeepAll if unkept and process.returncode == _PARTLY else CommandFailed
            raise kind(f'rsync: {_last_words(said)} (exit status {process.returncode})')

    def stop(self) -> None:
        """It does not go on.

        :raises CommandFailed: it does.
        """
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()
        self.join(_PATIENCE)
        if self.is_alive():
            raise CommandFailed('a copy does not stop')


def _percent(piece: bytes) -> int:
    """Return the last percentage in what rsync said, below 100: that is for the end alone."""
    found = [int(word[:-1]) for word in piece.split() if word.endswith(b'%') and word[:-1].isdigit()]
    return min(found[-1], _ALL - 1) if found else 0


def _last_words(said: bytes) -> str:
    lines = [line.strip() for line in said.decode(errors='replace').replace('\r', '\n').split('\n')]
    return '; '.join([line for line in lines if line.startswith('rsync')][-2:]) or 'it failed'
