# SPDX-License-Identifier: Apache-2.0
"""Ensure reads the section of one backend again; the processes of others, and others in its process, go on (issue 19, 9)."""

import testtools

from manila_lite.tests import process

_TWO = 'enabled_share_backends = alpha,beta\n[beta]\ndriver = dummy\ndummy_export_ips = 10.2.0.1\n'
_ALPHA = 'driver = dummy\ndummy_export_ips = 10.1.0.1\ndummy_protocols = NFS,CIFS\n'


class Processes(testtools.TestCase):
    """Two backends, and a share on each of them."""

    def ensured(self, parts, host='test@alpha'):
        """Ensure a backend and wait for the end. Return the operation."""
        parts.until(
            lambda: parts.call('POST', '/services/ensure', {'host': host}, '2.86')[0] == 202, 'the run begins'
        )

        def ended():
            found = parts.ok('GET', f'/operations?kind=service.ensure&host={host}&all_tenants=1&limit=1')[
                'operations'
            ]
            return found and found[0]['state'] != 'open' and found[0]

        return parts.until(ended, 'the run ends')

    def both(self, parts):
        """Create a share on each backend. Return their ids, that of alpha first."""
        parts.ok('POST', '/types', process.DEFAULT_TYPE)
        parts.until(lambda: parts.pools()[1:], 'two pools')
        found = {}
        for _ in range(20):
            share_id = parts.share()
            share = parts.wait(f'/shares/{share_id}', 'share', 'available')
            found.setdefault(share['host'].partition('#')[0], share_id)
            if len(found) == 2:
                break
        return found['test@alpha'], found['test@beta']

    def address(self, parts, share_id):
        """Return the address of the share's preferred path."""
        [path] = parts.ok('GET', f'/shares/{share_id}/export_locations')['export_locations']
        return path['path'].partition(':')[0]

    def test_share_managers_of_other_backends_go_on(self):
        """Apply a changed option of one child, with the same processes; a child that is started again has all changes."""
        parts = self.useFixture(process.Parts(_TWO, _ALPHA))
        started = {name: parts.run(name) for name in ('api', 'scheduler', 'share')}
        parts.until(parts.answers, 'the API answers')
        mine, other = self.both(parts)
        before = sorted(child.pid for child in process.children(started['share']))
        asked = parts.calls('ensure_shares', 'beta'), parts.calls('setup', 'beta')
        parts.edit('10.1.0.1', '10.1.0.9')
        parts.edit('dummy_protocols = NFS,CIFS', 'dummy_protocols = NFS')
        parts.edit('10.2.0.1', '10.2.0.9')
        changes = self.ensured(parts)['report']['configuration']
        self.assertEqual({'applied': ['dummy_export_ips'], 'restart': ['dummy_protocols']}, changes)
        self.assertEqual(('10.1.0.9', '10.2.0.1'), (self.address(parts, mine), self.address(parts, other)))
        self.assertEqual(before, sorted(child.pid for child in process.children(started['share'])))
        self.assertEqual(asked, (parts.calls('ensure_shares', 'beta'), parts.calls('setup', 'beta')))

        former = process.children(started['share'])
        for child in former:
            child.terminate()  # as the page says, to restart a backend
        parts.until(lambda: all(map(process.has_ended, former)), 'they have ended')
        parts.until(lambda: self.address(parts, other) == '10.2.0.9', 'beta has read its section')
        self.assertEqual('10.1.0.9', self.address(parts, mine))
        self.assertEqual({'applied': [], 'restart': []}, self.ensured(parts)['report']['configuration'])

    def test_all_in_one_process_goes_on(self):
        """Apply a changed option of one backend in the process of all, also beside a broken section of another."""
        parts = self.useFixture(process.Parts(_TWO, _ALPHA))
        started = parts.run('all_in_one')
        parts.until(parts.answers, 'the API answers')
        mine, other = self.both(parts)
        parts.edit('10.1.0.1', '10.1.0.9')
        parts.edit('10.2.0.1', 'nonsense')
        self.assertEqual(['dummy_export_ips'], self.ensured(parts)['report']['configuration']['applied'])
        self.assertEqual(('10.1.0.9', '10.2.0.1'), (self.address(parts, mine), self.address(parts, other)))
        found = self.ensured(parts, 'test@beta')
        self.assertEqual('failed', found['state'])
        self.assertIn('[beta] dummy_export_ips: nonsense', found['error'])
        self.assertEqual(('10.2.0.1', None), (self.address(parts, other), started.poll()))

    def test_child_that_is_started_again_survives_a_broken_file(self):
        """Keep the values of the master where the file cannot be read."""
        parts = self.useFixture(process.Parts(_TWO, _ALPHA))
        started = {name: parts.run(name) for name in ('api', 'scheduler', 'share')}
        parts.until(parts.answers, 'the API answers')
        mine, _ = self.both(parts)
        parts.edit('10.1.0.1', 'nonsense')
        setups = parts.calls('setup')
        for child in process.children(started['share']):
            child.kill()
        parts.until(lambda: parts.calls('setup') > setups, 'alpha is set up again')
        self.assertIn('earlier values stay in use: [alpha] dummy_export_ips: nonsense', parts.log.read_text())
        self.assertEqual('10.1.0.1', self.address(parts, mine))
