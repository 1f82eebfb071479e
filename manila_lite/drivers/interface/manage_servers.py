# SPDX-License-Identifier: Apache-2.0
"""The ability to manage share servers that exist already, and to unmanage them."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.interface.servers import MakesServers


class ManagesServers(MakesServers):
    """Management of servers that exist at the backend, with their present addresses.

    ``identifier`` is the backend's own name of the server, and does not change when the server is managed or unmanaged.
    For a server that this service set up it is the ``id`` of that time. ``options`` come from the administrator and are
    for the driver alone.
    """

    @abc.abstractmethod
    def find_server(
        self, server: values.ShareServer, identifier: str, options: Mapping[str, str]
    ) -> Sequence[str]:
        """Return the addresses of an existing server that can be managed as ``server``, which has none yet, those in the
        network of administrators last. Changes nothing.

        :raises errors.Final: no server has that identifier, it is managed already, or it cannot be taken over; the
            message says which.
        """

    @abc.abstractmethod
    def manage_server(
        self, server: values.ShareServer, identifier: str, options: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Manage the server of that identifier as ``server``; from now on all calls find it by its ``id``.

        ``server`` has the addresses that ``find_server`` returned, in its one network or in ``admin_allocations``. Returns
        details to store with it.

        :raises errors.Final: the server cannot be taken over; it is unchanged.
        """

    @abc.abstractmethod
    def unmanage_server(self, server: values.ShareServer) -> None:
        """Unmanage the server: it stays at the backend unchanged, and ``find_server`` finds it by its identifier.

        A missing or unmanaged server counts as success.

        :raises errors.Final: the server still exports managed shares; nothing was changed.
        """
