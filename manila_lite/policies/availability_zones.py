# SPDX-License-Identifier: Apache-2.0
"""Availability zones."""

from manila_lite.policies.base import READER, rule

RULES = [rule('availability_zone:index', READER, 'List availability zones.', 'GET /availability-zones')]
