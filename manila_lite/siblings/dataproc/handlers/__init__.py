# SPDX-License-Identifier: Apache-2.0
"""Handlers that mount shares on a node: one for each protocol, found by its entry point."""
