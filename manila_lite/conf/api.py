# SPDX-License-Identifier: Apache-2.0
"""The API process: where it listens, who may come in, how large answers get."""

from oslo_config import cfg

DEFAULT = [
    cfg.StrOpt('auth_strategy', default='keystone',
               help='How callers prove who they are: "keystone", "http_basic" (a password file) or "noauth" '
                    '(everybody is administrator). A mistake is refused at start.'),
    cfg.IPOpt('osapi_share_listen', default='0.0.0.0', help='Address the built-in server listens on.'),
    cfg.PortOpt('osapi_share_listen_port', default=8786, help='Port the built-in server listens on.'),
    cfg.IntOpt('osapi_share_workers', default=1, min=1, help='Number of API processes of manila-api.'),
    cfg.IntOpt('osapi_max_limit', default=1000, min=1, mutable=True, help='Most items of one page of a list.'),
    cfg.StrOpt('osapi_share_base_URL', help='Address to show in links, when a proxy in front does not send '
                                            'X-Forwarded headers.'),
    cfg.StrOpt('default_share_type', mutable=True, help='Name of the share type used when a request names none.'),
    cfg.StrOpt('default_share_group_type', mutable=True, help='Name of the share group type used when a request for a '
                                                              'share group names none.'),
    cfg.ListOpt('enabled_share_protocols', default=['NFS', 'CIFS'], help='Protocols that users may ask for.'),
    cfg.StrOpt('storage_availability_zone', default='nova', help='Zone of the services of this host, unless their '
                                                                 'backend says otherwise.'),
    cfg.ListOpt('admin_only_metadata', default=['__affinity_same_host', '__affinity_different_host'],
                help='Share metadata keys that only administrators may set or delete.'),
    cfg.ListOpt('driver_updatable_subnet_metadata', default=[],
                help='Subnet metadata keys that mean something to drivers: when one changes, the backends of share servers '
                     'in the subnet are told. The same on all hosts.'),
    cfg.IntOpt('log_flood_burst', default=100, min=0,
               help='Lines that the log has of each thing that somebody without a login can cause (requests without a valid '
                    'token, malformed ones, connections given up), in each log_flood_interval. Then one line says how many '
                    'more there were. 0 writes them all.'),
    cfg.FloatOpt('log_flood_interval', default=60.0, min=1.0, help='Seconds for which log_flood_burst counts.'),
    cfg.ListOpt('admin_only_el_metadata', default=['preferred'],
                help='Export location metadata keys that only administrators may set or delete.'),
]

API = [
    cfg.FloatOpt('subnet_check_timeout', default=30.0, min=1.0, help='Seconds that the request for a subnet waits for the '
                 'backends whose share servers would be in it.'),
    cfg.FloatOpt('migration_check_timeout', default=30.0, min=1.0, help='Seconds that a request to migrate waits for the '
                 'backend that shall take it in.'),
    cfg.IntOpt('threads', default=8, min=1,
               help='Threads that answer requests in the built-in server. Behind another web server: as many as each of its '
                    'processes has, for one of them is kept free of requests that wait.'),
    cfg.IntOpt('waiters', min=1,
               help='Requests of one process that may wait for others at a time: for backends that are asked whether they can '
                    'do something, for Neutron and for the key manager. Further ones are refused (503, Retry-After). By '
                    'default half of the threads. Never more than all threads but one.'),
    cfg.IntOpt('waiters_per_project', min=1,
               help='How many of these may be of one project. By default half of them, so that no project keeps others from '
                    'waiting.'),
    cfg.IntOpt('max_request_body_size', default=114688, help='Largest request body in bytes.'),
    cfg.StrOpt('http_basic_auth_user_file', default='/etc/manila_lite/htpasswd',
               help='Password file (bcrypt) of auth_strategy http_basic.'),
    cfg.ListOpt('http_basic_accounts', default=[],
                help='Who the users of http_basic are, as user:project:role+role. A user that is not listed gets '
                     'no role, and so is refused everywhere.'),
    cfg.ListOpt('allowed_hosts', default=[],
                help='Names by which callers may reach the API: what may be in the header Host, without ports. Always allowed '
                     'are localhost, IP addresses, the name of the machine, and that in osapi_share_base_URL. Under '
                     'auth_strategy noauth all others are refused, since a web page could make its own name lead here; add '
                     'the names that you call it by. With a login they are only looked at if some are set here. "*": any.'),
    cfg.StrOpt('noauth_project', default='admin', help='Project of callers under noauth that name none in the URL.'),
    cfg.FloatOpt('idempotency_keep', default=24.0, min=0.0, mutable=True,
                 help='Hours that the answer to a request with an Idempotency-Key is kept, for those who send it again.'),
    cfg.FloatOpt('idempotency_claim', default=60.0, min=1.0, mutable=True,
                 help='Seconds after which a request with an Idempotency-Key may be sent again though the first was never '
                      'answered: its API process died. A request that takes longer is refused in the end.'),
    cfg.BoolOpt('response_validation', default=False,
                help='Check every answer against its schema and fail on a mismatch. For tests: it costs time.'),
]

#: Of the built-in server, in the group of each API.
CONNECTIONS = [
    cfg.IntOpt('max_connections', default=1000, min=8,
               help='Connections that one API process has at most; fewer where it may not have that many descriptors. When '
                    'there are so many, the oldest idle one of the address that has most gives way to a new one; a new one '
                    'for which none gives way, since requests of all others are worked on, gets 503. Raise it where many '
                    'clients keep connections open.'),
    cfg.IntOpt('max_connections_per_address', default=0, min=0,
               help='Connections that one client address (of IPv6: one /64 network) has at most in one API process; those over '
                    'it get 503. 0 is no limit, for behind a proxy all clients have the address of the proxy: set it where '
                    'clients connect themselves.'),
    cfg.FloatOpt('idle_timeout', default=30.0, min=1.0,
                 help='Seconds that a connection may be without a request. Raise it above that of a proxy in front that keeps '
                      'connections open.'),
    cfg.FloatOpt('header_timeout', default=10.0, min=1.0,
                 help='Seconds from the first byte of a request to the end of its headers, however they come; then it is '
                      'answered with 408. Raise it for clients on slow lines.'),
    cfg.FloatOpt('body_timeout', default=30.0, min=1.0,
                 help='Seconds that a body takes at most, however it comes; then the request is answered with 408. Raise it '
                      'for clients on slow lines.'),
    cfg.FloatOpt('answer_timeout', default=60.0, min=1.0,
                 help='Seconds in which a client must have taken an answer. Raise it for long lists and slow lines.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('DEFAULT', DEFAULT), ('api', [*API, *CONNECTIONS])]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)

