# SPDX-License-Identifier: Apache-2.0
"""A share server as clients in the subnets of its share network see it: both address families, a new subnet, strangers."""

import dataclasses
import json
import sys
import threading
import traceback

from manila_lite import errors, values
from manila_lite.host.locks import Locks
from manila_lite.tests import nfs_client, waiting
from manila_lite.tests.functional.linux import base, server_base
from manila_lite.tests.linux_teardown import tear_down
from manila_lite.tests.nfs_writer import Writer

FOUR, SIX, MORE = (server_base.address(subnet, 5) for subnet in ('four', 'six', 'more'))


def _waits_in(thread, name):
    """Say whether a thread waits for a lock in a function of that name."""
    frame = sys._current_frames().get(thread.ident)
    names = [below.f_code.co_name for below, _ in traceback.walk_stack(frame)] if frame else []
    return names[:1] == [Locks.of.__name__] and name in names


class Families(server_base.ServerTest):
    def test_file_written_over_ipv4_is_read_over_ipv6(self):
        share = self.share()
        self.assertEqual(
            [(f'{FOUR}:/shares/{share.id}', True), (f'[{SIX}]:/shares/{share.id}', False)],
            [(location.path, location.preferred) for location in self.locations],
        )
        self.assertEqual(
            [None, None], self.grant(share, (server_base.address('four', 101), 'rw'), ('fd66:2::/64', 'ro'))
        )
        self.works('one4', FOUR, share, 'write', 'f', 'hello')
        self.assertEqual('hello', self.works('one6', SIX, share, 'read', 'f'))
        self.refused('ROFS', 'one6', SIX, share, 'write', 'f', 'no')

    def test_clients_without_an_access_rule_are_refused_in_each_subnet(self):
        share = self.share()
        self.grant(share, (server_base.address('four', 101), 'rw'), (server_base.address('six', 101), 'rw'))
        self.works('one4', FOUR, share, 'write', 'f', 'hello')
        self.works('one6', SIX, share, 'write', 'f', 'hello')
        self.refused('NOENT', 'two4', FOUR, share, 'read', 'f')
        self.refused('NOENT', 'two6', SIX, share, 'read', 'f')

    def test_unsupported_access_rule_fails_and_the_others_apply(self):
        share = self.share()
        errors = self.grant(
            share, ('fd66:2::/112', 'rw'), (server_base.address('six', 102), 'rw'), ('10.66.1.0/24', 'ro')
        )
        self.assertIn('/100', errors[0])
        self.assertEqual([None, None], errors[1:])
        self.refused('NOENT', 'one6', SIX, share, 'list')
        self.works('two6', SIX, share, 'write', 'f', 'mine')
        self.assertEqual('mine', self.works('one4', FOUR, share, 'read', 'f'))

    def test_two_tenants_with_the_same_addresses_are_isolated(self):
        mine, twin = self.share(), self.machine.server('twin')
        self.addCleanup(self.driver.teardown_server, twin)
        self.driver.setup_server(twin)
        self.machine.client('stranger', 'twin', 101)
        self.addCleanup(self.machine.unplug, 'stranger')
        theirs = self.share(twin)
        for share in (mine, theirs):
            self.grant(share, ('10.66.1.0/24', 'rw'))
        self.works('one4', FOUR, mine, 'write', 'f', 'mine')
        self.works('stranger', FOUR, theirs, 'write', 'f', 'theirs')
        self.assertEqual('mine', self.works('one4', FOUR, mine, 'read', 'f'))
        self.refused('NOENT', 'one4', FOUR, theirs, 'list')
        self.refused('NOENT', 'stranger', FOUR, mine, 'list')

    def test_killed_nfs_server_serves_again_after_a_report(self):
        share = self.share()
        self.grant(share, (server_base.address('four', 101), 'rw'))
        base.kill(self.driver.parts.share_servers.protocol_server(self.server.id).server._server)
        self.driver.report()
        self.works('one4', FOUR, share, 'write', 'f', 'hello')

    def test_share_deleted_while_its_server_starts_is_not_served_by_it(self):
        share, kept = self.share(), self.share()
        for one in (share, kept):
            self.grant(one, (server_base.address('four', 101), 'rw'))
        servers = self.driver.parts.share_servers
        with servers._lock(self.server.id):
            begun = servers._running.pop(self.server.id)
            deletion = threading.Thread(target=self.driver.delete_share, args=(share,))
            deletion.start()
            waiting.until(lambda: _waits_in(deletion, 'forget'), 'the deletion waits for the start')
            servers._running[self.server.id] = begun
        deletion.join()
        exports = begun.of('NFS').server.exports
        seen = {path.rpartition('/')[2] for path in exports._manager.shown().values()}
        self.assertIn(kept.id, seen)
        self.assertNotIn(share.id, seen)

    def test_shares_are_served_again_after_a_reboot(self):
        share = self.share()
        rules = (values.AccessRule('r', 'ip', server_base.address('six', 101), 'rw'),)
        self.driver.update_access(share, rules)
        self.works('one6', SIX, share, 'write', 'f', 'before')
        tear_down(self.driver)
        self.assertFalse([name for name in self.machine.traces() if name.startswith('manila-')])
        type(self).driver = self.machine.driver()
        self.driver.setup()
        # Work that begins before its server was ensured is done later; a server that was never here is another matter.
        self.assertRaises(errors.Again, self.driver.update_access, share, rules)
        elsewhere = dataclasses.replace(share, server=dataclasses.replace(self.server, id='elsewhere'))
        self.assertRaises(errors.Final, self.driver.update_access, elsewhere, rules)
        self.assertIsNone(self.driver.ensure_servers([self.server])[self.server.id].error)
        self.assertIsNone(self.driver.ensure_shares([values.EnsureTarget(share, rules)])[share.id].error)
        self.assertEqual('before', self.works('one6', SIX, share, 'read', 'f'))
        self.refused('NOENT', 'two6', SIX, share, 'list')


class Growth(server_base.ServerTest):
    def test_added_subnet_is_served_without_interrupting_a_writing_client(self):
        share = self.share()
        new = server_base.network('more', 5)
        self.grant(share, (server_base.address('four', 101), 'rw'), ('10.66.3.101', 'ro'))
        writer = Writer(nfs_client.Session(FOUR, f'/shares/{share.id}', netns=self.machine.space('one4')))
        self.addCleanup(writer.end)
        writer.goes_on()
        self.assertIsNone(self.driver.check_update_share_server_network_allocations(self.server, new, [], []))
        update = self.driver.update_share_server_network_allocations(self.server, new, [share], [])
        writer.goes_on()
        self.assertEqual(
            [f'{FOUR}:/shares/{share.id}', f'{MORE}:/shares/{share.id}', f'[{SIX}]:/shares/{share.id}'],
            [location.path for location in update.export_locations[share.id]],
        )
        self.machine.client('one-more', 'more', 101)
        self.machine.client('two-more', 'more', 102)
        self.assertEqual('file0', self.works('one-more', MORE, share, 'read', 'file0'))
        self.refused('ROFS', 'one-more', MORE, share, 'write', 'f', 'no')
        self.refused('NOENT', 'two-more', MORE, share, 'list')
        writer.goes_on()
        self.assertEqual([], writer.end())
        self.assertEqual(sorted(writer.written), self.works('one-more', MORE, share, 'list').split())
        self._through_a_router(share)

    def _through_a_router(self, share):
        """Check that answers leave through the subnet of the request; a router drops others."""
        router = self.machine.space('router')
        base.command(
            'nsenter',
            f'--net=/run/netns/{router}',
            'sysctl',
            '--quiet',
            '--write',
            'net.ipv4.ip_forward=1',
            'net.ipv4.conf.all.rp_filter=1',
            'net.ipv4.conf.default.rp_filter=1',
        )
        for subnet in ('four', 'more'):
            self.machine.client('router', subnet, 1)
        base.ip('-n', self.machine.fabric, 'link', 'add', 'outside', 'type', 'bridge')
        base.ip('-n', self.machine.fabric, 'link', 'set', 'outside', 'up')
        self.machine.plug('router', 'outside', '10.88.0.1/24')
        self.machine.plug('far', 'outside', '10.88.0.9/24')
        base.ip('-n', self.machine.space('far'), 'route', 'add', 'default', 'via', '10.88.0.1')
        self.grant(share, ('10.88.0.0/24', 'rw'))
        for place in (FOUR, MORE):
            self.works('far', place, share, 'write', 'far', place)
            self.assertEqual(place, self.works('far', place, share, 'read', 'far'))


class Limited(server_base.ServerTest):
    """QoS: each share has a share server of its own, limited to the rate of its QoS type."""

    OPTIONS = 'max_shares_per_share_server = 1\n'

    def rates(self):
        """Return the bytes per second that the kernel allows, for both ends of each interface of the server."""
        spaces = (f'manila-{self.server.id}', self.machine.fabric)
        found = [
            entry
            for space in spaces
            for entry in json.loads(base.command('tc', '-n', space, '-json', 'qdisc', 'show'))
        ]
        return [entry['options']['rate'] for entry in found if entry['kind'] == 'tbf']

    def promised(self, share, **qos):
        """Return the share with another QoS."""
        return dataclasses.replace(share, qos=qos)

    def test_share_server_rate_follows_the_qos_of_its_share(self):
        self.assertIs(True, self.driver.report()[0].capabilities['qos'])
        share = self.share(qos={'maxbps': '4000000', 'maxbpspergib': '3000000'})
        self.assertEqual([3000000] * 4, self.rates())
        self.grant(share, (server_base.address('four', 101), 'rw'))
        self.works('one4', FOUR, share, 'write', 'f', 'slow')
        target = values.EnsureTarget(self.promised(share, maxbps='5000000'))
        self.assertEqual(('It could transfer more, or less, than it may.',), self.changes(target))
        self.assertEqual([5000000] * 4, self.rates())
        self.assertEqual((), self.changes(target))
        self.changes(values.EnsureTarget(self.promised(share)))
        self.assertEqual([], self.rates())

    def test_share_without_qos_keeps_the_limit_of_its_neighbour(self):
        """Check that a share without a limit, such as a managed one or one of a group, keeps a neighbour's limit."""
        first = self.share(qos={'maxbps': '4000000'})
        beside = self.share()
        self.assertEqual([4000000] * 4, self.rates())
        self.changes(values.EnsureTarget(beside))
        self.assertEqual([4000000] * 4, self.rates())
        refused = self.assertRaises(errors.Final, self.share, qos={'maxbps': '9000000'})
        self.assertIn('alone', str(refused))
        self.assertEqual([4000000] * 4, self.rates())
        self.assertEqual((), self.changes(values.EnsureTarget(first)))
        self.driver.delete_share(first)
        self.changes(values.EnsureTarget(beside))
        self.assertEqual([], self.rates())

    def changes(self, target):
        """Return the repairs of the share's limit."""
        found = self.driver.ensure_shares([target])[target.share.id]
        self.assertIsNone(found.error)
        return tuple(word for word in found.repaired if 'transfer' in word)

    def test_unsupported_and_invalid_qos_specs_are_refused(self):
        for qos in ({'peak_iops': '100'}, {'maxbps': 'much'}, {'maxbps': '1'}):
            self.assertRaises(errors.Final, self.share, qos=qos)
        self.assertEqual([], self.rates())
