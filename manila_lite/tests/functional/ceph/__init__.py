# SPDX-License-Identifier: Apache-2.0
"""The cephfs driver on a real cluster, through the API, with clients that mount shares as tenants do."""
