# SPDX-License-Identifier: Apache-2.0
"""Base of tests with a real Keystone: one server per process, and an API that validates tokens with it."""

import atexit
import functools
import unittest

import fixtures

from manila_lite.tests.functional import base, commandline
from manila_lite.tests.services.daemon import Missing
from manila_lite.tests.services.keystone import ADMIN, REGION, Keystone

#: The cache time is short so that revoked tokens are noticed at once; these tests are the only clients of this Keystone.
_CACHE = 'token_cache_time = 1\n'


@functools.cache
def keystone():
    """Return the Keystone of this process.

    :raises unittest.SkipTest: Keystone is not installed; gives the reason.
    """
    server = Keystone()
    try:
        server.setUp()
    except fixtures.MultipleExceptions as bad:
        why = bad.args[0][1]
        if not isinstance(why, Missing):
            raise
        raise unittest.SkipTest(f'no Keystone: {why}') from why
    atexit.register(server.cleanUp)
    return server


class KeystoneTest(commandline.OverHttp, base.ServiceTest):
    """A service in Keystone's catalog, which answers at ``url``. Skipped, with the reason, without Keystone."""

    MORE = ''

    @classmethod
    def setUpClass(cls):
        cls.keystone = keystone()
        cls.EXTRA = cls.config() + cls.MORE
        super().setUpClass()
        cls.keystone.announce(f'{cls.url}/v2')
        cls.admin = cls.caller_of(ADMIN, ADMIN)

    @classmethod
    def config(cls):
        """Return the configuration that makes the API use this Keystone."""
        return cls.keystone.middleware + _CACHE

    @classmethod
    def token(cls, user, project):
        """Return a new token."""
        return cls.keystone.connect(user, project).session.get_token()

    @classmethod
    def caller_of(cls, user, project, version=base.LATEST):
        """Return a caller with a token."""
        return cls.bearer(cls.token(user, project), version)

    @classmethod
    def bearer(cls, token, version=base.LATEST):
        """Return a caller that sends the given token."""
        caller = base.Api(cls.service.app, version=version)
        caller.token = token
        return caller

    def sdk(self, user, project, **more):
        """Return openstacksdk's proxy of our API, found in the catalog."""
        return self.keystone.connect(
            user, project, shared_file_system_default_microversion='2.82', **more
        ).shared_file_system

    def env_of(self, user, project):
        """Return the environment of the openstack command for a user, as an ``openrc`` sets it."""
        login = self.keystone.login(user, project)
        clean = {key: value for key, value in self.env().items() if not key.startswith('OS_')}
        return (
            clean | {f'OS_{key.upper()}': value for key, value in login.items()} | {'OS_REGION_NAME': REGION}
        )
