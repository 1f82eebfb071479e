# SPDX-License-Identifier: Apache-2.0
"""Attacks on the service, each a small program: what a hostile tenant or a stranger does, and what then must be true."""
