# SPDX-License-Identifier: Apache-2.0
"""The ``openstack`` command, or another one, at a pseudo terminal, or with a pipe."""

import os
import pty
import threading

from manila_lite.tests import forks, waiting

#: Characters of an output that are shown if what is waited for does not come.
_SHOWN = 10_000


class Running:
    """A command that runs, with what it has written so far: at a terminal all on one, else apart.

    Pauses of ``openstack`` are short, unless it is ``unhurried``, as when it waits for a service to come back. ``command``:
    another command.
    """

    def __init__(self, *words, env, at_terminal, unhurried=False, command=None):
        pairs = [pty.openpty()] if at_terminal else [os.pipe(), os.pipe()]
        outputs = [os.fdopen(theirs, 'wb', buffering=0) for _, theirs in pairs]
        self._said = [bytearray() for _ in pairs]
        self._readers = [
            threading.Thread(target=self._read, args=(mine, said), daemon=True)
            for (mine, _), said in zip(pairs, self._said, strict=True)
        ]
        openstack = 'openstackclient.shell:main' if unhurried else 'manila_lite.tests.openstack_page:command'
        self._process = forks.start(
            command or openstack,
            *words,
            stdin=outputs[0] if at_terminal else None,
            stdout=outputs[0],
            stderr=outputs[-1],
            env=env | {'TERM': 'xterm', 'COLUMNS': '120'},
            new_session=True,
        )
        for one in outputs:
            one.close()
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(file, said):
        try:
            while part := os.read(file, 4096):
                said += part
        except OSError:
            pass  # so ends what a terminal gives to read
        os.close(file)

    @property
    def out(self):
        """The standard output; at a terminal also the errors."""
        return self._said[0].decode(errors='replace')

    @property
    def err(self):
        """The standard error."""
        return self._said[-1].decode(errors='replace')

    def says(self, text):
        """Wait until the output has the text, or an object with ``search`` finds something in it."""
        found = text.search if hasattr(text, 'search') else (lambda said: text in said)
        waiting.until(
            lambda: found(self.out), lambda: f'not said: {text!r}\n{self.out[-_SHOWN:]}\n{self.err[-_SHOWN:]}'
        )

    def interrupt(self):
        """Do as Ctrl-C does."""
        self._process.send_signal(2)

    def terminate(self):
        """Do as ``kill`` does."""
        self._process.terminate()

    def ended(self):
        """Wait for the end; return the exit status."""
        status = self._process.wait(waiting.LIMIT)
        for reader in self._readers:
            reader.join(waiting.LIMIT)
        return status

    def close(self):
        """End it if it still runs."""
        self._process.kill()
        self._process.wait(waiting.LIMIT)
