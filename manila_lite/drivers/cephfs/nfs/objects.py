# SPDX-License-Identifier: Apache-2.0
"""Small objects in a pool of the cluster, which all hosts of a backend share."""

import dataclasses
import subprocess

from manila_lite.host.commands import ENV, CommandFailed

_SECONDS = 10.0
_MISSING = 'No such file or directory'


@dataclasses.dataclass(frozen=True)
class Objects:
    """The objects of one namespace of a pool."""

    ceph_conf: str
    auth_id: str
    pool: str
    namespace: str

    def get(self, name: str, seconds: float = _SECONDS) -> bytes | None:
        """Return the content of an object, or None if there is none.

        :raises CommandFailed: the cluster refused, or did not answer in so many seconds.
        """
        try:
            return self._run('get', name, '-', seconds=seconds)
        except CommandFailed as bad:
            if _MISSING in str(bad):
                return None
            raise

    def put(self, name: str, content: bytes, seconds: float = _SECONDS) -> None:
        """Replace the content of an object, all at once.

        :raises CommandFailed: the cluster refused, or did not answer in so many seconds.
        """
        self._run('put', name, '-', seconds=seconds, content=content)

    def delete(self, name: str) -> None:
        """Delete the object, if it is there."""
        try:
            self._run('rm', name, seconds=_SECONDS)
        except CommandFailed as bad:
            if _MISSING not in str(bad):
                raise

    def _run(self, *words: str, seconds: float, content: bytes = b'') -> bytes:
        command = ('rados', '--conf', self.ceph_conf, '--id', self.auth_id, '--pool', self.pool, '--namespace', self.namespace)
        try:
            done = subprocess.run((*command, *words), env=ENV, input=content, capture_output=True, timeout=seconds, check=False)
        except (OSError, subprocess.TimeoutExpired) as bad:
            raise CommandFailed(f'rados {words[0]} {words[1]}: {bad}') from bad
        if done.returncode:
            raise CommandFailed(f'rados {words[0]} {words[1]}: {done.stderr.decode(errors="replace").strip()}')
        return done.stdout
