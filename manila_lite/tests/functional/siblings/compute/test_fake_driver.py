# SPDX-License-Identifier: Apache-2.0
"""The fake hypervisor driver fulfils the contract of the real ones."""

import threading
from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

from manila_lite.cmd import setup
from manila_lite.siblings.compute import conf as options
from manila_lite.siblings.compute.drivers.fake import FakeDriver
from manila_lite.tests import waiting
from manila_lite.tests.functional.siblings.compute import driver_contract


class Fake(driver_contract.Contract, testtools.TestCase):
    DRIVER = FakeDriver


class DefaultState(testtools.TestCase):
    """The driver in the default directory, in a process with all services (``mlite-compute``)."""

    def test_calls_do_not_wait_for_the_lock_of_the_process(self):
        state = Path(self.useFixture(fixtures.TempDir()).path)
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[])
        conf.register_opt(cfg.StrOpt('state_path', default=str(state)))
        options.register_opts(conf)
        setup.lock_state_path(state / 'compute')
        driver = FakeDriver(conf)
        call = threading.Thread(target=driver.delete_image, args=('p', 'name'), daemon=True)
        call.start()
        call.join(waiting.LIMIT)
        self.assertFalse(call.is_alive())
