# SPDX-License-Identifier: Apache-2.0
"""Shares on a Ceph cluster as their owner has them: export locations, access rules, and the clients of both protocols."""

import json

from manila_lite.tests.nfs_client import call
from scenarios import native
from scenarios.nfs import split
from scenarios.service import Trouble
from scenarios.settings import V4

#: A share for native clients, one for NFS clients, and one made of a snapshot of the first.
DOCS, HOME, COPY = 'docs', 'home', 'copy'


class CephShares:
    """The shares, their paths and their access rules, by the name of the share."""

    def __init__(self, demo, cluster):
        self._demo = demo
        self.clients = native.Clients(demo, cluster)
        demo.beside.append(self.clients)
        self.ids, self.paths, self._rules = {}, {}, {}

    def add(self, name, share_id):
        """Note a new share, and show its export locations."""
        self.ids[name] = share_id
        locations = self._demo.api('GET', f'/shares/{share_id}/export_locations')[1]['export_locations']
        self.paths[name] = next(one['path'] for one in locations if one['preferred'])
        self._demo.say(f'{name} is exported as {", ".join(one["path"] for one in locations)}')

    def grant(self, name, kind, to, level='rw'):
        """Add an access rule, and wait until it is in force; return it, with the key of a native client."""
        demo = self._demo
        rule = demo.ask(
            'POST',
            f'/shares/{self.ids[name]}/action',
            {'allow_access': {'access_type': kind, 'access_to': to, 'access_level': level}},
        )['id']
        self._rules[name, to] = rule

        def there():
            found = demo.api('GET', f'/share-access-rules/{rule}')[1]['access']
            if found['state'] == 'error':
                raise Trouble(f'the rule for {to} is in error:\n{demo.logs()}')
            return found['state'] == 'active' and found

        return demo.wait(f'the rule for {to} is in force', there)

    def deny(self, name, to):
        """Ask for the end of an access rule."""
        path, body = (
            f'/shares/{self.ids[name]}/action',
            {'deny_access': {'access_id': self._rules.pop((name, to))}},
        )
        self._demo.say(f'$ POST /v2{path} {json.dumps(body)}')
        status, document = self._demo.api('POST', path, body)
        if status >= 400:
            raise Trouble(f'the rule for {to}: {status} {document}')

    def mount(self, name, ident, level='rw'):
        """Grant access to a native client, and mount the share as that; return the client."""
        rule = self.grant(name, 'cephx', ident, level)
        return self.clients.mount(ident, rule['access_key'], f'/{self.paths[name].partition(":/")[2]}')

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
