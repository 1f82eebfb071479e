# SPDX-License-Identifier: Apache-2.0
"""A command is tried again while the cluster cannot do it yet, and not for longer than it may take."""

import errno

import testtools

from manila_lite.drivers.cephfs.cluster.answers import Answer, Away, Refused
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.tests import waiting


class Script:
    """A way with these answers, one after another; the last one again and again."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.commands, self.files, self.closed = [], [], 0

    def manager(self, command, seconds, content):
        self.commands.append(dict(command))
        self.files.append(content)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self):
        self.closed += 1


class Commands(testtools.TestCase):
    def asked(self, *answers, patience=waiting.LIMIT):
        script = Script(*answers)
        return script, Cluster(lambda: patience, lambda: script)

    def test_output_is_read_as_json_if_it_is(self):
        for output, content in (('{"a": 1}', {'a': 1}), ('[]', []), ('AQ==\n', 'AQ=='), ('', None)):
            self.assertEqual(content, self.asked(Answer(0, output))[1].manager('x'))

    def test_arguments_without_value_are_left_out(self):
        script, cluster = self.asked(Answer(0))
        cluster.manager('fs subvolume rm', sub_name='s', group_name=None, force=True)
        self.assertEqual(
            [{'prefix': 'fs subvolume rm', 'format': 'json', 'sub_name': 's', 'force': True}], script.commands
        )

    def test_manager_that_starts_is_waited_for(self):
        script, cluster = self.asked(
            Answer(errno.ENOTSUP), Away('gone'), Answer(errno.ETIMEDOUT), Answer(0, '7')
        )
        self.assertEqual(7, cluster.manager('x', b'content'))
        self.assertEqual((4, 1), (len(script.commands), script.closed))
        self.assertEqual([b'content'] * 4, script.files)

    def test_refusal_is_final_at_once(self):
        script, cluster = self.asked(Answer(errno.ENOENT, '', 'no such thing'))
        refused = self.assertRaises(Refused, cluster.manager, 'fs subvolume info')
        self.assertEqual((errno.ENOENT, 1), (refused.number, len(script.commands)))
        self.assertIn('no such thing', str(refused))

    def test_cluster_that_stays_away_is_one_clear_error(self):
        away = self.assertRaises(
            Away, self.asked(Away('silence'), patience=0.05)[1].manager, 'fs subvolume info'
        )
        for text in ('"fs subvolume info"', 'ceph status', 'silence'):
            self.assertIn(text, str(away))

    def test_machine_without_any_way(self):
        away = self.assertRaises(Away, Cluster(lambda: 0.01, lambda: None).manager, 'x')
        self.assertIn('apt-get install', str(away))
