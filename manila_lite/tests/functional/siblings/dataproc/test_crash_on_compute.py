# SPDX-License-Identifier: Apache-2.0
"""The engine is killed wherever it creates or deletes servers for nodes. Afterwards nodes and servers match one to one."""

import sqlalchemy as sa

from manila_lite.siblings.compute.db import models as compute
from manila_lite.siblings.dataproc.db import models
from manila_lite.tests.functional.siblings.dataproc import on_compute, test_crash

#: The steps that call the compute service, or that store its next request.
_STEPS = ('arrange', 'spawn', 'retire')


class ServersTest(test_crash.Killed):
    """The engine of this service uses servers as nodes."""

    MAIN = 'manila_lite.tests.functional.siblings.dataproc.on_compute:main'

    killed_at = test_crash.EngineTest.killed_at

    def beside(self):
        self.on = self.useFixture(on_compute.OnCompute(self.url, test_crash.THREADS))
        return self.on.dataproc

    def test_killed_while_servers_are_made_and_deleted(self):
        self.killed_at(
            [
                story
                for story in test_crash.stories()
                if story.kind != 'update' and story.place.rpartition(' ')[2] in _STEPS
            ]
        )
        self.until('servers that are no nodes', self.strays)

    def test_killed_after_a_server_was_requested(self):
        self.spawn('engine')
        for kind, method in (('create', 'POST'), ('shrink', 'DELETE'), ('delete', 'DELETE')):
            story = test_crash.Story(kind, method)
            self.given(story)
            self.until('under way before', self.under_way)
            died = on_compute.die_after(self.dataproc.conf, method)
            self.ask(story)
            self.until('it lives', died.exists)
            self.until('under way', self.under_way)
            self.judge([story])
            self.until('servers that are no nodes', self.strays)

    def strays(self):
        """Return the nodes, the servers and the number of addresses, or an empty list if they match."""
        with self.engine.connect() as conn:
            nodes = sorted(conn.execute(sa.select(models.instances.c.infra_ref)).scalars())
        with self.on.compute.services.db.reader() as conn:
            servers = sorted(conn.execute(sa.select(compute.servers.c.name)).scalars())
            addresses = len(conn.execute(sa.select(compute.server_addresses.c.id)).all())
        return [] if nodes == servers and addresses == len(servers) else [nodes, servers, addresses]
