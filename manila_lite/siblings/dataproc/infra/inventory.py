# SPDX-License-Identifier: Apache-2.0
"""Nodes that exist already, from a file of the operator. It is read anew each time."""

import ipaddress
from typing import Any

import yaml

from manila_lite import errors
from manila_lite.siblings.dataproc.infra.ssh import SshInfra
from manila_lite.siblings.dataproc.interface import Node, Wanted

_MUST, _MAY = ('name', 'address', 'host_key'), {'port': 22, 'user': None, 'key_file': ''}


class Inventory(SshInfra):
    """A pool of nodes; the engine stores which nodes are taken."""

    def offer(self, wanted: Wanted, taken: frozenset[str]) -> str:
        """See ``Infra.offer``: return the first free node of the file."""
        nodes = self._nodes()
        free = next((name for name in nodes if name not in taken), None)
        if free is None:
            raise errors.Final(f'No node is free: the inventory has {len(nodes)}.')
        return free

    def ready(self, ref: str, wanted: Wanted) -> Node:
        node = self._nodes().get(ref)
        if node is None:
            raise errors.Final(f'{ref} is no longer in the inventory.')
        return self.answering(node)

    def release(self, ref: str) -> None:
        """See ``Infra.release``. The node stays as it is."""

    def _nodes(self) -> dict[str, Node]:
        options = self.conf.dataproc_nodes
        path = options.inventory_file
        if not path:
            raise errors.Final('There is no inventory: [dataproc_nodes] inventory_file is not set.')
        try:
            with open(path, encoding='utf-8') as file:
                return read(yaml.safe_load(file), options.ssh_user)
        except (OSError, UnicodeDecodeError, yaml.YAMLError, errors.Invalid) as bad:
            raise errors.Final(f'The inventory {path} cannot be used: {bad}') from bad


def read(document: Any, user: str) -> dict[str, Node]:
    """Return the nodes of an inventory by their names, in its order. ``user``: the login of nodes that name none.

    :raises errors.Invalid: the document is wrong; the message says where.
    """
    entries = document.get('nodes') if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise errors.Invalid('it needs a list "nodes".')
    nodes: dict[str, Node] = {}
    addresses: set[tuple[str, int]] = set()
    for number, entry in enumerate(entries, 1):
        node = _node(entry, user, f'node {number}')
        if node.name in nodes or (node.address, node.port) in addresses:
            raise errors.Invalid(f'node {number}: {node.name} or its address is given twice.')
        nodes[node.name] = node
        addresses.add((node.address, node.port))
    return nodes


def _node(entry: Any, user: str, where: str) -> Node:
    if not isinstance(entry, dict) or set(entry) - {*_MUST, *_MAY}:
        raise errors.Invalid(
            f'{where}: it has {", ".join(_MUST)} and may have {", ".join(_MAY)}, nothing else.'
        )
    if lacks := [key for key in _MUST if not isinstance(entry.get(key), str) or not entry[key]]:
        raise errors.Invalid(f'{where}: it needs {" and ".join(lacks)}.')
    values = {**_MAY, 'user': user, **entry}
    try:
        address = str(ipaddress.ip_address(values['address']))
    except ValueError:
        raise errors.Invalid(
            f'{where}: {values["address"]} is not an address: access rules need one.'
        ) from None
    if type(values['port']) is not int or not 0 < values['port'] < 65536:
        raise errors.Invalid(f'{where}: {values["port"]} is not a port.')
    if not all(isinstance(values[key], str) for key in ('user', 'key_file')):
        raise errors.Invalid(f'{where}: user and key_file are text.')
    return Node(
        ref=values['name'],
        name=values['name'],
        address=address,
        port=values['port'],
        user=values['user'],
        host_key=values['host_key'],
        key_file=values['key_file'],
    )
