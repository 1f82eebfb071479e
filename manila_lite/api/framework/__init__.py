# SPDX-License-Identifier: Apache-2.0
"""What rows of an API are made of: calls, fields, bodies, views, and handlers that many resources share. Knows no resource."""
