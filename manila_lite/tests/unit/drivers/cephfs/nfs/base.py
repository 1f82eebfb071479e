# SPDX-License-Identifier: Apache-2.0
"""Objects of a cluster, in memory."""

from manila_lite.host.commands import CommandFailed


class Objects:
    """What ``Objects`` does, without a cluster; ``away`` is for one that does not answer."""

    pool, namespace, auth_id = 'pool', 'space', 'manila'
    words = ()

    def __init__(self):
        self.kept, self.away, self.written = {}, False, 0

    def get(self, name):
        self._answer()
        return self.kept.get(name)

    def put(self, name, content):
        self._answer()
        self.kept[name] = content
        self.written += 1

    def _answer(self):
        if self.away:
            raise CommandFailed('rados: timed out')
