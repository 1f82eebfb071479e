# SPDX-License-Identifier: Apache-2.0
"""Base of tests of the siblings: the real share API over HTTP, and the siblings' options for it."""

import fixtures
from oslo_config import cfg
from oslo_messaging._metrics import client as metrics
from oslo_messaging._tracing import client as tracing

from manila_lite.siblings import conf as options
from manila_lite.siblings.shares import Shares
from manila_lite.tests.functional import base, commandline


def register_messaging(conf):
    """Register options that oslo.messaging registers only globally, which here is the share service's configuration."""
    conf.register_opts(tracing.oslo_messaging_tracing, group='oslo_messaging_tracing')
    conf.register_opts(metrics.oslo_messaging_metrics, group='oslo_messaging_metrics')


class SiblingOptions(fixtures.Fixture):
    """A configuration file with a sibling's ``[share_service]`` options; ``conf`` is the parsed configuration."""

    def __init__(self, **values):
        super().__init__()
        self._values = {'status_code_retry_delay': 0.05, 'connect_retry_delay': 0.05, **values}

    def _setUp(self):
        path = self.useFixture(fixtures.TempDir()).join('sibling.conf')
        with open(path, 'w') as file:
            file.write(
                f'[{options.GROUP}]\n'
                + ''.join(f'{name} = {value}\n' for name, value in self._values.items())
            )
        self.conf = cfg.ConfigOpts()
        options.register_opts(self.conf)
        self.conf([f'--config-file={path}'], project='test')


class WithShares:
    """Mixin for a test with ``url``, the address of the share API."""

    def connect(self, **values):
        """Return a sibling's client of the share service with these values of ``[share_service]``."""
        return Shares(self.useFixture(SiblingOptions(**values)).conf)

    def service_user(self, **more):
        """Return a sibling's client as user ``nova`` of project ``service``, with the role ``service``."""
        login = {'auth_type': 'admin_token', 'endpoint': f'{self.url}/v2', 'token': 'nova:service:service'}
        return self.connect(**{**login, **more})


class ShareServiceTest(WithShares, commandline.OverHttp, base.ServiceTest):
    """A share service without Keystone, a sibling's client of it, and a user."""

    def setUp(self):
        super().setUp()
        self.shares = self.service_user()
        self.user = self.caller()
        self.who = {'X-Auth-Token': self.user.token}
