# SPDX-License-Identifier: Apache-2.0
"""Commands inherit a descriptor of the thread that runs them, in its context only."""

import os
import threading

import testtools

from manila_lite.host import commands


class InheritedTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.fd, other = os.pipe()
        self.addCleanup(os.close, self.fd)
        self.addCleanup(os.close, other)
        self.target = os.readlink(f'/proc/self/fd/{self.fd}')

    def _is_inherited(self):
        return self.target in commands.run('find', '/proc/self/fd', '-printf', '%l\n').split()

    def test_commands_in_the_context_inherit_the_descriptor(self):
        self.assertFalse(self._is_inherited())
        with commands.inherited_by(self.fd):
            self.assertTrue(self._is_inherited())
        self.assertFalse(self._is_inherited())

    def test_commands_of_other_threads_do_not(self):
        seen = []
        with commands.inherited_by(self.fd):
            thread = threading.Thread(target=lambda: seen.append(self._is_inherited()))
            thread.start()
            thread.join()
        self.assertEqual([False], seen)
