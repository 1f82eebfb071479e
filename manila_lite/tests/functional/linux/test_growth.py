# SPDX-License-Identifier: Apache-2.0
"""Automatic growth of a share on real btrfs, while an NFS client writes faster than its steps."""

import contextlib
import os

import psutil
from oslo_utils import units

from manila_lite.drivers.linux.pool import btrfs
from manila_lite.tests.functional.linux import api_base, server_base

_CONFIG = api_base.CONFIG.replace('[DEFAULT]\n', '[DEFAULT]\nshare_usage_interval = 1\n')


class Growth(api_base.ApiTest):
    """A share of 1 GiB that grows by 1 GiB, up to 3."""

    CONFIG = _CONFIG

    def test_share_grows_while_a_client_writes_more_than_a_step(self):
        network = self.network()
        growing = {'usage:grow_by': '1', 'usage:grow_to': '3', 'usage:grow_at': '80'}
        share, server = self.share(network, metadata=growing)
        self.clients('four')
        self.grant(share, '10.66.1.101')
        where = server_base.address('four', 5), self.locations(share)[0][0].partition(':')[2]
        self.works('friend-four', *where, 'write', 'f', 'before')
        place = next(self.machine.state.glob(f'**/shares/{self.instance(share)}'))
        with self.unmeasured():
            self.take(place, 0.99)
            self.refused('DQUOT', 'friend-four', *where, 'fill', 'g', '16')
        self.until(lambda: self.size(share) == 2, 'the share grows')
        self.works('friend-four', *where, 'fill', 'g', '16')
        self.take(place, 1.9)
        self.until(lambda: self.size(share) == 3, 'the share grows once more')
        self.works('friend-four', *where, 'fill', 'h', '16')
        self.assertEqual('before', self.works('friend-four', *where, 'read', 'f'))
        done = self.lite.ok('GET', f'/operations?resource_id={share}&kind=share.extend')['operations']
        self.assertEqual(['done', 'done'], [operation['state'] for operation in done])
        said = self.lite.ok('GET', f'/messages?resource_id={share}')['messages']
        requests = {message['request_id'] for message in said if 'It grows from' in message['user_message']}
        self.assertEqual({operation['request_id'] for operation in done}, requests)
        self.remove(network, share, servers=(server,))

    @contextlib.contextmanager
    def unmeasured(self):
        """Let the service stand still, as between two measurements: the file server is another process."""
        service = psutil.Process(self.lite.process.pid)
        service.suspend()
        try:
            yield
        finally:
            service.resume()

    def instance(self, share):
        return self.lite.ok('GET', f'/shares/{share}/instances')['share_instances'][0]['id']

    def take(self, place, gib):
        """Let a file of the share take so much, as a client does that is much faster than this machine."""
        with (place / 'large').open('wb') as large:
            os.posix_fallocate(large.fileno(), 0, int(gib * units.Gi))
        btrfs.sync(place)

    def size(self, share):
        return self.lite.ok('GET', f'/shares/{share}')['share']['size']
