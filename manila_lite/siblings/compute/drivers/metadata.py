# SPDX-License-Identifier: Apache-2.0
"""The metadata of guests, and its server: each guest has its own Unix socket, which identifies the guest.

QEMU's user network forwards the guest's connections to 169.254.169.254 to that socket, through ``relay.py``. The same
files are on the config drive.
"""

import base64
import contextlib
import http.server
import ipaddress
import socketserver
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from manila_lite.siblings.compute.drivers.interface import Server, Share

#: Versions of the metadata; shares are listed from the first one on.
VERSIONS = ('2025-04-04', 'latest')


def document(server: Server, shares: tuple[Share, ...]) -> dict[str, Any]:
    """Return ``meta_data.json`` of a server."""
    return {
        'uuid': server.id, 'name': server.name, 'hostname': server.name, 'project_id': server.project_id, 'launch_index': 0,
        'meta': server.metadata,
        'devices': [{'type': 'share', 'share_id': share.id, 'tag': share.tag, 'bus': 'none', 'address': 'none'}
                    for share in shares],
    }


def network(server: Server) -> dict[str, Any]:
    """Return ``network_data.json`` of a server: the configuration of its interfaces, each identified by its MAC address."""
    links, networks = [], []
    for number, nic in enumerate(server.nics):
        net = ipaddress.ip_network(nic.cidr)
        anywhere = '0.0.0.0' if net.version == 4 else '::'
        links.append({'id': f'nic{number}', 'type': 'phy', 'ethernet_mac_address': nic.mac, 'mtu': nic.mtu, 'vif_id': None})
        networks.append({
            'id': f'network{number}', 'type': f'ipv{net.version}', 'link': f'nic{number}', 'network_id': nic.network,
            'ip_address': nic.address, 'netmask': str(net.netmask),
            'routes': [{'network': anywhere, 'netmask': anywhere, 'gateway': nic.gateway}] if nic.gateway else []})
    return {'links': links, 'networks': networks, 'services': []}


def files(server: Server, shares: tuple[Share, ...]) -> dict[str, bytes]:
    """Return all files by their path, for instance ``openstack/latest/meta_data.json``."""
    contents = {'meta_data.json': orjson.dumps(document(server, shares))}
    if server.nics:
        contents['network_data.json'] = orjson.dumps(network(server))
    if server.user_data:
        contents['user_data'] = base64.b64decode(server.user_data)
    return {f'openstack/{version}/{name}': content for version in VERSIONS for name, content in contents.items()}


class _Handler(http.server.BaseHTTPRequestHandler):
    """A handler that serves files, and directories as lists of names."""

    server: '_Listener'
    timeout = 30

    def do_GET(self) -> None:
        """Answer with a file or a list."""
        wanted = '/'.join(part for part in self.path.partition('?')[0].split('/') if part)
        content = self.server.files.get(wanted)
        kind = 'application/json' if wanted.endswith('.json') else 'text/plain'
        if content is None:
            content, kind = _names(self.server.files, wanted), 'text/plain'
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Log nothing: a guest may ask as often as it likes, and must not fill the host's log."""

    def address_string(self) -> str:
        """Return a fixed name: a Unix socket has no address."""
        return 'guest'


def _names(known: Mapping[str, bytes], folder: str) -> bytes | None:
    """Return the names in a directory, one a line; None if there is no such directory."""
    start = f'{folder}/' if folder else ''
    names = sorted({path.removeprefix(start).partition('/')[0] for path in known if path.startswith(start)})
    return '\n'.join(names).encode() if names else None


class _Listener(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    files: Mapping[str, bytes] = {}


class Metadata:
    """The sockets of all guests of this process. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[Path, _Listener] = {}

    def serve(self, socket: Path, files: Mapping[str, bytes]) -> None:
        """Serve these files at the socket from now on."""
        with self._lock:
            listener = self._listeners.get(socket)
            if listener is None or not socket.exists():
                self._end(socket)
                socket.unlink(missing_ok=True)
                listener = self._listeners[socket] = _Listener(str(socket), _Handler)
                threading.Thread(target=listener.serve_forever, name='metadata', daemon=True).start()
            listener.files = files

    def end(self, socket: Path) -> None:
        """Stop serving at the socket."""
        with self._lock:
            self._end(socket)

    def end_all(self) -> None:
        """Stop serving at all sockets."""
        with self._lock:
            for socket in list(self._listeners):
                self._end(socket)

    def _end(self, socket: Path) -> None:
        if listener := self._listeners.pop(socket, None):
            listener.shutdown()
            listener.server_close()
            with contextlib.suppress(OSError):
                socket.unlink()
