# SPDX-License-Identifier: Apache-2.0
"""What the YAML files of requests can ask for with ``fixtures:``."""

from gabbi import fixture

from manila_lite.tests import fixtures

_running = []


def application():
    """Return an application that is that of the service which runs for the present file."""
    return lambda environ, start_response: _running[-1].wsgi(environ, start_response)


class Service(fixture.GabbiFixture):
    """API, scheduler and one dummy backend."""

    MAKE = staticmethod(lambda: fixtures.Service())

    def start_fixture(self):
        """The service runs."""
        service = self.MAKE()
        service.setUp()
        _running.append(service)

    def stop_fixture(self):
        """The service has stopped."""
        _running.pop().cleanUp()


class TwoBackends(Service):
    """API, scheduler and two dummy backends, alpha and beta."""

    MAKE = staticmethod(lambda: fixtures.Service({'alpha': '', 'beta': ''}))
