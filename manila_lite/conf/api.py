# SPDX-License-Identifier: Apache-2.0
"""Options of the API process: addresses, login, and limits of requests and answers."""

from oslo_config import cfg, types

from manila_lite.conf import numeric

#: The protocols of shares.
PROTOCOLS = ('NFS', 'CIFS', 'CEPHFS', 'GLUSTERFS', 'HDFS', 'MAPRFS')

DEFAULT = [
    cfg.StrOpt(
        'auth_strategy',
        default='keystone',
        help='Authentication of callers: "keystone", "http_basic" (a password file) or "noauth" (every caller is an '
        'administrator). The service does not start with another value.',
    ),
    cfg.IPOpt(
        'osapi_share_listen',
        default='127.0.0.1',
        help='Address on which the built-in server listens. By default only this machine reaches it. With :: it listens '
        'on all addresses, IPv4 included.',
    ),
    cfg.PortOpt('osapi_share_listen_port', default=8786, help='Port on which the built-in server listens.'),
    numeric.Int(
        'osapi_share_workers',
        default=1,
        min=1,
        max=numeric.THREADS,
        help='Number of processes of manila-api.',
    ),
    numeric.Int(
        'osapi_max_limit',
        default=1000,
        min=1,
        mutable=True,
        help='Maximum number of items on one page of a list.',
    ),
    cfg.StrOpt(
        'osapi_share_base_URL',
        help='Base URL of the links in answers. Set it where a proxy in front does not send X-Forwarded headers.',
    ),
    cfg.StrOpt(
        'default_share_type', mutable=True, help='Name of the share type of requests without a share type.'
    ),
    cfg.StrOpt(
        'default_share_group_type',
        mutable=True,
        help='Name of the share group type of requests for a share group without such a type.',
    ),
    cfg.ListOpt(
        'enabled_share_protocols',
        default=['NFS', 'CIFS'],
        item_type=types.String(choices=PROTOCOLS, ignore_case=True),
        help='Protocols that a request for a share may name.',
    ),
    cfg.StrOpt(
        'storage_availability_zone',
        default='nova',
        help='Availability zone of the services of this host. backend_availability_zone overrides it for a backend.',
    ),
    cfg.ListOpt(
        'admin_only_metadata',
        default=['__affinity_same_host', '__affinity_different_host'],
        help='Keys of share metadata that only administrators may set or delete.',
    ),
    cfg.ListOpt(
        'driver_updatable_subnet_metadata',
        default=[],
        help='Keys of subnet metadata for drivers. When the value of such a key changes, the backends of the share '
        'servers in the subnet get it. Set the same keys on all hosts.',
    ),
    numeric.Int(
        'log_flood_burst',
        default=100,
        min=0,
        help='Maximum number of log lines for each cause in each log_flood_interval. It applies to causes that need no '
        'login: requests without a valid token, malformed requests, aborted connections. One more line gives the '
        'number of lines left out. 0: no limit.',
    ),
    numeric.Float(
        'log_flood_interval',
        default=60.0,
        min=1.0,
        help='Length in seconds of the interval for log_flood_burst.',
    ),
    cfg.ListOpt(
        'admin_only_el_metadata',
        default=['preferred'],
        help='Keys of export location metadata that only administrators may set or delete.',
    ),
]

API = [
    numeric.Float(
        'subnet_check_timeout',
        default=30.0,
        min=1.0,
        max=numeric.WEEK,
        help='Seconds for which a request to add a subnet waits for the backends of the share servers in it.',
    ),
    numeric.Float(
        'migration_check_timeout',
        default=30.0,
        min=1.0,
        max=numeric.WEEK,
        help='Seconds for which a migration request waits for the target backend.',
    ),
    numeric.Int(
        'threads',
        default=8,
        min=1,
        max=numeric.THREADS,
        help='Number of threads that answer requests in each process of the built-in server. Behind another web '
        'server, set it to the number of threads of each of its processes. One of them is kept free of requests '
        'that wait.',
    ),
    numeric.Int(
        'waiters',
        min=1,
        max=numeric.THREADS,
        help='Maximum number of requests of one process that wait at the same time: for checks of backends, for '
        'Neutron and for the key manager. Further requests are refused (503, Retry-After). Default: half of the '
        'threads. Limit: all threads but one.',
    ),
    numeric.Int(
        'waiters_per_project',
        min=1,
        max=numeric.THREADS,
        help='Maximum number of requests of one project that wait at the same time in one process. Default: half of '
        'waiters, so that other projects can wait, too.',
    ),
    numeric.Int(
        'max_request_body_size', default=114688, min=0, help='Maximum size of a request body in bytes.'
    ),
    numeric.Float(
        'token_memory_time',
        default=5.0,
        min=0.0,
        help='Seconds for which each process remembers a valid Keystone token, beside the cache of '
        'keystonemiddleware: that makes requests much cheaper. A token may be accepted that much longer after '
        'it was revoked. It is never more than [keystone_authtoken] token_cache_time. 0: every request asks '
        'the cache of keystonemiddleware.',
    ),
    numeric.Int(
        'token_memory_size',
        default=1000,
        min=1,
        help='Maximum number of Keystone tokens that each process remembers; the oldest one makes room for the next. '
        'Raise it where more users call within token_memory_time. Each takes about 3 KiB.',
    ),
    cfg.StrOpt(
        'http_basic_auth_user_file',
        default='/etc/manila_lite/htpasswd',
        help='Password file (bcrypt) for auth_strategy http_basic.',
    ),
    cfg.ListOpt(
        'http_basic_accounts',
        default=[],
        help='Accounts of the users of http_basic, each as user:project:role+role. A user without an entry has no '
        'role, and all of its requests are refused.',
    ),
    cfg.ListOpt(
        'allowed_hosts',
        default=[],
        help='Host names that the header Host of a request may have, without ports. localhost, IP addresses, the name '
        'of the machine and the host of osapi_share_base_URL are always allowed. With auth_strategy noauth all '
        'other names are refused, since the name of a hostile web page could lead to this address: add the names '
        'that callers use. With any other auth_strategy the header is checked only if this list is not empty. '
        '"*" allows all names.',
    ),
    cfg.ListOpt(
        'trusted_proxies',
        default=['127.0.0.1', '::1', 'unix'],
        deprecated_group='rate_limits',
        help='Networks of the proxies in front of the APIs, or "unix" for proxies on a local socket. The headers '
        'X-Forwarded-* and Forwarded count only from them: for the links in answers, and for the address of the '
        'client, which is the last one in X-Forwarded-For that is not in this list. Add the addresses of proxies '
        'on other machines. Do not list a proxy that passes on these headers of clients.',
    ),
    cfg.BoolOpt(
        'allow_remote_noauth',
        default=False,
        help='With auth_strategy noauth, listen also on addresses that other machines may reach: each of their '
        'users is an administrator. Without it the APIs do not start there.',
    ),
    cfg.StrOpt(
        'noauth_project',
        default='admin',
        help='Project of callers whose URL has no project, with auth_strategy noauth.',
    ),
    numeric.Float(
        'idempotency_keep',
        default=24.0,
        min=0.0,
        max=numeric.DECADE_IN_HOURS,
        mutable=True,
        help='Hours for which the answer to a request with an Idempotency-Key is kept. A repeated request gets this '
        'answer.',
    ),
    numeric.Float(
        'idempotency_claim',
        default=60.0,
        min=1.0,
        mutable=True,
        help='Seconds after which a request with an Idempotency-Key can be repeated if the first had no answer '
        'because its API process ended. A first request that takes longer is refused at its end.',
    ),
    numeric.Float(
        'slow_request',
        default=1.0,
        min=0.0,
        max=numeric.WEEK,
        help='Seconds from which on a request is slow. Slow requests and errors of the service (5xx) of the '
        'last hour '
        'are in the console, in "manila-manage top" and at GET /v2/request-notes. Raise it if there are so many '
        'slow requests that those to look at are lost among them. 0: only errors.',
    ),
    cfg.BoolOpt(
        'response_validation',
        default=False,
        help='Check every answer against its schema, and fail if it does not match. For tests only: it makes answers '
        'slower.',
    ),
]

#: Options of the built-in server, in the group of each API.
CONNECTIONS = [
    numeric.Int(
        'max_connections',
        default=1000,
        min=8,
        help='Maximum number of open connections of one API process. The limit for file descriptors may lower it. At '
        'the maximum, a new connection replaces the oldest idle connection of the address with the most '
        'connections. If the service works on requests of all others, the new connection gets 503. Raise it where '
        'many clients keep connections open.',
    ),
    numeric.Int(
        'max_connections_per_address',
        default=0,
        min=0,
        help='Maximum number of connections of one client address (IPv6: one /64 network) to one API process. Further '
        'connections get 503. 0: no limit. Set it where clients connect without a proxy: behind one, all clients '
        'have the address of the proxy.',
    ),
    numeric.Float(
        'idle_timeout',
        default=30.0,
        min=1.0,
        max=numeric.WEEK,
        help='Seconds after which a connection without a request is closed. Set it higher than the idle time of a '
        'proxy that keeps connections open.',
    ),
    numeric.Float(
        'header_timeout',
        default=10.0,
        min=1.0,
        max=numeric.WEEK,
        help='Seconds from the first byte of a request to the end of its headers. A slower request gets 408. Raise '
        'it for clients with slow connections.',
    ),
    numeric.Float(
        'body_timeout',
        default=30.0,
        min=1.0,
        max=numeric.WEEK,
        help='Seconds for the whole request body. A slower request gets 408. Raise it for clients with slow '
        'connections.',
    ),
    numeric.Float(
        'answer_timeout',
        default=60.0,
        min=1.0,
        max=numeric.WEEK,
        help='Seconds within which a client must receive the whole answer. Raise it for long lists and slow '
        'connections.',
    ),
]

OPTIONS = {'DEFAULT': DEFAULT, 'api': [*API, *CONNECTIONS]}
