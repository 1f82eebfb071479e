# SPDX-License-Identifier: Apache-2.0
"""What the YAML files of requests can ask for with ``fixtures:``."""

import functools

from gabbi import fixture

from manila_lite.tests import fixtures

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
        _running.append(service)

    def stop_fixture(self):
        """The service has stopped."""
        _running.pop().cleanUp()


class TwoBackends(Service):
    """API, scheduler and two dummy backends, alpha and beta."""

    MAKE = functools.partial(fixtures.Service, {'alpha': '', 'beta': ''})
