# SPDX-License-Identifier: Apache-2.0
"""A service that uses shares, beside the share service of a scenario: a process with its own configuration."""

from scenarios import settings
from scenarios.leftovers import sockets_of
from scenarios.service import Program, write_private


class Beside(Program):
    """The process of ``command``, with ``text`` as its configuration; ``paths`` are those of its API."""

    def __init__(self, demo, command, text, port):
        super().__init__(demo.state, command, port, demo.password)
        self.demo = demo
        self._text = text

    def start(self, **values):
        """Start the service, and wait until it answers."""
        place, config = self.state / settings.BESIDE_FOLDER, self.state / f'{self.command}.conf'
        place.mkdir(exist_ok=True)
        names = {
            'state': self.state,
            'place': place,
            'v4': settings.V4,
            'port': self.port,
            'sockets': sockets_of(self.state),
            'shares': self.demo.url,
            'user': settings.SERVICE,
            'password': self.password,
            'section': settings.accounts(self.state),
            'log': self.state / f'{self.command}.log',
            **values,
        }
        write_private(config, (settings.BESIDE + self._text).format(**names))
        self.demo.beside.append(self)
        self.launch(config, place / 'pid')
