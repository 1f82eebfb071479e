# SPDX-License-Identifier: Apache-2.0
"""The ability to give share servers in use another security service."""

import abc
from collections.abc import Sequence

from manila_lite import kinds
from manila_lite.drivers.interface.servers import MakesServers


class UpdatesSecurityServices(MakesServers):
    """Servers in use can be told of one more security service, or of another one in the place of the one they know."""

    @abc.abstractmethod
    def check_update_share_server_security_service(self, server: kinds.ShareServer, new: kinds.SecurityService,
                                                   current: kinds.SecurityService | None,
                                                   targets: Sequence[kinds.EnsureTarget]) -> None:
        """``update_share_server_security_service`` can be expected to work. Changes nothing.

        ``current`` is of the type of ``new`` and will give place to it; without one the server gets its first of
        that type. ``targets`` are all shares of the server, with their rules.

        :raises errors.Final: it cannot be done; the message is the reason, for the one who asked.
        """

    @abc.abstractmethod
    def update_share_server_security_service(self, server: kinds.ShareServer, new: kinds.SecurityService,
                                             current: kinds.SecurityService | None,
                                             targets: Sequence[kinds.EnsureTarget]) -> kinds.ServerUpdate:
        """The server knows its users by ``new``, and by ``current`` no more; every share is served as before.

        ``server`` has ``new`` among its security services already. The answer has export locations only of shares
        that have others now.

        :raises errors.Final: it cannot be done; the server knows its users as before.
        """
