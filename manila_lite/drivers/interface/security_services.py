# SPDX-License-Identifier: Apache-2.0
"""The ability to change the security services of share servers in use."""

import abc
from collections.abc import Sequence

from manila_lite import values
from manila_lite.drivers.interface.servers import MakesServers


class UpdatesSecurityServices(MakesServers):
    """Addition or replacement of a security service of servers in use."""

    @abc.abstractmethod
    def check_update_share_server_security_service(
        self,
        server: values.ShareServer,
        new: values.SecurityService,
        current: values.SecurityService | None,
        targets: Sequence[values.EnsureTarget],
    ) -> None:
        """Check that ``update_share_server_security_service`` can be expected to work. Changes nothing.

        ``current`` has the type of ``new`` and will be replaced by it; None means that the server gets its first
        security service of that type. ``targets`` are all shares of the server, with their rules.

        :raises errors.Final: the change is not possible; the message gives the user the reason.
        """

    @abc.abstractmethod
    def update_share_server_security_service(
        self,
        server: values.ShareServer,
        new: values.SecurityService,
        current: values.SecurityService | None,
        targets: Sequence[values.EnsureTarget],
    ) -> values.ServerUpdate:
        """Make the server use ``new`` to know its users, in place of ``current``; every share is served as before.

        ``server`` has ``new`` among its security services already. The result has export locations only for shares
        whose locations changed.

        :raises errors.Final: the change is not possible; the server uses the security services that it had.
        """
