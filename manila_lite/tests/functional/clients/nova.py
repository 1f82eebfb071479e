# SPDX-License-Identifier: Apache-2.0
"""Nova's calls of the service, and the tests that run Nova's own code for them."""

#: Call of Nova's share client (its class ``nova.share.manila.API``), the request to the service, and the test.
CALLS = (
    (
        'get',
        'GET /shares/{share_id}, GET /shares/{share_id}/export_locations',
        'functional.clients.test_nova',
    ),
    ('get_access, has_access', 'GET /share-access-rules?share_id=', 'functional.clients.test_nova'),
    (
        'allow',
        'POST /shares/{share_id}/action allow_access, with three locks',
        'functional.clients.test_nova',
    ),
    ('deny', 'POST /shares/{share_id}/action deny_access, unrestrict', 'functional.clients.test_nova'),
)
