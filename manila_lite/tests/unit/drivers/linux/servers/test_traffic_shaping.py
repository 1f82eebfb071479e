# SPDX-License-Identifier: Apache-2.0
"""Limits by the specs of a QoS type. That the kernel keeps them is tested in tests/functional/linux/test_servers.py."""

import testscenarios
import testtools

from manila_lite import errors, values
from manila_lite.drivers.linux.servers import traffic_shaping


def share(**qos):
    return values.Share('i', 's', 'p', 10, 'NFS', 'pool', qos=qos)


class Limits(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (str(qos), {'qos': qos, 'limit': limit})
        for qos, limit in (
            ({}, None),
            ({'maxbps': '65536'}, 65536),
            ({'maxbpspergib': '6554'}, 65540),
            ({'maxbps': '100000', 'maxbpspergib': '20000'}, 100000),
            ({'maxbps': '300000', 'maxbpspergib': '20000'}, 200000),
        )
    ]

    def test_the_limit_is_that_of_the_specs(self):
        self.assertEqual(self.limit, traffic_shaping.limit(share(**self.qos)))


class Refusals(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (str(qos), {'qos': qos, 'word': word})
        for qos, word in (
            ({'peak_iops': '1'}, 'peak_iops'),
            ({'maxbps': '65535'}, 'maxbps=65535'),
            ({'maxbps': '1e9'}, 'maxbps=1e9'),
            ({'maxbps': '-70000'}, 'maxbps=-70000'),
            ({'maxbpspergib': ''}, 'maxbpspergib='),
            ({'maxbps': '7_0_0_0_0_0'}, 'maxbps='),
        )
    ]

    def test_unsupported_specs_are_refused_by_name(self):
        self.assertIn(
            self.word, str(self.assertRaises(errors.Final, traffic_shaping.limit, share(**self.qos)))
        )
