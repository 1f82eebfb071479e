# SPDX-License-Identifier: Apache-2.0
"""Nodes that are servers of the compute service: made for a cluster, and deleted when the cluster releases them.

A node's reference is the name of its server, which the engine stores before the server is made. So after the death of
an engine another one finds its servers; of two servers with one name, one is deleted.
"""

import base64
import contextlib
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from manila_lite import errors
from manila_lite.siblings import connection
from manila_lite.siblings.dataproc import remote
from manila_lite.siblings.dataproc.infra.ssh import SshInfra
from manila_lite.siblings.dataproc.interface import Node, Wanted

#: The newest version that the compute service of this repository serves.
_VERSION = '2.97'
#: Servers in one page of the list.
_PAGE = 200
#: Keys of a server's metadata: the data-processing service that owns it, and its only accepted host key.
_OWNER, _HOST_KEY = 'mlite_dataproc', 'mlite_host_key'
_FLAVOR = re.compile(r'([1-9][0-9]{0,3})x([1-9][0-9]{0,8})')


class ComputeInfra(SshInfra):
    """The compute service of ``[compute_service]``."""

    def __init__(self, conf: Any):
        super().__init__(conf)
        self._options = conf.dataproc_nodes
        self._pause = conf.dataproc.retry_delay
        self._service = connection.Connection(conf, connection.COMPUTE)

    def offer(self, wanted: Wanted, taken: frozenset[str]) -> str:
        return f'{wanted.name}-{wanted.instance_id}'

    def ready(self, ref: str, wanted: Wanted) -> Node:
        """See ``Infra.ready``. A server in error is deleted, so that the next try makes another."""
        server = self._one(ref)
        if server is None:
            self._ask('POST', '/servers', json={'server': self._body(ref, wanted)})
            raise errors.Again(self._pause, 'Its server is being created.')
        if server['status'] == 'ERROR':
            self._delete(server)
            why = (server.get('fault') or {}).get('message', 'the compute service gives no reason')
            raise errors.Final(f'Its server could not be built: {why}')
        if server['status'] == 'SHUTOFF' and not server['OS-EXT-STS:task_state']:
            self._ask('POST', f'/servers/{server["id"]}/action', json={'os-start': None})
        if server['status'] != 'ACTIVE':
            raise errors.Again(self._pause, f'Its server is {server["status"]}.')
        return self.answering(
            Node(
                ref,
                wanted.name,
                self._address(server),
                user=self._options.ssh_user,
                host_key=server['metadata'].get(_HOST_KEY, ''),
                key_file=self._options.ssh_key_file or '',
            )
        )

    def release(self, ref: str) -> None:
        there = list(self._servers(name=ref))
        for server in there:
            self._delete(server)
        if there:
            raise errors.Again(self._pause, 'Its server is being deleted.')

    def sweep(self, taken: Callable[[], frozenset[str]]) -> None:
        there = list(self._servers())
        known = taken()  # read after the list, since a server's name is stored before the server is made
        for server in there:
            if server['name'] not in known:
                self._delete(server)

    # Servers ----------------------------------------------------------------------------------

    def _one(self, ref: str) -> dict[str, Any] | None:
        """Return the oldest server of this name, and delete any others."""
        servers = [
            server for server in self._servers(name=ref) if server['OS-EXT-STS:task_state'] != 'deleting'
        ]
        servers.sort(key=lambda server: (server['created'], server['id']))
        for server in servers[1:]:
            self._delete(server)
        return servers[0] if servers else None

    def _servers(self, name: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield our servers, those of exactly this name if one is given."""
        marker: dict[str, str] = {}
        named = {} if name is None else {'name': name}
        while page := self._ask('GET', '/servers/detail', params={'limit': _PAGE, **named, **marker})[
            'servers'
        ]:
            for server in page:
                if (
                    name in (None, server['name'])
                    and server['metadata'].get(_OWNER) == self._options.compute_owner
                ):
                    yield server
            if len(page) < _PAGE:
                return
            marker = {'marker': page[-1]['id']}

    def _delete(self, server: Mapping[str, Any]) -> None:
        if server['OS-EXT-STS:task_state'] != 'deleting':
            with contextlib.suppress(errors.NotFound):
                self._ask('DELETE', f'/servers/{server["id"]}')

    def _ask(self, method: str, path: str, **more: Any) -> Any:
        """Return the answer of the compute service.

        :raises errors.Again: not now. :raises errors.Final: never. :raises errors.NotFound: there is no such server.
        :raises errors.Unavailable: the service does not answer.
        """
        try:
            return self._service.ask(method, path, who=None, version=_VERSION, **more)
        except errors.Conflict as later:
            raise errors.Again(self._pause, str(later)) from later
        except (errors.Invalid, errors.Forbidden, errors.OverQuota) as never:
            raise errors.Final(f'The compute service refuses: {never}') from never

    # Properties of new servers ----------------------------------------------------------------

    def _body(self, ref: str, wanted: Wanted) -> dict[str, Any]:
        options = self._options
        private, public = remote.host_key()
        image = wanted.image_id or options.compute_image
        boots = {
            'imageRef': image,
            'kernel': options.compute_kernel,
            'initrd': options.compute_initrd,
            'cmdline': options.compute_cmdline,
        }
        if not image and not options.compute_kernel:
            raise errors.Final(
                'It has no image to boot from: neither the node group nor [dataproc_nodes] names one.'
            )
        return {
            'name': ref,
            **self._sizes(wanted.flavor_id),
            **{key: value for key, value in boots.items() if value},
            'networks': [{'uuid': options.compute_network}] if options.compute_network else 'auto',
            'metadata': {
                _OWNER: options.compute_owner,
                _HOST_KEY: public,
                'mlite_cluster': wanted.cluster_id,
            },
            'user_data': base64.b64encode(self._user_data(wanted, private, public)).decode(),
        }

    def _sizes(self, flavor: str | None) -> dict[str, int]:
        options = self._options
        sizes = {
            'vcpus': options.compute_vcpus,
            'memory': options.compute_memory,
            'disk': options.compute_disk,
        }
        if flavor is None:
            return sizes
        match = _FLAVOR.fullmatch(flavor)
        if match is None:
            raise errors.Final(
                f'flavor_id: {flavor!r} is not of the form VCPUSxMEMORY, with the memory in MiB, as in 2x4096.'
            )
        return sizes | {'vcpus': int(match[1]), 'memory': int(match[2])}

    def _user_data(self, wanted: Wanted, private: str, public: str) -> bytes:
        """Return cloud-init's configuration of the guest: the host key that we made, and our login, with sudo where
        that is needed.
        """
        user = self._options.ssh_user
        me: dict[str, Any] = {
            'name': user,
            'ssh_authorized_keys': [remote.public_key(self._options.ssh_key_file or '')],
        }
        if user != 'root':
            me |= {'sudo': 'ALL=(ALL) NOPASSWD:ALL', 'shell': '/bin/sh', 'lock_passwd': True}
        return b'#cloud-config\n' + orjson.dumps(
            {
                'hostname': wanted.name,
                'disable_root': user != 'root',
                'ssh_pwauth': False,
                'ssh_deletekeys': True,
                'ssh_keys': {'ed25519_private': private, 'ed25519_public': public},
                'users': [me],
            },
            option=orjson.OPT_INDENT_2,
        )

    def _address(self, server: Mapping[str, Any]) -> str:
        """Return the address that access rules name: the first fixed one.

        :raises errors.Final: the server has none.
        """
        addresses = [
            one['addr']
            for listed in server['addresses'].values()
            for one in listed
            if one.get('OS-EXT-IPS:type', 'fixed') == 'fixed'
        ]
        if not addresses:
            raise errors.Final('Its server is on no network.')
        return str(ipaddress.ip_address(addresses[0]))
