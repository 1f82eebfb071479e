# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors, values
from manila_lite.drivers.linux.servers import notes
from manila_lite.drivers.linux.servers.server_setup import ServerSetup


class _ShareServers:
    """Folders of share servers. The server "broken" cannot be started."""

    def __init__(self, root):
        self.root = root
        self.calls = []

    def ensure(self, server, *, joins=False):
        if server.id == 'broken':
            raise errors.Final('No network.')
        self.calls.append(('ensure', server.id))
        (self.root / server.id).mkdir(exist_ok=True)
        return ('It was started.',)

    def folder(self, server_id):
        return self.root / server_id

    def folders(self):
        return sorted(self.root.iterdir())

    def move(self, old, new):
        (self.root / old).rename(self.root / new)

    def detach(self, server_id):
        self.calls.append(('detach', server_id))


class ServersTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.servers = _ShareServers(Path(self.useFixture(fixtures.TempDir()).path))
        self.setup = ServerSetup(self.servers, {'NFS': 2049})

    def test_one_broken_server_does_not_keep_the_others_from_being_ensured(self):
        results = self.setup.ensure([values.ShareServer('broken'), values.ShareServer('well')])
        self.assertEqual('No network.', results['broken'].error)
        self.assertEqual((None, ('It was started.',)), (results['well'].error, results['well'].repaired))
        self.assertEqual({'namespace': 'manila-well'}, results['well'].details)

    def test_a_server_that_was_unmanaged_is_managed_under_another_id(self):
        old, new = values.ShareServer('old'), values.ShareServer('new')
        self.setup.set_up(old)
        self.assertRaisesRegex(errors.Final, 'managed already', self.setup.find, new, 'old')
        self.setup.unmanage(old)
        self.assertEqual([], self.setup.find(new, 'old'))
        for _ in range(2):
            self.assertEqual({'namespace': 'manila-new'}, self.setup.manage(new, 'old'))
        self.assertEqual('old', notes.name(self.servers.folder('new')))
        self.assertRaisesRegex(
            errors.Final, 'has no share server', self.setup.manage, values.ShareServer('third'), 'other'
        )
