# SPDX-License-Identifier: Apache-2.0
"""A share that Manila made is managed with its data and its snapshot, and unmanaged again."""

from oslo_utils import uuidutils

from manila_lite.tests.functional.ceph import base


class Managed(base.CephTest):
    def test_share_of_manila_is_managed_with_its_snapshot_and_left_as_it_was(self):
        name, ident = uuidutils.generate_uuid(), self.ident('before')
        self.volumes('create', name, '--size', str(2 << 30), '--namespace-isolated')
        key = self.volumes('authorize', name, ident, '--tenant_id', 'a-project-of-manila')
        path = self.volumes('getpath', name)
        before = self.mount(None, {'access_to': ident, 'access_key': key}, path=path)
        (before / 'f').write_text('precious')
        self.volumes('snapshot', 'create', name, 'of-manila')
        writer = base.Writer(before / 'log')

        share = self.manage(f'{self.monitors()}:{path}')
        self.assertEqual(2, self.ends(share, 'available')['size'])
        self.assertTrue(writer.is_shut_out(), 'who had access before still has it')
        self.assertEqual(path, self.path(share))
        place = self.mount(share, self.grant(share, self.ident()))
        self.assertEqual('precious', (place / 'f').read_text())
        self.assertEqual(
            409, self.lite.call('POST', '/shares/manage', self.body(f'{self.monitors()}:{path}'))[0]
        )

        snapshot = self.lite.ok(
            'POST', '/snapshots/manage', {'snapshot': {'share_id': share, 'provider_location': 'of-manila'}}
        )['snapshot']['id']
        self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        copy = self.share(2, snapshot_id=snapshot)
        self.assertEqual('precious', (self.mount(copy, self.grant(copy, self.ident())) / 'f').read_text())
        self.lite.ok('POST', f'/snapshots/{snapshot}/action', {'unmanage': None})
        self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'gone')

        self.lite.ok('POST', f'/shares/{share}/action', {'unmanage': None})
        self.lite.wait(f'/shares/{share}', 'share', 'gone')
        self.assertEqual(
            (path, ['of-manila'], []),
            (
                self.volumes('getpath', name),
                [one['name'] for one in self.volumes('snapshot', 'ls', name)],
                self.volumes('authorized_list', name),
            ),
        )
        self.volumes('snapshot', 'rm', name, 'of-manila')
        self.volumes('rm', name)

    def volumes(self, *words):
        """Do a command of ``fs subvolume``, as an administrator types it."""
        verb = 2 if words[0] == 'snapshot' else 1
        return self.ceph.ask('fs', 'subvolume', *words[:verb], 'a', *words[verb:])

    def monitors(self):
        return f'127.0.0.1:{self.ceph.ports[1]}'

    def body(self, path):
        host = self.lite.ok('GET', '/scheduler-stats/pools')['pools'][0]['name']
        return {
            'share': {
                'service_host': host,
                'export_path': path,
                'protocol': 'CEPHFS',
                'share_type': 'default',
            }
        }

    def manage(self, path):
        return self.lite.ok('POST', '/shares/manage', self.body(path))['share']['id']
