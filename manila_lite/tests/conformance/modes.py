# SPDX-License-Identifier: Apache-2.0
"""The clouds that the published tests can be run against."""

import functools
from collections.abc import Callable

from manila_lite.tests.conformance import cloud, linux_cloud

MODES: dict[str, Callable[[], cloud.Cloud]] = {
    **{mode: functools.partial(cloud.Cloud, mode) for mode in cloud.MODES},
    'scenario': linux_cloud.LinuxCloud,
    'scenario-dhss': linux_cloud.ServerCloud,
}
