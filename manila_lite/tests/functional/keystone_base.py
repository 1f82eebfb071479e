# SPDX-License-Identifier: Apache-2.0
"""What tests with a real Keystone share: one for all classes of a process, and an API that asks it who calls."""

import atexit
import functools
import unittest

import fixtures
from keystoneauth1 import loading
from oslo_config import cfg

from manila_lite.tests.functional import base, commandline
from manila_lite.tests.services.daemon import Broken, Missing
from manila_lite.tests.services.keystone import ADMIN, REGION, Keystone

#: Nobody else asks this Keystone, and tokens that were taken back are to be known at once.
_CONFIG = """auth_strategy = keystone
[keystone_authtoken]
www_authenticate_uri = {url}
auth_url = {url}
auth_type = password
username = manila
password = {password}
project_name = service
user_domain_name = Default
project_domain_name = Default
service_token_roles_required = true
token_cache_time = 1
"""


@functools.cache
def keystone():
    """Return the Keystone of this process.

    :raises unittest.SkipTest: it does not start; says why.
    """
    server = Keystone()
    try:
        server.setUp()
    except fixtures.MultipleExceptions as bad:
        why = bad.args[0][1]
        if not isinstance(why, Missing | Broken):
            raise
        raise unittest.SkipTest(f'no Keystone: {why}') from why
    atexit.register(server.cleanUp)
    return server


def forget(group):
    """The options of a login are known no more; some must be given, which the next service in this process would not."""
    cfg.CONF.unregister_opts(loading.get_auth_plugin_conf_options('password'), group=group)


class KeystoneTest(commandline.OverHttp, base.ServiceTest):
    """A service that answers at ``url``, as Keystone's catalog says. Skipped, with the reason, where there is no Keystone."""

    MORE = ''

    @classmethod
    def setUpClass(cls):
        cls.keystone = keystone()
        cls.EXTRA = cls.config() + cls.MORE
        cls.addClassCleanup(forget, 'keystone_authtoken')
        super().setUpClass()
        cls.keystone.announce(f'{cls.url}/v2')
        cls.admin = cls.caller_of(ADMIN, ADMIN)

    @classmethod
    def config(cls):
        """Return the lines with which the API asks this Keystone."""
        return _CONFIG.format(url=cls.keystone.url, password=cls.keystone.password)

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
        """Return a caller that sends this as its token."""
        caller = base.Api(cls.service.app, version=version)
        caller.token = token
        return caller

    def sdk(self, user, project, **more):
        """Return what openstacksdk has of our API, found in the catalog."""
        return self.keystone.connect(user, project, shared_file_system_default_microversion='2.82', **more).shared_file_system

    def env_of(self, user, project):
        """Return the environment of the openstack command for a user, as an ``openrc`` sets it."""
        login = self.keystone.login(user, project)
        clean = {key: value for key, value in self.env().items() if not key.startswith('OS_')}
        return clean | {f'OS_{key.upper()}': value for key, value in login.items()} | {'OS_REGION_NAME': REGION}
