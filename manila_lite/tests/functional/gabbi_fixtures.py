# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the YAML files of requests can name under ``fixtures:``."""

import functools
import tempfile
from pathlib import Path

from gabbi import fixture

from manila_lite.api.http import app
from manila_lite.db.queries import services as service_rows
from manila_lite.tests import fixtures
from manila_lite.tests.factories import networks

_running = []


def application():
    """Return an application that forwards to the service of the present YAML file."""

    def ask_the_present_one(environ, start_response):
        return _running[-1].wsgi(environ, start_response)

    return ask_the_present_one


class Service(fixture.GabbiFixture):
    """A service with API, scheduler and one dummy backend."""

    MAKE = fixtures.Service

    def start_fixture(self):
        """Start the service."""
        service = self.MAKE()
        service.setUp()
        service.conf.set_override(
            'allowed_hosts', ['*'], 'api'
        )  # gabbi gives each file's service another host name
        service.wsgi = app.make(service.services)
        _running.append(service)

    def stop_fixture(self):
        """Stop the service."""
        _running.pop().cleanUp()


class TwoBackends(Service):
    """A service with API, scheduler and two dummy backends, alpha and beta."""

    MAKE = functools.partial(fixtures.Service, {'alpha': '', 'beta': ''})


class Measured(Service):
    """A service whose shares are measured each second."""

    MAKE = functools.partial(fixtures.Service, extra='share_usage_interval = 1\n')


class Networks(Service):
    """An API with the networks of a file, the zones "here" and "there", and a share server of the project "served"."""

    def start_fixture(self):
        """Start the service and create the zones and the share server."""
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
        """Stop the service and remove the file of networks."""
        super().stop_fixture()
        self._folder.cleanup()
