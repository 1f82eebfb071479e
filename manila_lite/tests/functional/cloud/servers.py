# SPDX-License-Identifier: Apache-2.0
"""Base of tests with a service on a database of several servers, which the class starts."""

import concurrent.futures
import dataclasses
import unittest

import fixtures
import sqlalchemy as sa
import webtest

from manila_lite.api.http import app
from manila_lite.db.core.engine import Database
from manila_lite.tests.functional import base
from manila_lite.tests.services import daemon, places


class ServersTest(base.ServiceTest):
    """``servers`` are made by ``SERVERS``, and have a ``url``."""

    SERVERS = None

    @classmethod
    def setUpClass(cls):
        cls.servers = cls.SERVERS()
        try:
            cls.servers.setUp()
        except daemon.Missing as missing:
            raise unittest.SkipTest(str(missing)) from None
        except fixtures.MultipleExceptions as several:
            if issubclass(several.args[0][0], daemon.Missing):
                raise unittest.SkipTest(str(several.args[0][1])) from None
            raise
        cls.addClassCleanup(cls.servers.cleanUp)
        patch = fixtures.EnvironmentVariable(places.DATABASE, cls.servers.url)
        patch.setUp()
        cls.addClassCleanup(patch.cleanUp)
        super().setUpClass()

    @classmethod
    def database(cls, port):
        """Return the service's database as a client of the server with this port."""
        conf = cls.service.conf
        url = sa.make_url(conf.database.connection).set(port=port)
        conf.set_override('connection', url.render_as_string(hide_password=False), 'database')
        try:
            db = Database(conf)
            db.engine.connect().close()
        finally:
            conf.clear_override('connection', 'database')
        cls.addClassCleanup(db.dispose)
        return db

    @classmethod
    def api(cls, db, **who):
        """Return a caller of an API of its own, on that database."""
        services = dataclasses.replace(cls.service.services, db=db)
        return base.Api(webtest.TestApp(app.make(services)), **who)

    def at_once(self, *calls):
        """Make these calls at once; return what they return."""
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            return [done.result() for done in [pool.submit(call) for call in calls]]
