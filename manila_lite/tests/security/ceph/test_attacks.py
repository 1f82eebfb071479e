# SPDX-License-Identifier: Apache-2.0
"""What a tenant may try that is root on the client, knows its own key, and types anything as an auth id."""

import errno
import os
import subprocess

from manila_lite.tests import waiting
from manila_lite.tests.functional.ceph import base


class Ids(base.CephTest):
    def error_of(self, share):
        """Return the user message about refused rules of the share."""
        rows = self.lite.ok('GET', f'/messages?resource_id={share}')['messages']
        return ' '.join(row['user_message'] for row in rows)

    def test_id_of_another_project_is_refused_and_stays_as_it_was(self):
        mine, theirs = self.share(), self.share(token=self.OTHER)
        ident = self.ident()
        rule = self.grant(mine, ident)
        before = self.ceph.ask('auth', 'get', f'client.{ident}')
        refused = self.grant(theirs, ident, token=self.OTHER, ends='error')
        self.assertIsNone(refused['access_key'])
        self.assertEqual(before, self.ceph.ask('auth', 'get', f'client.{ident}'))
        self.assertEqual(
            rule['access_key'],
            self.lite.ok('GET', f'/share-access-rules/{rule["id"]}')['access']['access_key'],
        )
        self.deny(mine, rule)
        self.assertEqual('active', self.grant(theirs, self.ident(), token=self.OTHER)['state'])

    def test_ids_of_the_service_and_of_the_cluster_are_refused_in_the_same_words_as_those_of_others(self):
        share, ident = self.share(), self.ident('outside')
        self.ceph.ask('auth', 'add', f'client.{ident}', 'mon', 'allow r')
        self.addCleanup(self.ceph.ask, 'auth', 'rm', f'client.{ident}')
        everyone = [f'client.{name}' for name in ('manila', 'admin', ident)]
        before = [self.ceph.ask('auth', 'get', name) for name in everyone]
        for name in ('manila', 'admin', ident, 'cinder', 'nfs-gateway'):
            self.assertIsNone(self.grant(share, name, ends='error')['access_key'])
        self.assertEqual(before, [self.ceph.ask('auth', 'get', name) for name in everyone])

    def test_odd_ids_never_reach_the_cluster(self):
        share = self.share()
        before = {one['entity'] for one in self.ceph.ask('auth', 'ls')['auth_dump']}
        for odd in (
            'a/b',
            '/',
            '-i',
            '--id=admin',
            'a b',
            '*',
            '$(id)',
            'a%s',
            'a=b',
            'a,b',
            'x' * 129,
            "a'b",
        ):
            self.grant(share, odd, ends='error')
        for kind, to in (('ip', '10.0.0.1'), ('user', 'alice'), ('cert', 'alice')):
            rule = {'access_type': kind, 'access_to': to}
            self.assertEqual(
                400, self.lite.call('POST', f'/shares/{share}/action', {'allow_access': rule})[0], rule
            )
        self.assertEqual(before, {one['entity'] for one in self.ceph.ask('auth', 'ls')['auth_dump']})

    def test_key_is_shown_to_the_project_of_the_share_alone(self):
        share = self.share()
        rule = self.grant(share, self.ident())
        self.assertRegex(rule['access_key'], '^AQ.{30,}==$')
        self.assertEqual(404, self.lite.call('GET', f'/share-access-rules/{rule["id"]}', token=self.OTHER)[0])
        self.assertNotIn(rule['access_key'], self.lite.log.read_text())

    def test_id_and_what_the_cluster_notes_about_it_go_with_the_last_rule(self):
        share, ident = self.share(), self.ident()
        rule = self.grant(share, ident)
        self.deny(share, rule)
        self.assertNotIn(
            f'client.{ident}', {one['entity'] for one in self.ceph.ask('auth', 'ls')['auth_dump']}
        )
        theirs = self.share(token=self.OTHER)
        self.assertEqual('active', self.grant(theirs, ident, token=self.OTHER)['state'])


class Clients(base.CephTest):
    def test_foreign_client_reaches_nothing_else(self):
        mine, theirs = self.share(), self.share(token=self.OTHER)
        rule = self.grant(mine, self.ident())
        for path in (self.path(theirs), '/', '/volumes', '/volumes/_nogroup'):
            self.assertRaises(PermissionError, self.mount, mine, rule, path=path)
        wrong = rule | {'access_key': self.grant(theirs, self.ident(), token=self.OTHER)['access_key']}
        self.assertRaises(PermissionError, self.mount, mine, wrong)

    def test_key_of_a_client_is_confined_to_the_objects_of_its_share(self):
        mine, theirs = self.share(), self.share(token=self.OTHER)
        rule = self.grant(mine, self.ident())
        other = self.grant(theirs, self.ident(), token=self.OTHER)
        (self.mount(theirs, other) / 'secret').write_text('x' * 1000)
        conf = self.ceph.client_conf(rule['access_to'], rule['access_key'])
        for words in (('ls', '--all'), ('--namespace', f'fsvolumens_{self.name_of(theirs)}', 'ls'), ('ls',)):
            done = subprocess.run(
                ['rados', '--conf', str(conf), '--id', rule['access_to'], '-p', 'a.data', *words],
                capture_output=True,
                text=True,
                timeout=waiting.LIMIT,
                check=False,
            )
            self.assertNotEqual(0, done.returncode, done.stdout)
            self.assertIn('not permitted', done.stderr)
        for words in (('auth', 'ls'), ('fs', 'subvolume', 'ls', 'a'), ('config-key', 'ls')):
            done = subprocess.run(
                ['ceph', '--conf', str(conf), '--id', rule['access_to'], *words],
                capture_output=True,
                text=True,
                timeout=waiting.LIMIT,
                check=False,
            )
            self.assertNotEqual(0, done.returncode, done.stdout)

    def name_of(self, share):
        return self.path(share).split('/')[3]

    def test_client_changes_neither_limit_nor_snapshots_nor_layout(self):
        share = self.share()
        snapshot = self.snapshot(share)
        place = self.mount(share, self.grant(share, self.ident()))
        for name, value in (
            ('ceph.quota.max_bytes', b'0'),
            ('ceph.dir.layout.pool', b'a.meta'),
            ('ceph.dir.layout.pool_namespace', b''),
        ):
            self.assertIn(base.refused(os.setxattr, place, name, value), (errno.EPERM, errno.EACCES), name)
        self.assertIsNotNone(base.refused(os.mkdir, place / '.snap' / 'mine'))
        [name] = os.listdir(place / '.snap')
        self.assertIsNotNone(base.refused(os.rmdir, place / '.snap' / name))
        self.assertIn(snapshot, name)

    def test_client_that_mounted_a_directory_below_is_shut_out_too(self):
        """It is not among those that ``fs subvolume evict`` finds."""
        share = self.share()
        rule = self.grant(share, self.ident())
        (self.mount(share, rule) / 'below').mkdir()
        writer = base.Writer(self.mount(share, rule, below='/below') / 'log')
        self.addCleanup(writer.end)
        self.deny(share, rule)
        self.assertTrue(writer.is_shut_out())

    def test_client_that_answers_nobody_keeps_no_access_and_stops_no_work(self):
        """It holds capabilities for which every command about the share waits."""
        share = self.share()
        rule = self.grant(share, self.ident())
        place = self.mount(share, rule)
        (place / 'd').mkdir()
        number = os.open(place / 'f', os.O_CREAT | os.O_WRONLY)
        os.write(number, b'x')
        self.client.pause()
        self.deny(share, rule)
        self.remove(share)
        self.client.process.kill()
        self.assertIsNotNone(base.refused(os.close, number))

    def test_id_of_a_manager_is_refused_and_the_manager_stays(self):
        """Sessions are ended by the name, which metadata servers know without its type: the manager is mgr.x."""
        share = self.share()
        before = self.sessions()
        self.assertTrue(before)
        self.deny(share, self.grant(share, 'x', ends='error'))
        self.assertEqual(before, before & self.sessions())

    def sessions(self):
        """Return the sessions of the manager with the metadata server."""
        found = self.ceph.ask('tell', 'mds.a:0', 'session', 'ls')
        return {one['id'] for one in found if one['client_metadata']['root'] == '/'}

    def test_client_cannot_come_back_after_it_was_shut_out(self):
        share = self.share()
        rule = self.grant(share, self.ident())
        place = self.mount(share, rule)
        (place / 'f').write_text('x')
        self.deny(share, rule)
        self.assertRaises(PermissionError, self.mount, share, rule)
        again = self.grant(share, rule['access_to'])
        self.assertNotEqual(rule['access_key'], again['access_key'])
        self.assertRaises(PermissionError, self.mount, share, rule)


class ForeignGroups(base.CephTest):
    MORE = 'cephfs_subvolume_group = mine'

    def test_foreign_groups_are_not_touched(self):
        self.ceph.ask('fs', 'subvolumegroup', 'create', 'a', 'theirs')
        self.ceph.ask(
            'fs', 'subvolume', 'create', 'a', 'precious', '--group_name', 'theirs', '--size', str(1 << 30)
        )
        self.ceph.ask('fs', 'subvolume', 'create', 'a', 'loose', '--size', str(1 << 30))
        paths = [
            self.ceph.ask('fs', 'subvolume', 'getpath', 'a', 'precious', '--group_name', 'theirs'),
            self.ceph.ask('fs', 'subvolume', 'getpath', 'a', 'loose'),
        ]
        share = self.share()
        self.assertIn('/volumes/mine/', self.path(share))
        host = self.lite.ok('GET', '/scheduler-stats/pools')['pools'][0]['name']
        for path in paths:
            status, answer = self.lite.call(
                'POST',
                '/shares/manage',
                {
                    'share': {
                        'service_host': host,
                        'export_path': path,
                        'protocol': 'CEPHFS',
                        'share_type': 'default',
                    }
                },
            )
            self.assertEqual(200, status, answer)
            made = answer['share']['id']
            self.lite.wait(f'/shares/{made}', 'share', 'manage_error')
            self.lite.ok('POST', f'/shares/{made}/action', {'force_delete': None})
            self.lite.wait(f'/shares/{made}', 'share', 'gone')
        self.assertEqual(
            paths,
            [
                self.ceph.ask('fs', 'subvolume', 'getpath', 'a', 'precious', '--group_name', 'theirs'),
                self.ceph.ask('fs', 'subvolume', 'getpath', 'a', 'loose'),
            ],
        )
        self.assertEqual({}, self.ceph.ask('fs', 'subvolume', 'metadata', 'ls', 'a', 'loose') or {})
        self.ceph.ask('fs', 'subvolume', 'rm', 'a', 'loose')
        self.ceph.ask('fs', 'subvolume', 'rm', 'a', 'precious', '--group_name', 'theirs')
        self.ceph.ask('fs', 'subvolumegroup', 'rm', 'a', 'theirs')
