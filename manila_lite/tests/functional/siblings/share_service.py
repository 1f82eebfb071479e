# SPDX-License-Identifier: Apache-2.0
"""What tests of the siblings share: the real share API over HTTP, and how a sibling is told where it is."""

import fixtures
from oslo_config import cfg
from oslo_messaging._metrics import client as metrics
from oslo_messaging._tracing import client as tracing

from manila_lite.siblings import conf as options
from manila_lite.siblings.shares import Shares
from manila_lite.tests.functional import base, commandline


def register_messaging(conf):
    """oslo.messaging registers these with the configuration of the whole process only; here that is the share service's."""
    conf.register_opts(tracing.oslo_messaging_tracing, group='oslo_messaging_tracing')
    conf.register_opts(metrics.oslo_messaging_metrics, group='oslo_messaging_metrics')


class Told(fixtures.Fixture):
    """A configuration file that tells a sibling where the share service is; ``conf`` is what was read."""

    def __init__(self, **values):
        super().__init__()
        self._values = {'status_code_retry_delay': 0.05, 'connect_retry_delay': 0.05, **values}

    def _setUp(self):
        path = self.useFixture(fixtures.TempDir()).join('sibling.conf')
        with open(path, 'w') as file:
            file.write(f'[{options.GROUP}]\n' + ''.join(f'{name} = {value}\n' for name, value in self._values.items()))
        self.conf = cfg.ConfigOpts()
        options.register_opts(self.conf)
        self.conf([f'--config-file={path}'], project='test')


class WithShares:
    """For a test with ``url``, where the share API is."""

    def told(self, **values):
        """Return what a sibling has of the share service that these values of ``[share_service]`` describe."""
        return Shares(self.useFixture(Told(**values)).conf)

    def service_user(self, **more):
        """Return a sibling's connection as user ``nova`` of project ``service``, with the role ``service``."""
        return self.told(**{'auth_type': 'admin_token', 'endpoint': f'{self.url}/v2', 'token': 'nova:service:service', **more})


class ShareServiceTest(WithShares, commandline.OverHttp, base.ServiceTest):
    """A share service without Keystone, what a sibling has of it, and a user."""

    def setUp(self):
        super().setUp()
        self.shares = self.service_user()
        self.user = self.caller()
        self.who = {'X-Auth-Token': self.user.token}
