# SPDX-License-Identifier: Apache-2.0
"""Availability zones."""

from manila_lite.policies.base import READER, rule

INDEX = 'availability_zone:index'

RULES = [rule(INDEX, READER, 'List availability zones.', 'GET /availability-zones')]
