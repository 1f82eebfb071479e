# SPDX-License-Identifier: Apache-2.0
"""Export locations of the dummy's shares."""

from collections.abc import Iterable
from typing import Any

from oslo_utils import netutils

from manila_lite import values
from manila_lite.drivers.dummy.store import ShareRecord


def of_backend(conf: Any, share: ShareRecord) -> list[values.ExportLocation]:
    """Return an export location for each address of the options."""
    return _locations(
        share, conf.dummy_export_ips, [conf.dummy_admin_export_ip] if conf.dummy_admin_export_ip else []
    )


def on_server(server: values.ShareServer, share: ShareRecord) -> list[values.ExportLocation]:
    """Return an export location for each address of the share's server."""
    addresses = [allocation.ip_address for allocation in server.allocations]
    users = len(addresses) - len(server.admin_allocations)
    return _locations(share, addresses[:users], addresses[users:])


def _locations(
    share: ShareRecord, users: Iterable[str], admins: Iterable[str]
) -> list[values.ExportLocation]:
    form = '\\\\{}\\{}' if share.proto == 'CIFS' else '{}:/shares/{}'
    places = [(address, index == 0, False) for index, address in enumerate(users)]
    places += [(address, False, True) for address in admins]
    return [
        values.ExportLocation(form.format(netutils.escape_ipv6(address), share.path), preferred, admin)
        for address, preferred, admin in places
    ]
