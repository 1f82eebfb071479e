# SPDX-License-Identifier: Apache-2.0
"""Commands of the ``openstack`` client for operations and schedules. They know the service by its API alone."""
