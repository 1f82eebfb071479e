# SPDX-License-Identifier: Apache-2.0
"""Limits of requests a second from one address and from one project, off by default; and of failed logins, on by default."""

from oslo_config import cfg

from manila_lite.conf import numeric

OPTIONS = {
    'rate_limits': [
        numeric.Float(
            'address_rate',
            default=0.0,
            min=0.0,
            mutable=True,
            help='Maximum number of requests a second from one address, counted before the authentication. 0: no limit. '
            'Set it where strangers reach the API, since each of their requests costs work of Keystone or bcrypt. '
            'Allow for addresses that many users share, or list them in address_exempt.',
        ),
        numeric.Int(
            'address_burst',
            default=100,
            min=1,
            mutable=True,
            help='Number of requests that an address may send at once after a pause.',
        ),
        cfg.ListOpt(
            'address_exempt',
            default=[],
            help='Networks without a limit, such as those of dashboards: 192.0.2.7, 2001:db8::/48.',
        ),
        numeric.Float(
            'project_rate',
            default=0.0,
            min=0.0,
            mutable=True,
            help='Maximum number of requests a second of one project. 0: no limit. Set it where one project must not use '
            'the whole capacity of the API.',
        ),
        numeric.Int(
            'project_burst',
            default=200,
            min=1,
            mutable=True,
            help='Number of requests that a project may send at once after a pause.',
        ),
        cfg.ListOpt(
            'project_exempt',
            default=[],
            help='Ids of projects without a limit, such as the project of other services.',
        ),
        numeric.Float(
            'failed_login_rate',
            default=0.1,
            min=0.0,
            mutable=True,
            help='Number of logins a second that may fail from one address: with a password of http_basic, or in the '
            'console. Above it, further passwords of the address are refused unchecked (429), but for those that '
            'were right before. Raise it for addresses that many users share, or list them in address_exempt. 0: '
            'no limit.',
        ),
        numeric.Int(
            'failed_login_burst',
            default=10,
            min=1,
            mutable=True,
            help='Number of logins of an address that may fail at once after a pause.',
        ),
        numeric.Int(
            'ipv6_prefix',
            default=64,
            min=16,
            max=128,
            help='Number of leading bits of an IPv6 address that identify a client, since a client with one address has '
            'all addresses of its network.',
        ),
        numeric.Int(
            'most_buckets',
            default=50000,
            min=1000,
            help='Maximum number of addresses and projects that one process remembers, at some 200 bytes each. Beyond it, '
            'those with the oldest requests are forgotten, and begin with a full burst again.',
        ),
        cfg.ListOpt(
            'memcached_servers',
            default=[],
            help='Memcached servers (host:port) with common counters for all processes of all hosts. Needs pymemcache, '
            'and clocks that differ by less than a second. Default: those of [keystone_authtoken]. Without any, each '
            'process counts for itself.',
        ),
        numeric.Float(
            'memcached_timeout',
            default=0.25,
            min=0.01,
            max=numeric.WEEK,
            help='Seconds after which a silent memcached server counts as unreachable. Each process then counts for '
            'itself, and asks the server again after ten seconds.',
        ),
    ]
}
