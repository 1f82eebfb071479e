# SPDX-License-Identifier: Apache-2.0
"""What the YAML files of requests can ask for with ``fixtures:``."""

import functools
import tempfile
from pathlib import Path

from gabbi import fixture

from manila_lite.api import app
from manila_lite.db import services as service_rows
from manila_lite.tests import fixtures
from manila_lite.tests.factories import networks

_running = []


def application():
    """Return an application that is that of the service which runs for the present file."""
    def ask_the_present_one(environ, start_response):
        return _running[-1].wsgi(environ, start_response)
    return ask_the_present_one


class Service(fixture.GabbiFixture):
    """API, scheduler and one dummy backend."""

    MAKE = fixtures.Service

    def start_fixture(self):
        """The service runs."""
        service = self.MAKE()
        service.setUp()
        service.conf.set_override('allowed_hosts', ['*'], 'api')       # gabbi calls each file's service by a name of its own
        service.wsgi = app.make(service.services)
        _running.append(service)

    def stop_fixture(self):
        """The service has stopped."""
        _running.pop().cleanUp()


class TwoBackends(Service):
    """API, scheduler and two dummy backends, alpha and beta."""

    MAKE = functools.partial(fixtures.Service, {'alpha': '', 'beta': ''})


class Networks(Service):
    """The API with the networks of a file, the zones here and there, and a share server of the project "served"."""

    def start_fixture(self):
        """The service runs."""
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / 'networks.yaml'
        file.write_text(networks.FILE)
        self.MAKE = functools.partial(fixtures.Service, {}, f'[standalone_network]\nfile = {file}\n', ())
        super().start_fixture()
        with _running[-1].services.db.writer() as conn:
            for zone in ('here', 'there'):
                service_rows.zone_id(conn, zone, create=True)
            networks.make(conn, 1, project='served')

    def stop_fixture(self):
        """The service has stopped."""
        super().stop_fixture()
        self._folder.cleanup()
