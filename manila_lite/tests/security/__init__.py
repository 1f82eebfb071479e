# SPDX-License-Identifier: Apache-2.0
"""Attacks on the service, each a small program: the acts of a hostile tenant or a stranger, and the required result."""
