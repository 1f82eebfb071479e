# SPDX-License-Identifier: Apache-2.0
"""The services that the product is made of."""

from manila_lite.policies.base import ADMIN, rule

INDEX = 'service:index'
UPDATE = 'service:update'

RULES = [
    rule(INDEX, ADMIN, 'List services.', 'GET /services'),
    rule(UPDATE, ADMIN, 'Enable or disable a service.', 'PUT /services/enable', 'PUT /services/disable'),
]
