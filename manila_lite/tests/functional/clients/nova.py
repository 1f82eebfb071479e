# SPDX-License-Identifier: Apache-2.0
"""What Nova calls of the service, and which test has it called by Nova's own code."""

#: Call of Nova's share client (its class ``nova.share.manila.API``), what that is for the service, and the test.
CALLS = (
    ('get', 'GET /shares/{share_id}, GET /shares/{share_id}/export_locations', 'functional.test_nova'),
    ('get_access, has_access', 'GET /share-access-rules?share_id=', 'functional.test_nova'),
    ('allow', 'POST /shares/{share_id}/action allow_access, with three locks', 'functional.test_nova'),
    ('deny', 'POST /shares/{share_id}/action deny_access, unrestrict', 'functional.test_nova'),
)
