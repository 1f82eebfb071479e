# SPDX-License-Identifier: Apache-2.0
"""How many requests a second are taken from one address and from one project. Off by default."""

from oslo_config import cfg

RATE_LIMITS = [
    cfg.FloatOpt('address_rate', default=0.0, min=0.0, mutable=True,
                 help='Requests a second from one address, before anybody asks who calls; 0 for no limit. Set it where '
                      'strangers reach the API: they could have Keystone or bcrypt work for them all the time. Leave room for '
                      'those whose users share an address, or list them in address_exempt.'),
    cfg.IntOpt('address_burst', default=100, min=1, mutable=True,
               help='Requests that an address that was quiet may send at once.'),
    cfg.ListOpt('address_exempt', default=[],
                help='Networks without a limit, such as those of dashboards: 192.0.2.7, 2001:db8::/48.'),
    cfg.FloatOpt('project_rate', default=0.0, min=0.0, mutable=True,
                 help='Requests a second of one project; 0 for no limit. Set it where one project must not use up what the API '
                      'can do.'),
    cfg.IntOpt('project_burst', default=200, min=1, mutable=True,
               help='Requests that a project that was quiet may send at once.'),
    cfg.ListOpt('project_exempt', default=[],
                help='Ids of projects without a limit, such as that of the users of other services.'),
    cfg.ListOpt('trusted_proxies', default=[],
                help='Networks of the proxies in front, or "unix" where they come over a local socket. The address of a '
                     'request that one of them sends is the last one in X-Forwarded-For that is none of theirs. Without it all '
                     'clients behind a proxy are one address. List nobody who passes on what clients write there.'),
    cfg.IntOpt('ipv6_prefix', default=64, min=16, max=128,
               help='Bits of an IPv6 address that tell one from another: who has one has all of its network.'),
    cfg.IntOpt('most_buckets', default=50000, min=1000,
               help='Addresses and projects that one process remembers, at some 200 bytes each. When there are more, those '
                    'that called longest ago are forgotten, and begin with a full burst again.'),
    cfg.ListOpt('memcached_servers', default=[],
                help='host:port of the memcached servers by which all processes of all hosts count together; it needs '
                     'pymemcache, and clocks that agree to within a second. By default those of [keystone_authtoken], and '
                     'without them each process counts for itself.'),
    cfg.FloatOpt('memcached_timeout', default=0.25, min=0.01,
                 help='Seconds after which a memcached that says nothing counts as away. Each process then counts for itself, '
                      'and asks it again after ten seconds.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('rate_limits', RATE_LIMITS)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
