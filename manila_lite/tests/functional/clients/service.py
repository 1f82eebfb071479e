# SPDX-License-Identifier: Apache-2.0
"""Service for tests of clients: it also answers over HTTP, and has networks."""

from manila_lite.tests.factories import networks
from manila_lite.tests.functional import base, commandline


class ClientTest(commandline.OverHttp, base.ServiceTest):
    """One backend without share servers and one with them, and the networks of ``factories/networks.py``."""

    BACKENDS = {'alpha': '', 'beta': 'driver_handles_share_servers = true\n'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(networks.FILE)
