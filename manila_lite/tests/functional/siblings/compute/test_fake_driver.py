# SPDX-License-Identifier: Apache-2.0
"""The fake hypervisor driver fulfils the contract of the real ones."""

import testtools

from manila_lite.siblings.compute.drivers.fake import FakeDriver
from manila_lite.tests.functional.siblings.compute import driver_contract


class Fake(driver_contract.Contract, testtools.TestCase):
    DRIVER = FakeDriver
