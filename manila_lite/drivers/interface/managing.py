# SPDX-License-Identifier: Apache-2.0
"""The ability to take over share servers that somebody else made, and to let go of ours."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import kinds
from manila_lite.drivers.interface.servers import MakesServers


class ManagesServers(MakesServers):
    """A server that the backend has already can become ours, with the addresses that it has.

    ``identifier`` is what the backend calls it, and keeps calling it whoever's it is; of a server that was set up here
    it is the ``id`` that it was set up with. ``options`` are an administrator's, for the driver alone.
    """

    @abc.abstractmethod
    def find_server(self, server: kinds.ShareServer, identifier: str, options: Mapping[str, str]) -> Sequence[str]:
        """Return the addresses of a server that is there and can become ``server``, which has none yet. Changes nothing.

        :raises errors.Final: there is none of that identifier, or it is another of ours, or cannot be taken over; the
            message says which.
        """

    @abc.abstractmethod
    def manage_server(self, server: kinds.ShareServer, identifier: str, options: Mapping[str, str]) -> Mapping[str, str]:
        """The server of that identifier is ``server`` from now on, and all calls find it by its ``id``.

        ``server`` has the addresses that were found, in its one network. Returns details to store with it.

        :raises errors.Final: it cannot be taken over; it is as it was.
        """

    @abc.abstractmethod
    def unmanage_server(self, server: kinds.ShareServer) -> None:
        """The server stays at the backend as it is, and is not ours any more; ``find_server`` finds it by its identifier.

        One that is not there, or not ours, is a success.

        :raises errors.Final: it still exports shares of ours; nothing was changed.
        """
