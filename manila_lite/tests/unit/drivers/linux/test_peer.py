# SPDX-License-Identifier: Apache-2.0
import argparse
import json
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.linux import peer
from manila_lite.host.commands import CommandFailed


class _Peer:
    """A backend with the requests of a peer, and a method that is no request."""

    def describe(self, migration):
        if migration == 'gone':
            raise errors.Final('It is gone.')
        if migration == 'busy':
            raise CommandFailed('busy')
        return {'seen': migration}

    def send(self, migration):
        if migration == 'bad':
            raise CommandFailed('it broke')
        if migration == 'gone':
            raise errors.Final('It is gone.')

    def secret(self):
        return {'secret': 1}


class ServeTest(testtools.TestCase):
    def serve(self, *requests):
        self.answers = []
        lines = [request if isinstance(request, str) else json.dumps(request) for request in requests]
        return peer.serve(_Peer(), lines, self.answers.append)

    def test_requests_are_answered(self):
        self.assertEqual(
            0,
            self.serve(
                {'verb': 'look', 'migration': 'm'},
                {'verb': 'look', 'migration': 'gone'},
                {'verb': 'look', 'migration': 'busy'},
            ),
        )
        self.assertEqual([{'seen': 'm'}, {'refused': 'It is gone.'}, {'failed': 'busy'}], self.answers)

    def test_invalid_requests_are_refused(self):
        bad = (
            '',
            'no',
            '[]',
            '{}',
            {'verb': 'secret'},
            {'verb': 'look'},
            {'verb': 'look', 'other': 1},
            {'verb': ['look']},
        )
        self.assertEqual(0, self.serve(*bad))
        self.assertEqual([['refused']] * len(bad), [list(answer) for answer in self.answers])

    def test_no_request_is_answered_after_a_stream(self):
        self.assertEqual(
            0, self.serve({'verb': 'send', 'migration': 'm'}, {'verb': 'look', 'migration': 'm'})
        )
        for about in ({'migration': 'bad'}, {'migration': 'gone'}, {'other': 1}):
            self.assertEqual(1, self.serve({'verb': 'send', **about}, {'verb': 'look', 'migration': 'm'}))
        self.assertEqual([], self.answers)


class MakeTest(testtools.TestCase):
    def test_backend_with_several_hosts_is_no_peer(self):
        file = Path(self.useFixture(fixtures.TempDir()).path, 'conf')
        file.write_text(
            '[DEFAULT]\nenabled_share_backends = fast\n[fast]\ndriver = linux\nlinux_pool_path = /dev/nothing\n'
            'linux_pool_fence = guard\n'
        )
        arguments = argparse.Namespace(backend='fast', config_file=[str(file)], config_dir=None)
        self.assertIn('do not migrate', str(self.assertRaises(errors.BadConfig, peer.make, arguments)))

    def test_backends_that_are_not_enabled_linux_ones_are_refused(self):
        file = Path(self.useFixture(fixtures.TempDir()).path, 'conf')
        file.write_text(
            '[DEFAULT]\nenabled_share_backends = other\n[other]\ndriver = dummy\n[linux]\ndriver = linux\n'
        )
        for name in ('', 'linux', 'other', 'other; id', '../other', '--help'):
            self.useFixture(fixtures.EnvironmentVariable('SSH_ORIGINAL_COMMAND', name))
            self.assertRaises(
                errors.BadConfig,
                peer.make,
                argparse.Namespace(backend=None, config_file=[str(file)], config_dir=None),
            )
