# SPDX-License-Identifier: Apache-2.0
"""Share servers: network namespaces, addresses, traffic limits."""
