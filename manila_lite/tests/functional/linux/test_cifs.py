# SPDX-License-Identifier: Apache-2.0
"""CIFS shares: permissions of a real client at a real smbd."""

import dataclasses
from pathlib import Path

from oslo_utils import units

from manila_lite import errors, values
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.protocols import user_list
from manila_lite.tests import process, smb_client
from manila_lite.tests.functional.linux import api_base, base, cifs_base, server_base
from manila_lite.tests.functional.linux.cifs_base import Cifs, needs_samba, processes

FOUR, SIX, MORE = (server_base.address(subnet, 5) for subnet in ('four', 'six', 'more'))


@needs_samba
class Plain(cifs_base.Plain):
    """A backend without share servers."""

    @property
    def samba(self):
        """The CIFS server of the backend."""
        return self.driver.parts.protocol_servers.of('CIFS').server

    def test_users_have_exactly_the_access_of_their_rules(self):
        share = self.cifs()
        v4, v6 = self.fabric.v4('nas'), self.fabric.v6('nas')
        self.assertEqual(
            [(rf'\\{v4}\{share.id}', True), (rf'\\{v6}\{share.id}', False)],
            [(location.path, location.preferred) for location in share.export_locations],
        )
        self.denied(share, 'alice', why='NT_STATUS_BAD_NETWORK_NAME')
        self.allow(share, ('alice', 'rw'), ('Bobby', 'ro'))
        self.writes(share, 'alice', text='over IPv4')
        self.reads(share, 'bobby', text='over IPv4', at=1)
        self.assertEqual('over IPv4', (self.driver.parts.pool.share(share.id) / 'f').read_text())
        self.denied(share, 'bobby', 'put local g', text='no')
        self.denied(share, 'bobby', 'rm f')
        self.denied(share, 'carol')
        self.denied(share, 'alice', why='NT_STATUS_LOGON_FAILURE', password='other')
        self.denied(share, 'nobody', why='NT_STATUS_LOGON_FAILURE')
        self.denied(share, '', why='tree connect failed')
        self.assertEqual(['f'], [place.name for place in self.driver.parts.pool.share(share.id).iterdir()])

    def test_symbolic_links_cannot_be_followed(self):
        """Check that links cannot be used; CIFS users cannot make links, but a share may contain links of another origin."""
        share, other = self.cifs(), self.cifs()
        self.allow(share, ('alice', 'rw'))
        place, theirs = (self.driver.parts.pool.share(one.id) for one in (share, other))
        (theirs / 'secret').write_text('secret')
        (place / 'host').symlink_to('/etc/passwd')
        (place / 'theirs').symlink_to(theirs)
        (place / 'up').symlink_to('../..')
        for command in (
            'get host there',
            'put local host',
            'get theirs\\secret there',
            'ls theirs\\*',
            'ls up\\*',
            'get ..\\..\\ganesha.conf there',
            'put local theirs\\new',
            'rm theirs\\secret',
        ):
            worked, said = self.smb(share, 'alice', command, text='x')
            self.assertFalse(worked, f'{command}: {said}')
        self.assertEqual(['secret'], [file.name for file in theirs.iterdir()])

    def test_unsupported_access_rules_fail_and_the_good_rule_applies(self):
        share = self.cifs()
        given = [
            values.AccessRule('address', 'ip', self.fabric.v4('one'), 'rw'),
            values.AccessRule('who', 'user', 'dave', 'rw'),
            values.AccessRule('good', 'user', 'alice', 'rw'),
        ]
        results = self.driver.update_access(share, given)
        self.assertIn('type user only', results['address'].error)
        self.assertIsNone(results['who'].error)  # he is unknown, and that is no business of the caller
        self.assertIsNone(results['good'].error)
        self.writes(share, 'alice')
        self.denied(share, 'carol')

    def test_quota_is_enforced_over_cifs_and_an_nfs_share_is_served_too(self):
        share, other = self.cifs(), self.share()
        self.allow(share, ('alice', 'rw'))
        self.grant(other, (self.fabric.v4('one'), 'rw'))
        self.works('one', other, 'write', 'f', 'nfs')
        btrfs.limit(self.driver.parts.pool.root, self.driver.parts.pool.share(share.id), 8 << 20)
        worked, said = self.smb(share, 'alice', 'put local big', text=b'x' * (12 << 20))
        self.assertFalse(worked, said)
        self.assertGreater(8 << 20, (self.driver.parts.pool.share(share.id) / 'big').stat().st_blocks * 512)
        self.assertTrue(self.smb(share, 'alice', 'rm big')[0])
        self.writes(share, 'alice')
        self.assertEqual('nfs', self.works('one', other, 'read', 'f'))

    def test_open_sessions_follow_changed_access_rules(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'), ('bobby', 'rw'), ('carol', 'rw'))
        clients = {user: self.session(share, user) for user in ('alice', 'bobby', 'carol')}
        for user, client in clients.items():
            self.assertTrue(client.call(f'put local {user}', 'before')[0])
        self.allow(share, ('bobby', 'ro'), ('carol', 'rw'))
        for user in ('alice', 'bobby'):
            worked, said = clients[user].call(f'put local {user}2', 'after')
            self.assertFalse(worked, said)
        worked, said = clients['carol'].call('put local carol2', 'after')
        self.assertTrue(worked, said)
        self.reads(share, 'bobby', 'alice', 'before')
        self.denied(share, 'alice')
        self.allow(share)
        worked, said = clients['carol'].call('put local carol3', 'after')
        self.assertFalse(worked, said)
        self.assertEqual(
            ['alice', 'bobby', 'carol', 'carol2'],
            sorted(place.name for place in self.driver.parts.pool.share(share.id).iterdir()),
        )

    def test_sessions_that_a_killed_manager_left_are_closed_with_the_next_change(self):
        denied, withdrawn, other = (self._allowed() for _ in range(3))
        clients = [self.session(share, 'alice') for share in (denied, withdrawn, other)]
        file = self.state / 'state' / 'cifs' / 'exports.d' / f'{denied.id}.conf'
        file.write_text(file.read_text().replace('alice', 'root'))
        self.samba.exports.suspend(withdrawn.id)
        self.allow(other, ('alice', 'rw'), ('bobby', 'ro'))
        self.assertEqual([False, False, True], [client.call('ls')[0] for client in clients])
        self.allow(denied, ('alice', 'rw'))
        client = self.session(denied, 'alice')
        file.write_text(file.read_text().replace('alice', 'root'))
        self.samba.exports.write()  # the manager was killed before it had smbd read this
        self.allow(other, ('alice', 'rw'))
        self.assertFalse(client.call('ls')[0])

    def test_killed_cifs_server_is_restarted_without_touching_nfs(self):
        share, rule = self.cifs(), ('alice', 'rw')
        self.allow(share, rule)
        self.session(share, 'alice')
        self.assertEqual((), self.ensured(share, rule).repaired)
        before = {one.pid for one in processes(self.state)}
        base.kill(self.samba._server)
        nfs = self.driver.parts.protocol_servers.of('NFS').server.process
        self.assertEqual(
            ('The CIFS server did not run; it was restarted.',), self.ensured(share, rule).repaired
        )
        self.assertEqual(set(), before & {one.pid for one in processes(self.state)})
        self.assertEqual(nfs, self.driver.parts.protocol_servers.of('NFS').server.process)
        self.writes(share, 'alice')
        base.kill(self.samba._server)
        self.driver.report()
        self.writes(share, 'alice')

    def test_damaged_exports_rules_and_mounts_are_repaired(self):
        share, rule = self.cifs(), ('alice', 'ro')
        self.allow(share, rule)
        conf, file = (
            self.state / 'state' / 'cifs' / name for name in ('smb.conf', f'exports.d/{share.id}.conf')
        )
        conf.write_text(conf.read_text().replace('read list = alice', 'read list = root'))
        self.assertIn('not exported', ' '.join(self.ensured(share, rule).repaired))
        file.unlink()
        self.assertIn('was missing', ' '.join(self.ensured(share, rule).repaired))
        self.assertIn('Other access rules', ' '.join(self.ensured(share, ('bobby', 'ro')).repaired))
        base.command(
            'umount', '--lazy', str(self.driver.parts.protocol_servers.of('CIFS').mount_point(share.id))
        )
        self.assertIn('not mounted', ' '.join(self.ensured(share, rule).repaired))
        self.assertEqual((), self.ensured(share, rule).repaired)
        self.smb(share, 'alice', 'ls')
        self.denied(share, 'alice', 'put local f', text='no')

    def test_new_share_manager_adopts_the_recorded_server_or_replaces_it(self):
        share, rule = self.cifs(), ('alice', 'rw')
        self.allow(share, rule)
        client, found = self.session(share, 'alice'), self.samba.process
        type(self).driver = self.make()
        self.driver.setup()
        self.assertEqual(found, self.samba.process)
        self.assertEqual((), self.ensured(share, rule).repaired)
        self.assertTrue(client.call('ls')[0])
        before = {one.pid for one in processes(self.state)}
        (
            self.state / 'state' / 'cifs' / 'smbd.json'
        ).unlink()  # a manager died before it could record the pid
        type(self).driver = self.make()
        self.driver.setup()
        self.assertEqual(set(), before & {one.pid for one in processes(self.state)})
        self.writes(share, 'alice')

    def test_all_sessions_of_a_denied_user_end_even_if_one_hangs(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'), ('bobby', 'rw'))
        clients = [self.session(share, 'bobby' if number else 'alice') for number in range(20)]
        hung = max(self.samba.process.children(), key=lambda one: one.create_time())
        hung.suspend()
        self.allow(share, ('alice', 'rw'))
        self.assertTrue(clients[0].call('put local f', 'x')[0])
        for client in clients[1:-1]:
            worked, said = client.call('ls')
            self.assertFalse(worked, said)
        self.assertTrue(process.has_ended(hung))  # smbd may not have noticed that yet

    def test_snapshot_is_readable_and_the_share_is_reverted_to_it(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'))
        self.writes(share, 'alice', text='old')
        snapshot = values.Snapshot(f'snap-{share.id}', share, share.size)
        self.driver.create_snapshot(snapshot)
        self.addCleanup(lambda: self.driver.delete_snapshot(snapshot))
        self.writes(share, 'alice', text='new')
        served = self.driver.serve_snapshot(snapshot, self.rules(('bobby', 'ro')))
        mounted = dataclasses.replace(share, export_locations=served.export_locations)
        self.reads(mounted, 'bobby', text='old')
        self.denied(mounted, 'alice')
        self.driver.revert_to_snapshot(snapshot)
        self.reads(share, 'alice', text='old')
        self.writes(share, 'alice', 'g')

    def test_mount_point_name_is_used_and_a_taken_name_is_refused(self):
        share = self.cifs(mount_point_name='Projects')
        self.allow(share, ('alice', 'rw'))
        self.assertTrue(share.export_locations[0].path.endswith(r'\Projects'))
        self.writes(share, 'alice')
        for name in ('projects', 'global', 'n' * 81):
            refused = self.assertRaises(errors.Final, self.cifs, mount_point_name=name)
            self.assertIn('cannot be called', str(refused))
        self.reads(share, 'alice')

    def test_server_stops_when_its_last_share_is_deleted(self):
        shares = [self._allowed() for _ in range(2)]
        for share in shares:
            self.session(share, 'alice').call('put local f', 'x')
        for share in shares:
            self.assertTrue(processes(self.state))
            self.driver.delete_share(share)
            self.assertEqual([], list(self.state.rglob(f'{share.id}*')))
            self.assertNotIn(share.id, Path('/proc/self/mountinfo').read_text())
        self.assertEqual([], processes(self.state))
        self.assertEqual((), self.driver.parts.protocol_servers.ensure())
        self.writes(self._allowed(), 'alice')

    def _allowed(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'))
        return share


@needs_samba
class Directory(cifs_base.Directory):
    """A pool without btrfs: shares are served, without limits and snapshots, and the capabilities say so."""

    def test_directory_pool_serves_shares_and_reports_no_snapshot_support(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'))
        self.writes(share, 'alice', text='plain')
        (pool,) = self.driver.report()
        for name in (
            'snapshot_support',
            'create_share_from_snapshot_support',
            'revert_to_snapshot_support',
            'mount_snapshot_support',
            'snapshot_inherit_share_access_support',
            'size_limit_support',
        ):
            self.assertIs(False, pool.capabilities[name])
        self.assertIsNone(pool.capabilities['sg_consistent_snapshot_support'])
        self.assertRaises(errors.Final, self.driver.create_snapshot, values.Snapshot('s', share, 1))


@needs_samba
class Served(Cifs, server_base.ServerTest):
    """Share servers: each has an smbd of its own in its namespace."""

    @property
    def client(self):
        """The namespace of a client, in the subnet that the test has chosen."""
        return self.machine.space(self.where)

    def test_both_protocols_are_served_on_each_address(self):
        share, other = self.cifs(self.server), self.share()
        self.assertEqual(
            [rf'\\{FOUR}\{share.id}', rf'\\{SIX}\{share.id}'],
            [place.path for place in share.export_locations],
        )
        self.allow(share, ('alice', 'rw'), ('bobby', 'ro'))
        self.grant(other, ('10.66.1.0/24', 'rw'))
        self.where = 'one4'
        self.writes(share, 'alice')
        self.where = 'one6'
        self.reads(share, 'bobby', at=1)
        self.denied(share, 'bobby', 'put local f', at=1, text='no')
        self.works('one4', FOUR, other, 'write', 'f', 'nfs')

    def test_share_server_is_isolated_repaired_and_deleted_without_traces(self):
        server = self.machine.server('twin')
        self.addCleanup(self.driver.teardown_server, server)
        self.driver.setup_server(server)
        self.machine.client('stranger', 'twin', 101)
        self.addCleanup(self.machine.unplug, 'stranger')
        mine, theirs = self.cifs(self.server), self.cifs(server)
        self.allow(mine, ('alice', 'rw'))
        self.allow(theirs, ('alice', 'rw'))
        self.where = 'stranger'
        self.writes(theirs, 'alice')
        self.denied(mine, 'alice', why='NT_STATUS_BAD_NETWORK_NAME')  # the same address, in another network
        self.assertRaises(errors.Final, self.driver.teardown_server, server)
        base.kill(self.driver.parts.share_servers.protocol_server(server.id, 'CIFS').server._server)
        self.assertEqual(
            ('The CIFS server did not run; it was restarted.',),
            self.driver.ensure_servers([server])[server.id].repaired,
        )
        self.writes(theirs, 'alice', 'g')
        self.assertTrue(processes(server.id))
        self.driver.delete_share(theirs)
        self.driver.teardown_server(server)
        process.until(lambda: not processes(server.id), 'nothing of the server runs', str)
        self.assertEqual([], [line for line in self.machine.traces() if server.id in line])

    def test_a_new_subnet_is_served(self):
        server = self.machine.server('four', host=6)
        self.addCleanup(self.driver.teardown_server, server)
        self.driver.setup_server(server)
        share = self.cifs(server)
        self.allow(share, ('alice', 'rw'))
        before = self.driver.parts.share_servers.protocol_server(server.id, 'CIFS').server.process
        new = server_base.network('more', 6)
        update = self.driver.update_share_server_network_allocations(server, new, [share], [])
        self.machine.client('late', 'more', 101)
        self.addCleanup(self.machine.unplug, 'late')
        self.where = 'late'
        share = dataclasses.replace(share, export_locations=update.export_locations[share.id])
        at = [
            place.path.startswith(rf'\\{server_base.address("more", 6)}') for place in share.export_locations
        ].index(True)
        self.writes(share, 'alice', at=at)
        self.assertEqual(
            before, self.driver.parts.share_servers.protocol_server(server.id, 'CIFS').server.process
        )


@needs_samba
class Asked(api_base.ApiTest):
    """CIFS as users ask for it: a share type with the protocol, a rule for a user, a path to mount."""

    CONFIG = f'{api_base.CONFIG}linux_cifs_users = {{state}}/users\n'

    def test_share_made_through_the_api_is_readable_and_writable(self):
        user_list.put(self.machine.state / 'users', 'alice', user_list.entry('alice', 'open-sesame'))
        self.lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'windows',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'storage_protocol': '<in> CIFS'},
                }
            },
        )
        network = self.network()
        share, server = self.share(network, share_proto='CIFS', share_type='windows')
        self.machine.client('friend', 'four', 101)
        path, preferred = self.locations(share)[0]
        self.assertEqual((True, True), (preferred, path.startswith('\\\\10.66.1.')))
        rule = {'access_type': 'ip', 'access_to': '10.66.1.101', 'access_level': 'rw'}
        self.assertEqual(400, self.lite.call('POST', f'/shares/{share}/action', {'allow_access': rule})[0])
        rule |= {'access_type': 'user', 'access_to': 'alice'}
        rule_id = self.lite.ok('POST', f'/shares/{share}/action', {'allow_access': rule})['access']['id']
        self.lite.wait(f'/share-access-rules/{rule_id}', 'access', 'active', field='state')
        space = self.machine.space('friend')
        worked, said = smb_client.call(space, path, 'alice', 'open-sesame', 'put local f', text='hello')
        self.assertTrue(worked, said)
        self.assertEqual((True, 'hello'), smb_client.call(space, path, 'alice', 'open-sesame', 'get f there'))
        status, answer = self.lite.call('POST', f'/shares/{share}/action', {'extend': {'new_size': 2}})
        self.assertEqual(202, status, answer)
        self.lite.wait(f'/shares/{share}', 'share', 'available')
        worked, said = smb_client.call(space, path, 'alice', 'open-sesame', 'du')
        self.assertEqual((True, 2 * units.Gi), (worked, smb_client.space(said)[0]))
        self.assertNotIn('open-sesame', self.lite.tail())
        self.remove(network, share, servers=(server,))
        self.assertEqual([], processes(self.machine.state))
