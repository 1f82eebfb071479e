# SPDX-License-Identifier: Apache-2.0
"""QEMU's monitor and a plan of processes, on files and sockets."""

import json
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import testtools

from manila_lite import errors
from manila_lite.siblings.compute.drivers.local import Files
from manila_lite.siblings.compute.drivers.qemu_monitor import Monitor, Refused
from manila_lite.siblings.compute.drivers.qemu_processes import CommandLines
from manila_lite.tests import waiting


class Monitored(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(tempfile.mkdtemp(prefix='mlq-'))
        self.addCleanup(shutil.rmtree, self.folder)

    def answers(self, **said):
        """Return a monitor that sends an event and then these answers; ``asked`` has the commands that it was sent."""
        self.asked = []
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(self.folder / 'qmp'))
        listener.listen()

        def serve():
            peer = listener.accept()[0]
            with peer, peer.makefile('rwb') as stream:
                stream.write(b'{"QMP": {}}\n')
                stream.flush()
                decoder, text = json.JSONDecoder(), ''
                while part := peer.recv(65536):
                    text += part.decode()
                    while text:
                        command, end = decoder.raw_decode(text)
                        text = text[end:].lstrip()
                        self.asked.append(command['execute'])
                        answer = said.get(command['execute'].replace('-', '_'), {'return': {}})
                        if answer is None:
                            return
                        stream.write(b'{"event": "RESUME"}\n' + json.dumps(answer).encode() + b'\n')
                        stream.flush()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        self.addCleanup(thread.join, waiting.LIMIT)
        return Monitor(self.folder / 'qmp')

    def test_answer_is_found_among_events(self):
        with self.answers(query_status={'return': {'running': True}}) as monitor:
            self.assertEqual({'running': True}, monitor.do('query-status'))

    def test_what_is_no_message_ends_the_connection(self):
        for sent in b'no JSON\n', b'[1]\n', b'[' * 100000 + b'\n', b'"' + b'x' * (1 << 20):
            ours, theirs = socket.socketpair(socket.AF_UNIX)
            monitor = Monitor(self.folder / 'qmp')
            monitor._socket.close()
            monitor._socket = ours
            sender = threading.Thread(target=theirs.sendall, args=(sent,))
            sender.start()
            self.assertRaises(ConnectionError, monitor._line)
            sender.join(waiting.LIMIT)
            ours.close()
            theirs.close()

    def test_refused_save_has_the_reason_and_resumes_the_guest(self):
        with self.answers(
            migrate={'error': {'class': 'GenericError', 'desc': 'not with this device'}}
        ) as monitor:
            refused = self.assertRaises(Refused, monitor.save, self.folder / 'memory')
        self.assertIn('not with this device', str(refused))
        self.assertEqual(
            ['qmp_capabilities', 'stop', 'getfd', 'migrate', 'cont'], self.asked, 'the guest goes on'
        )

    def test_save_fails_if_its_migration_fails(self):
        with self.answers(
            query_migrate={'return': {'status': 'failed', 'error-desc': 'no space'}}
        ) as monitor:
            self.assertIn('no space', str(self.assertRaises(Refused, monitor.save, self.folder / 'memory')))

    def test_missing_monitor_is_unavailable(self):
        self.assertRaises(errors.Unavailable, Monitor(self.folder / 'qmp').__enter__)
        with self.answers(stop=None) as monitor:
            self.assertRaises(errors.Unavailable, monitor.do, 'stop')

    def test_truncated_command_lines_are_not_read(self):
        files = Files(self.folder)
        self.assertIsNone(CommandLines.read(files))
        plan = CommandLines(['qemu', '-x'], {'s': ['virtiofsd']}, {'s': 'socket'})
        plan.write(files)
        self.assertEqual(plan, CommandLines.read(files))
        for torn in ('', '{', '[]', '{"qemu": [], "more": 1}'):
            (self.folder / 'run.json').write_text(torn)
            self.assertIsNone(CommandLines.read(files), torn)
