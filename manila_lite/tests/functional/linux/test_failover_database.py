# SPDX-License-Identifier: Apache-2.0
"""The host that serves loses its database, and nothing else: it lets go, the other one serves, and it waits afterwards."""

import time

import sqlalchemy as sa

from manila_lite.tests.functional.linux import cable
from manila_lite.tests.functional.linux import failover_base as base
from manila_lite.tests.services import daemon, databases, places

_WAITS, _TAKES_OVER, _TOOK = 'works there; waiting', 'this process takes over', 'took over from this process'
#: Seconds for which a host that has its database back is watched: more than the lease.
_WATCHED = 8


class DatabaseAway(base.FailoverTest):
    """PostgreSQL, to which each host has a cable of its own."""

    def database(self):
        """Return the URL of a new database on a server of its own."""
        server = databases.PostgreSQL()
        try:
            server.need()
        except daemon.Missing as missing:
            self.skipTest(str(missing))
        self.server = self.useFixture(server)
        return self.useFixture(places.EmptyDatabase(self.machine.state, server.url)).url

    def url_at(self, host):
        """Lay the cable of a host, and return the URL of its end."""
        port = self.server.ports['port']
        self.cables[host.name] = self.useFixture(cable.Cable(host.own / f'.s.PGSQL.{port}', port))
        url = sa.make_url(self.url)
        return url.set(
            host=None, port=None, query={'host': str(host.own), 'port': str(port)}
        ).render_as_string(hide_password=False)

    def setUp(self):
        self.cables = {}
        super().setUp()

    def away(self, title, hang_up):
        path = self.begin()
        self.start(self.two)
        self.said(_WAITS)
        writer = self.writer(path)
        near = self.cables['one']
        near.cut()
        if hang_up:
            near.hang_up()
        ended = self.lease_end()
        self.until(lambda: not self.one.remains(), 'the guard has let go')
        self.assertLess(time.monotonic(), ended)
        writer.goes_on()
        self.said(_TAKES_OVER)
        self.assertEqual(2, len(self.one.managers()))
        self.until(self.is_up, 'the API says that the backend works again')
        near.mend()
        self.said(_TOOK)
        since = time.monotonic()
        while time.monotonic() - since < _WATCHED:
            writer.goes_on(20)
            self.assertEqual(([], [], 1), (self.one.remains(), self.one.guards(), len(self.two.guards())))
        self.assertLess(self.show(title, writer, ended), base.WITHIN)
        self.share()
        self.assert_kept(writer, path)

    def test_database_that_does_not_answer_the_host_that_serves(self):
        self.away('database silent', hang_up=False)

    def test_database_whose_connections_to_the_host_that_serves_end(self):
        self.away('connections to the database lost', hang_up=True)
