# SPDX-License-Identifier: Apache-2.0
"""One access rule means one client: for a table of odd rules, those who can mount are those who should."""

import dataclasses
import ipaddress

from manila_lite import values
from manila_lite.tests.functional.linux import base, cifs_base

#: Addresses and networks of which a server could think something special, as rules of an earlier release may have them.
ODD = (
    '0.0.0.0',
    '0.0.0.0/32',
    '0.0.0.0/255.255.255.255',
    '0.0.0.0/31',
    '0.0.0.0/0',
    '128.0.0.0/1',
    '255.255.255.255',
    '127.0.0.1',
    '10.99.0.11',
    '10.99.0.11/32',
    '10.99.0.12',
    '10.99.0.10/31',
    '::',
    '::/128',
    '::/127',
    '::/120',
    '::1',
    '::/0',
    '::/64',
    '::/96',
    '8000::/1',
    '::10.99.0.11',
    '::ffff:10.99.0.11',
    '::ffff:0:0/96',
    '::ffff:0:0/95',
    '64:ff9b::10.99.0.11',
    '2002:a63:b::1',
    'ff00::/8',
    'fd99::/120',
    'fd99::11',
    'fd99::11%eth0',
    '*',
    '@group',
    'ALL',
    'localhost',
    '*.example.org',
    '0',
    '0x0',
    '',
    '10.99.0.011',
    '10.99.0.11 0.0.0.0',
)
#: Names of users with a meaning to Samba, on the list of the operator's users.
WORDS = (
    'none',
    'everyone',
    'users',
    'network',
    'administrators',
    'guests',
    'nogroup',
    'system',
    'anonymous',
    '65534',
    'guest',
)


def means(to, address):
    """Say whether a rule for the first should admit the second."""
    try:
        network = ipaddress.ip_network(to, strict=False)
    except ValueError:
        return False
    return network.version == address.version and address in network


class Addresses(base.ShareTest):
    """The rules of an NFS share, and of a mountable snapshot, at a real NFS-Ganesha."""

    def mounts(self, share):
        """Return the addresses of the client that can mount the share."""
        return {
            one
            for one, v6 in ((self.fabric.v4('one'), False), (self.fabric.v6('one'), True))
            if self.nfs('one', share, 'list', v6=v6)[0]
        }

    def should(self, *rules):
        """Return the addresses of the client that the rules admit."""
        return {
            one
            for one in (self.fabric.v4('one'), self.fabric.v6('one'))
            if any(means(to, ipaddress.ip_address(one)) for to in rules)
        }

    def test_those_mount_whom_the_rule_means(self):
        for to in ODD:
            [refused] = self.grant(self.made, (to, 'rw'))
            self.assertEqual(self.should(*([] if refused else [to])), self.mounts(self.made), (to, refused))

    def test_odd_rule_does_not_win_over_the_rule_for_a_network(self):
        for to in ('0.0.0.0', '0.0.0.0/32', '::', '*', '0'):
            self.grant(self.made, (to, 'rw'), ('0.0.0.0/0', 'ro'))
            self.assertEqual({self.fabric.v4('one')}, self.mounts(self.made), to)
            self.refused('ROFS', 'one', self.made, 'write', 'f', to)

    def test_snapshots_are_for_those_whom_the_rule_means(self):
        snapshot = self.snapshot(self.made)
        past = dataclasses.replace(self.made, id=snapshot.id)
        for to in ('0.0.0.0', '0.0.0.0/32', '::'):
            served = self.driver.serve_snapshot(snapshot, [values.AccessRule('r', 'ip', to, 'ro')])
            self.assertIn('every client', served.rules['r'].error)
            self.assertEqual(set(), self.mounts(past))


class FromBefore(base.ShareTest):
    """Exports that an earlier release wrote for such a rule."""

    def widen(self, *names):
        """Have the running server admit everybody, as by a rule for 0.0.0.0, also after its restart."""
        exports = self.driver.parts.protocol_servers.of('NFS').server.exports
        for name in names:
            path = self.driver.parts.protocol_servers.of('NFS').mount_point(name)
            exports.put(name, path, ['  CLIENT { Clients = 0.0.0.0; Access_Type = RW; Protocols = 4; }\n'])

    def test_upgrade_closes_shares_and_snapshots(self):
        snapshot = self.snapshot(self.made)
        self.driver.serve_snapshot(snapshot, [])
        past = dataclasses.replace(self.made, id=snapshot.id)
        for restart in (False, True):
            self.widen(self.made.id, snapshot.id)
            for share in (self.made, past):
                self.works('two', share, 'list', v6=True)
            if restart:
                self.driver.parts.protocol_servers.of('NFS').stop()
            self.make().setup()  # the share manager of this release; nothing has been ensured yet
            for share in (self.made, past):
                self.refused('NOENT', 'two', share, 'list', v6=True)
                self.refused('NOENT', 'two', share, 'list')

    def test_ensuring_tells_the_owner(self):
        self.widen(self.made.id)
        rule = values.AccessRule('r', 'ip', '0.0.0.0', 'rw')
        result = self.driver.ensure_shares([values.EnsureTarget(self.made, (rule,))])[self.made.id]
        self.assertIn('0.0.0.0/0 for every client', result.rules['r'].error)
        self.refused('NOENT', 'two', self.made, 'list', v6=True)


@cifs_base.needs_samba
class Names(cifs_base.Plain):
    """The rules of a CIFS share: a name is that user, whatever it means to Samba elsewhere."""

    PROTO = 'CIFS'

    def test_those_connect_whom_the_rule_names(self):
        share = self.cifs()
        for name in WORDS:
            if name != 'none':  # the command refuses it
                self.know(name, name)
        self.users.write_text(
            self.users.read_text() + self.users.read_text().splitlines()[0].replace('alice', 'none') + '\n'
        )
        self.driver.report()
        for name in WORDS:
            [result] = self.driver.update_access(share, self.rules((name, 'rw'))).values()
            able = {user for user in (name, 'alice') if self.smb(share, user, 'ls')[0]}
            self.assertEqual({name} if result.error is None else set(), able, (name, result))
        for name in (
            '@users',
            '+users',
            '&users',
            '%U',
            'S-1-1-0',
            '*',
            'BUILTIN\\Users',
            'alice,bobby',
            'alice bobby',
            '',
        ):
            [result] = self.driver.update_access(share, self.rules((name, 'rw'))).values()
            self.assertIsNotNone(result.error, name)
            self.denied(share, 'alice', why='NT_STATUS_')
