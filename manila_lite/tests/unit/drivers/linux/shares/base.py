# SPDX-License-Identifier: Apache-2.0
"""Services on a pool in a plain directory, with a protocol server that only records its calls: no driver, no root."""

import types
from pathlib import Path

import fixtures
import testtools

from manila_lite import values
from manila_lite.drivers.file_servers.ganesha_clients import Block
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.drivers.linux.servers.qos import ShareQos
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.drivers.recent_sizes import RecentSizes


def share(share_id='a', **changes):
    return values.Share(
        **{
            'id': share_id,
            'share_id': share_id,
            'project_id': 'p',
            'size': 1,
            'proto': 'CIFS',
            'pool': 'pool',
        }
        | changes
    )


class RecordingServer:
    """A protocol server. It can express rules for users, and refuses the user "nobody" when it exports."""

    def __init__(self):
        self.calls = []
        self.server = types.SimpleNamespace(exports=types.SimpleNamespace(inspect=dict.fromkeys))

    def blocks(self, rules):
        blocks = [Block(rule.id, rule.to) for rule in rules if rule.type == 'user']
        known = {block.rule_id for block in blocks}
        return blocks, {
            rule.id: values.RuleResult(error='' if rule.id in known else 'No user.') for rule in rules
        }

    def serve(self, resource_id, path, blocks, mounted_as=None):
        self.calls.append(('serve', resource_id, path.name, list(blocks)))
        return {position: 'Unknown.' for position, block in enumerate(blocks) if block == 'nobody'}

    def agrees(self, resource_id, path, blocks, seen, mounted_as=None):
        return False

    def repair(self, resource_id, path, blocks, seen, mounted_as=None):
        return self.serve(resource_id, path, blocks), ['It was mended.']

    def mounts(self, resource_id, path):
        return True

    def ensure(self):
        return ()

    def forget(self, resource_id):
        self.calls.append(('forget', resource_id))

    def of(self, proto):
        return self


class NoServers:
    """Share servers of a backend that has none."""

    def exported(self, server_id):
        return []


class ServiceTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.pool = Directory(Path(self.useFixture(fixtures.TempDir()).path).resolve())
        self.pool.open()
        self.storage = Storage(self.pool)
        self.server = RecordingServer()
        self.exports = ShareExports(frozenset({'CIFS'}), lambda: ['10.0.0.1'], self.server, {'CIFS': 445})
        self.qos = ShareQos(self.pool, NoServers(), is_supported=False)
        self.sizes = RecentSizes()
