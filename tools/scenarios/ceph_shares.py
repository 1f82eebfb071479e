# SPDX-License-Identifier: Apache-2.0
"""Shares on a Ceph cluster as their owner has them: export locations, access rules, and the clients of both protocols."""

from manila_lite.tests.nfs_client import call
from scenarios.clients import split
from scenarios.native import Client
from scenarios.settings import V4

#: A share for native clients, one for NFS clients, and one made of a snapshot of the first.
DOCS, HOME, COPY = 'docs', 'home', 'copy'


class CephShares:
    """The shares, their paths and their access rules, by the name of the share."""

    def __init__(self, demo, cluster):
        self._demo = demo
        self._cluster = cluster
        self.ids, self.paths, self._rules = {}, {}, {}

    def add(self, name, share_id):
        """Note a new share, and show its export locations."""
        self.ids[name] = share_id
        paths = self._demo.paths(share_id)
        self.paths[name] = paths[0]
        self._demo.say(f'{name} is exported as {", ".join(paths)}')

    def grant(self, name, to, kind='ip', level='rw'):
        """Add an access rule, and wait until it is in force; return it."""
        self._rules[name, to] = rule = self._demo.grant(self.ids[name], to, kind, level)
        return rule

    def deny(self, name, to):
        """Ask for the end of an access rule."""
        body = {'deny_access': {'access_id': self._rules.pop((name, to))['id']}}
        self._demo.ask('POST', f'/shares/{self.ids[name]}/action', body)

    def mount(self, name, ident, level='rw'):
        """Grant access to a native client, and mount the share as that; return the client."""
        rule = self.grant(name, ident, 'cephx', level)
        path = f'/{self.paths[name].partition(":/")[2]}'
        return Client(self._demo, self._cluster, ident, rule['access_key'], path)

    @property
    def remote(self):
        """The path that NFS clients mount."""
        return split(self.paths[HOME])[1]

    def nfs(self, *words, address=V4):
        """Run one action of an NFS client; return (worked, output)."""
        return call(address, self.remote, *words)

    def subvolume(self, name):
        """Return the name of the share in the cluster."""
        place = self.paths[name].partition(':/')[2].split('/')
        return place[1] if name == HOME else place[2]
