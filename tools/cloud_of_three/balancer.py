# SPDX-License-Identifier: Apache-2.0
"""HAProxy: one in front of the APIs, for clients; and on each host its own way to the database and Keystone."""

_NAME, _USER = 'haproxy', 'haproxy'
_DEFAULTS = """global
    maxconn 4000
defaults
    mode tcp
    timeout connect 3s
    timeout client 2h
    timeout server 2h
    timeout check 3s
    default-server inter 1s fastinter 500ms fall 2 rise 2 on-marked-down shutdown-sessions
    option redispatch
"""
_HTTP = """listen {name}
    bind {address}:{port}
    mode http
    timeout client 90s
    timeout server 90s
    option httpchk GET {check}
{servers}
"""
API_PORT, KEYSTONE_PORT = 8786, 5000
#: By name: port, and the request whose answer 200 says that a server works.
_APIS = {'manila': (API_PORT, '/healthcheck'), 'keystone': (KEYSTONE_PORT, '/v3')}


class HAProxy:
    """All of them. ``database``: the section that its nodes need."""

    programs = (_NAME,)

    def __init__(self, front, controllers, others, database):
        self._front, self._controllers, self._others = front, controllers, others
        self._database = database

    def _http(self, name, address):
        port, check = _APIS[name]
        servers = '\n'.join(f'    server {one.name} {one.address}:{port} check' for one in self._controllers)
        return _HTTP.format(name=name, address=address, port=port, check=check, servers=servers)

    def start(self):
        """Start each one that does not run."""
        self._start(
            self._front,
            self._http('manila', self._front.address) + self._http('keystone', self._front.address),
        )
        for host in (*self._controllers, *self._others):
            self._start(host, self._http('keystone', '127.0.0.1') + self._database)

    def _start(self, host, sections):
        if not host.program(_NAME):
            config = host.write(_NAME, 'haproxy.cfg', _DEFAULTS + sections, _USER)
            host.start(_NAME, ['haproxy', '-db', '-f', config], _USER)
