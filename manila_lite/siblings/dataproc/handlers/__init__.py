# SPDX-License-Identifier: Apache-2.0
"""How shares are mounted on a node: a handler for each protocol, found by its entry point."""
