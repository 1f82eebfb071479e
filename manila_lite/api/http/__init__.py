# SPDX-License-Identifier: Apache-2.0
"""The HTTP side of an API: connections, limits, authentication, dispatch and faults. Knows no resource."""
